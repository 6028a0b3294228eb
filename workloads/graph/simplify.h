// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/graph/graph.h"

namespace steppe::graph {

/// Folds factors and sums for each channel into the product in front (a normalisation becomes part
/// of its convolution), pads of zeros into the convolution behind, and the written-out layer
/// normalisation into one node; then drops all nodes and values that no output needs.
void simplify(Graph& graph);

/// Drops the nodes and values that no output and no state needs; the others keep their order,
/// values get new numbers.
void drop_unused(Graph& graph);

}  // namespace steppe::graph
