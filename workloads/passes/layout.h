// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/passes/arrange.h"
#include "workloads/passes/fuse.h"

namespace steppe::passes {

/// Lays the steps out as layers on NHWC tensors, with as few copies as the operators allow; inputs
/// and states are of `type` (states bf16 instead of fp32, which the engines do not read). Constants
/// of the graph have their sizes only; quantisations are left at 1. Throws ModelError naming the
/// node where an operator or a shape has no layer.
Layout lay_out(const graph::Graph& graph, const std::vector<Step>& steps,
               net::Type type = net::Type::int8);

}  // namespace steppe::passes
