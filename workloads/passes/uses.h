// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "workloads/graph/graph.h"
#include "workloads/graph/shape.h"

namespace steppe::passes {

inline constexpr std::size_t no_node = ~std::size_t{0};

/// Who makes and who reads each value of a graph.
struct Uses {
  std::vector<std::size_t> producer;                ///< by value; no_node where none
  std::vector<std::vector<std::size_t>> consumers;  ///< by value; rising, each node once
  std::vector<bool> output;                         ///< by value: an output of the graph

  explicit Uses(const graph::Graph& graph);
  /// The one node that reads the value; no_node where there are others, or the user does.
  [[nodiscard]] std::size_t sole_consumer(graph::ValueId value) const;
};

/// Whether the node's operand is a constant of one element.
bool is_scalar_constant(const graph::Graph& graph, graph::ValueId value);

}  // namespace steppe::passes
