// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/graph/graph.h"

namespace steppe::graph {

/// What a node asks of any machine, from its shapes alone.
struct Cost {
  double operations = 0;  ///< a multiply-accumulate is two
  double bytes = 0;       ///< operands and results, each once
};

/// Of canonical and of host operators. What is no product counts one operation for each element of
/// its largest array.
Cost cost_of(const Graph& graph, const Node& node);

}  // namespace steppe::graph
