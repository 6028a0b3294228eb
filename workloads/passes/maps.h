// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/passes/arrange.h"
#include "workloads/passes/fuse.h"

namespace steppe::passes {

/// Adds the Map layers of an operator that computes each element of its result from one element of
/// each operand, with ONNX's broadcasting, and binds its output. False where it is none.
bool lay_out_map(const graph::Graph& graph, const Step& step, std::size_t index,
                 Arranger& arranger);

}  // namespace steppe::passes
