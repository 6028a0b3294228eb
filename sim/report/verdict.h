// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "workloads/npy/npy.h"

namespace steppe::sim {

/// What a comparison came to.
struct Verdict {
  std::string name;
  bool pass = false;
  std::string detail;  ///< "3600 elements equal", or the first that is not
};

/// Equal bit for bit and in shape; the detail names the first element that differs.
Verdict compare(const std::string& name, const npy::Array& expected, const npy::Array& got);

/// Where the largest element of each sample is, of outputs [samples, …].
npy::Array top1(const npy::Array& outputs);

/// Share of the samples whose largest output is at their label. `outputs` is [samples, …]; throws
/// ConfigError where the labels are not one number for each sample.
double top1_accuracy(const npy::Array& outputs, const npy::Array& labels,
                     const std::string& labels_file);

}  // namespace steppe::sim
