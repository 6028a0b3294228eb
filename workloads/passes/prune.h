// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workloads/graph/graph.h"
#include "workloads/passes/arrange.h"
#include "workloads/passes/calibrate.h"
#include "workloads/passes/fuse.h"

namespace steppe::passes {

/// Layers with fewer weights an output channel stay dense: a part of one block gains nothing.
inline constexpr std::uint64_t smallest_pruned_k = 32;

/// How many weights of a layer stay, and stored how. Empty: all that are not zero, in the encoding
/// that takes the fewest bytes.
using Ratio = std::optional<net::Sparsity>;

/// "1", "2", "4", "8", "16", "32": one weight in so many; "N:32": N in each block of 32;
/// "unstructured:SHARE"; "keep". Throws ConfigError, which begins with `where`, for anything else.
Ratio parse_ratio(const std::string& where, const std::string& text);
/// The text that `parse_ratio` reads as this ratio.
std::string format_ratio(const Ratio& ratio);

/// Which weights stay, and whether the others make up for those that go.
enum class PruneMethod : std::uint8_t {
  magnitude,  ///< the largest
  obs,        ///< those that matter most to the layer's results; see compensate.h
};
/// "magnitude" or "obs"; throws ConfigError for anything else.
PruneMethod parse_prune_method(const std::string& text);

struct Pruning {
  Ratio ratio = net::balanced(16);
  std::map<std::string, Ratio> layers;  ///< by name, in place of `ratio`
  PruneMethod method = PruneMethod::magnitude;
};

/// Zeroes all but the `kept` largest magnitudes of each block of 32 in a row of K weights (the last
/// block may be shorter). Of equal ones the first stays.
void prune_row(std::span<float> row, std::size_t kept);
/// Zeroes weights [channels][k] by magnitude: block by block where indexed, of all together where
/// bitmap, none where dense.
void prune_by_magnitude(std::span<float> weights, std::size_t k, const net::Sparsity& sparsity);

/// The encoding of weights [channels][k] of `item_bytes` each that holds all that are not zero in
/// the fewest bytes.
net::Sparsity cheapest_encoding(std::span<const float> weights, std::size_t k, Bytes item_bytes);

/// The numbers of the layers whose weights can be pruned: convolutions with at least
/// `smallest_pruned_k` weights an output channel.
std::vector<std::size_t> prunable_layers(const Layout& layout);

/// Sets the sparsity of the layers that can be pruned, and replaces the graph's constants by pruned
/// ones, where they have data. Weights that are as sparse already are left as they are, in their
/// cheapest encoding. `samples` are for `obs` alone. Throws ModelError for a layer that
/// `pruning` names and that is not there or cannot be pruned.
void prune(graph::Graph& graph, const std::vector<Step>& steps, Layout& layout,
           const Pruning& pruning, const std::vector<Sample>& samples);

}  // namespace steppe::passes
