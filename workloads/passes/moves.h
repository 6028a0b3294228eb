// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/passes/arrange.h"

namespace steppe::passes {

/// Transposes, reshapes, slices, concatenations and repeats: binds the node's outputs to views of
/// its input and moves nothing. False where the node is none of these.
bool move_views(const graph::Graph& graph, const graph::Node& node, Arranger& arranger);

}  // namespace steppe::passes
