// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "workloads/passes/lower.h"

namespace steppe::sim {

/// Squares of what was wanted and of how far what came is from it, summed.
struct Power {
  double signal = 0;
  double noise = 0;
  void add(float wanted, float got);
  [[nodiscard]] double decibels() const;  ///< signal over noise; infinite without noise
};

/// How far a layer's result is from the float model's.
struct LayerError {
  std::string name;
  std::string kind;
  std::vector<std::string> nodes;
  std::string type;     ///< of the result
  double decibels = 0;  ///< signal over noise, all samples together; infinite without noise
  bool output = false;  ///< of the network
};

/// Runs float model and network on the samples. Layers whose result has no counterpart in the float
/// graph (copies, conversions) are left out.
std::vector<LayerError> layer_errors(const graph::Graph& graph, const net::Net& network,
                                     const passes::LowerReport& lowered,
                                     const std::vector<passes::Sample>& samples);

std::string format_table(const std::vector<LayerError>& errors);

}  // namespace steppe::sim
