// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/uses.h"

#include <fmt/format.h>

namespace steppe::passes {

Uses::Uses(const graph::Graph& graph)
    : producer(graph.values.size(), no_node),
      consumers(graph.values.size()),
      output(graph.values.size(), false) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const graph::ValueId value : graph.nodes[i].outputs) {
      if (value != graph::no_value) producer[value] = i;
    }
    for (const graph::ValueId value : graph.nodes[i].inputs) {
      if (value == graph::no_value) continue;
      std::vector<std::size_t>& list = consumers[value];
      if (list.empty() || list.back() != i) list.push_back(i);
    }
  }
  for (const graph::ValueId value : graph.outputs) output[value] = true;
}

std::size_t Uses::sole_consumer(graph::ValueId value) const {
  return consumers[value].size() == 1 && !output[value] ? consumers[value].front() : no_node;
}

bool is_scalar_constant(const graph::Graph& graph, graph::ValueId value) {
  const graph::Value& v = graph.value(value);
  return v.constant && v.elements() == 1;
}

}  // namespace steppe::passes
