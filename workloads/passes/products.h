// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/passes/arrange.h"
#include "workloads/passes/fuse.h"

namespace steppe::passes {

/// Convolutions and products of matrices, with constant weights or of two activations.
void lay_out_product(const graph::Graph& graph, const Step& step, std::size_t index,
                     Arranger& arranger);

}  // namespace steppe::passes
