// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/passes/arrange.h"
#include "workloads/passes/fuse.h"

namespace steppe::passes {

/// Lays the steps out as layers on NHWC tensors, with as few copies as the operators allow.
/// Constants have their sizes only; quantisations are left at 1. Throws ModelError naming the node
/// where an operator or a shape has no layer.
Layout lay_out(const graph::Graph& graph, const std::vector<Step>& steps);

}  // namespace steppe::passes
