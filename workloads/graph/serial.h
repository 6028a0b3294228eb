// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/graph/graph.h"

namespace steppe::graph {

/// A graph without states as the bytes of a FlatBuffer by graph.fbs.
std::vector<std::uint8_t> serialise(const Graph& graph);

/// The graph of such bytes, which need not come from `serialise`: it has passed `check`. Throws
/// ModelError saying what is wrong with them.
Graph deserialise(std::span<const std::uint8_t> bytes);

}  // namespace steppe::graph
