// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/prune.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "workloads/passes/gather.h"

namespace steppe::passes {
namespace {

constexpr std::size_t block = 32;

void prune_constant(graph::Value& value, const Axis& order, std::uint32_t sparsity) {
  std::vector<float> weights = gathered(*value.fp32, order);
  const std::size_t k = weights.size() / order.front().size;
  for (std::size_t start = 0; start < weights.size(); start += k) {
    prune_row(std::span(weights).subspan(start, k), sparsity);
  }
  std::vector<float> result(value.fp32->size());
  for_each_step(order, [&](std::uint64_t i, std::size_t offset) { result[offset] = weights[i]; });
  value.fp32 = std::make_shared<const std::vector<float>>(std::move(result));
}

}  // namespace

void prune_row(std::span<float> row, std::uint32_t sparsity) {
  const std::size_t keep = block / sparsity;
  std::vector<std::size_t> order;
  for (std::size_t start = 0; start < row.size(); start += block) {
    const std::span<float> weights = row.subspan(start, std::min(block, row.size() - start));
    if (weights.size() <= keep) continue;
    order.resize(weights.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::abs(weights[a]) > std::abs(weights[b]);
    });
    for (std::size_t i = keep; i < order.size(); ++i) weights[order[i]] = 0.0F;
  }
}

void prune(graph::Graph& graph, const std::vector<Step>& steps, Layout& layout,
           std::uint32_t sparsity) {
  for (std::size_t i = 0; i < layout.net.layers.size(); ++i) {
    auto* conv = std::get_if<net::Conv>(&layout.net.layers[i].op);
    if (conv == nullptr) continue;
    const std::uint64_t k = conv->weights.size / conv->bias.size;
    if (k < smallest_pruned_k || sparsity == 1) continue;
    conv->ratio_log2 = static_cast<std::uint32_t>(std::countr_zero(sparsity));
    const graph::ValueId weights = graph.nodes[steps[layout.sources[i].step].node].inputs[1];
    graph::Value& value = graph.values[weights];
    if (value.fp32) prune_constant(value, layout.sources[i].weights, sparsity);
  }
}

}  // namespace steppe::passes
