// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "workloads/graph/graph.h"
#include "workloads/passes/lower.h"

/// How much a layer's results suffer from pruning, and ratios that follow from it.
namespace steppe::passes {

inline constexpr std::array<std::uint32_t, 5> scanned_ratios{2, 4, 8, 16, 32};

struct Sensitivity {
  std::string layer;
  double share = 0;  ///< of the multiply-accumulates of all layers that can be pruned
  /// For each of `scanned_ratios`, the layer pruned by the method asked for: the squared change of
  /// its results over the squared results, over all samples.
  std::array<double, scanned_ratios.size()> noise{};
};

/// Of each layer that can be pruned, from the moments of its inputs in the unpruned float model.
/// Uses precision, pruning method and samples of the options; a model without samples gets drawn
/// ones. Throws ModelError where the weights have no data.
std::vector<Sensitivity> scan(const graph::Graph& graph, const LowerOptions& options);

/// For each layer the ratio that makes (share / ratio + price * noise) least: the higher the price,
/// the less is pruned. Layers lose nothing at a ratio that they have already.
std::map<std::string, Ratio> choose_ratios(const std::vector<Sensitivity>& layers, double price);

}  // namespace steppe::passes
