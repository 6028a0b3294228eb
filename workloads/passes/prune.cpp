// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/prune.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "workloads/passes/gather.h"

namespace steppe::passes {
namespace {

constexpr std::size_t block = 32;

/// Zeroes all but the `kept` largest magnitudes; of equal ones the first stays.
void keep_largest(std::span<float> weights, std::size_t kept) {
  if (weights.size() <= kept) return;
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(weights[a]) > std::abs(weights[b]);
  });
  for (std::size_t i = kept; i < order.size(); ++i) weights[order[i]] = 0.0F;
}

void prune_constant(graph::Value& value, const Axis& order, const net::Sparsity& sparsity) {
  std::vector<float> weights = gathered(*value.fp32, order);
  if (sparsity.encoding == numerics::Encoding::bitmap) {
    const double kept = sparsity.density * static_cast<double>(weights.size());
    keep_largest(weights, static_cast<std::size_t>(std::ceil(kept)));
  } else {
    const std::size_t k = weights.size() / order.front().size;
    for (std::size_t start = 0; start < weights.size(); start += k) {
      prune_row(std::span(weights).subspan(start, k), sparsity.kept);
    }
  }
  std::vector<float> result(value.fp32->size());
  for_each_step(order, [&](std::uint64_t i, std::size_t offset) { result[offset] = weights[i]; });
  value.fp32 = std::make_shared<const std::vector<float>>(std::move(result));
}

}  // namespace

void prune_row(std::span<float> row, std::size_t kept) {
  for (std::size_t start = 0; start < row.size(); start += block) {
    keep_largest(row.subspan(start, std::min(block, row.size() - start)), kept);
  }
}

void prune(graph::Graph& graph, const std::vector<Step>& steps, Layout& layout,
           const net::Sparsity& sparsity) {
  for (std::size_t i = 0; i < layout.net.layers.size(); ++i) {
    auto* conv = std::get_if<net::Conv>(&layout.net.layers[i].op);
    if (conv == nullptr) continue;
    const std::uint64_t k = conv->weights.size / conv->multiplier.size;
    if (k < smallest_pruned_k || sparsity.encoding == numerics::Encoding::dense) continue;
    conv->sparsity = sparsity;
    const graph::ValueId weights = graph.nodes[steps[layout.sources[i].step].node].inputs[1];
    graph::Value& value = graph.values[weights];
    if (value.fp32) prune_constant(value, layout.sources[i].weights, sparsity);
  }
}

}  // namespace steppe::passes
