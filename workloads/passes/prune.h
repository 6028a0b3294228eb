// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "workloads/graph/graph.h"
#include "workloads/passes/arrange.h"
#include "workloads/passes/fuse.h"

namespace steppe::passes {

/// Layers with fewer weights an output channel stay dense: a part of one block gains nothing.
inline constexpr std::uint64_t smallest_pruned_k = 32;

/// Zeroes all but the `kept` largest magnitudes of each block of 32 in a row of K weights (the last
/// block may be shorter). Of equal ones the first stays.
void prune_row(std::span<float> row, std::size_t kept);

/// Sets the sparsity of every convolution of the layout, and prunes those with at least
/// `smallest_pruned_k` weights an output channel in the engine's order of K: an indexed one block
/// by block, a bitmap one to its largest magnitudes wherever they are. The graph's constants are
/// replaced by pruned ones, where they have data.
void prune(graph::Graph& graph, const std::vector<Step>& steps, Layout& layout,
           const net::Sparsity& sparsity);

}  // namespace steppe::passes
