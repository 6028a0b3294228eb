// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/net/net.h"

namespace steppe::reference {

/// Executes a quantised network on the host, in Eigen, by the letter of models/numerics/README.md.
/// It shares no arithmetic with the hardware models: it is what their results are compared with.
class Executor {
 public:
  /// Keeps a reference to the network, whose constants must have data (ModelError otherwise).
  explicit Executor(const net::Net& network);

  /// One run on int8 inputs in the order of the card, one for each port; returns the outputs' int8
  /// elements likewise.
  std::vector<std::vector<std::int8_t>> run_int8(
      const std::vector<std::vector<std::int8_t>>& inputs);

  /// One run on fp32 arrays in the user's axis order; returns the outputs likewise, dequantised.
  std::vector<std::vector<float>> run(const std::vector<std::vector<float>>& inputs);

  /// The elements of a tensor after the last run.
  [[nodiscard]] const std::vector<std::int8_t>& tensor(net::TensorId id) const;

 private:
  const net::Net& network_;
  std::vector<std::vector<std::int8_t>> tensors_;  ///< DRAM-resident ones live on between runs
};

}  // namespace steppe::reference
