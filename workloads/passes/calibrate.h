// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "workloads/graph/graph.h"
#include "workloads/passes/uses.h"

namespace steppe::passes {

/// One set of inputs, by name.
using Sample = std::map<std::string, std::vector<float>>;

/// The values a tensor takes.
struct Range {
  float low = 0.0F;
  float high = 0.0F;

  /// The largest magnitude; 0 where nothing was seen.
  [[nodiscard]] float magnitude() const;
  void include(const Range& other);
};

/// Bounds of the elements. Where `masked` (scores plus a constant mask, read by Softmax alone),
/// elements of -1e4 and below stand for "not this one": they count as 16 below the largest element,
/// where the exponential is 1e-7 of the largest, so that they do not coarsen all others.
Range range_of(std::span<const float> values, bool masked);

/// Normally distributed inputs for every input of the graph; the same for the same seed everywhere.
Sample random_sample(const graph::Graph& graph, std::uint64_t seed);

/// The range of every value of the graph over the samples, by running it in fp32.
/// Throws ModelError for samples that do not fit the inputs.
std::vector<Range> calibrate(const graph::Graph& graph, const std::vector<Sample>& samples);

}  // namespace steppe::passes
