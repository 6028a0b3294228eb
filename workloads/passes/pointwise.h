// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "workloads/graph/graph.h"
#include "workloads/passes/uses.h"

/// Subgraphs that compute each element of their result from the same element of one value, such as
/// x * Clip(x + 3, 0, 6) / 6. On the card they become bounds, a factor or a table of 256 bytes.
namespace steppe::passes {

struct Function {
  std::vector<std::size_t> nodes;  ///< rising
  graph::ValueId in = graph::no_value;
  graph::ValueId out = graph::no_value;
};

/// min(max(x * scale, low), high)
struct ScaleClamp {
  float scale = 1.0F;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

/// The largest functions of a graph, no two sharing a node. Nodes marked in `taken` are left out;
/// those of the functions found are marked.
std::vector<Function> find_functions(const graph::Graph& graph, const Uses& uses,
                                     std::vector<bool>& taken);

/// f(x), computed in binary64. Throws ModelError where a constant of the function has no data.
double evaluate(const graph::Graph& graph, const Function& function, double x);

/// The function as a factor and bounds; empty where it is not of that form.
std::optional<ScaleClamp> as_scale_clamp(const graph::Graph& graph, const Function& function);

}  // namespace steppe::passes
