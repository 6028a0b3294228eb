// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/prune.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "models/base/error.h"
#include "models/base/param.h"
#include "workloads/passes/compensate.h"
#include "workloads/passes/gather.h"
#include "workloads/passes/uses.h"

namespace steppe::passes {
namespace {

constexpr std::size_t block = numerics::block;

/// Zeroes all but the `kept` largest magnitudes; of equal ones the first stays. `order` is room for
/// as many numbers as there are weights.
void keep_largest(std::span<float> weights, std::size_t kept, std::span<std::size_t> order) {
  if (weights.size() <= kept) return;
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto before = [&](std::size_t a, std::size_t b) {
    const float x = std::abs(weights[a]), y = std::abs(weights[b]);
    return x != y ? x > y : a < b;
  };
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                   before);
  for (std::size_t i = kept; i < order.size(); ++i) weights[order[i]] = 0.0F;
}

std::uint64_t not_zero(std::span<const float> weights) {
  return weights.size() - static_cast<std::uint64_t>(std::ranges::count(weights, 0.0F));
}

/// The most weights that are not zero in a block of a row of K.
std::uint32_t fullest_block(std::span<const float> weights, std::size_t k) {
  std::uint64_t most = 0;
  for (std::size_t row = 0; row < weights.size(); row += k) {
    for (std::size_t start = 0; start < k; start += block) {
      most = std::max(most, not_zero(weights.subspan(row + start, std::min(block, k - start))));
    }
  }
  return static_cast<std::uint32_t>(most);
}

bool is_as_sparse_as(const net::Sparsity& encoding, const net::Sparsity& wanted) {
  return encoding.encoding != numerics::Encoding::dense && encoding.stored() <= wanted.stored();
}

/// One layer's weights on their way: taken from the graph in the engine's order, put back pruned.
struct Work {
  std::size_t layer = 0;
  Ratio ratio;
  graph::ValueId value = graph::no_value;
};

class Pruner {
 public:
  Pruner(graph::Graph& graph, const std::vector<Step>& steps, Layout& layout,
         const std::vector<Sample>& samples)
      : graph_(graph), uses_(graph), steps_(steps), layout_(layout), samples_(samples) {}

  void run(const Pruning& pruning) {
    std::vector<Work> by_moments;
    for (const std::size_t layer : prunable_layers(layout_)) {
      const auto given = pruning.layers.find(layout_.net.layers[layer].name);
      Work work{.layer = layer,
                .ratio = given != pruning.layers.end() ? given->second : pruning.ratio,
                .value = graph_.nodes[step(layer).node].inputs[1]};
      if (!keep_as_it_is(work)) {
        // What one layer makes up for would break the pattern of another with the same weights.
        if (pruning.method == PruneMethod::obs && uses_.sole_consumer(work.value) != no_node) {
          by_moments.push_back(work);
        } else {
          prune_by_magnitude_in(work);
        }
      }
    }
    std::vector<std::size_t> layers;
    layers.reserve(by_moments.size());
    for (const Work& work : by_moments) layers.push_back(work.layer);
    std::size_t next = 0;
    with_moments(graph_, steps_, layout_, layers, samples_,
                 [&](std::size_t /*layer*/, const Moments& moments) {
                   const Work& work = by_moments[next++];
                   std::vector<float> pruned = weights(work);
                   prune_compensated(pruned, moments, *work.ratio);
                   replace(work, pruned);
                 });
  }

 private:
  [[nodiscard]] const Step& step(std::size_t layer) const {
    return steps_[layout_.sources[layer].step];
  }
  [[nodiscard]] net::Conv& conv(const Work& work) {
    return std::get<net::Conv>(layout_.net.layers[work.layer].op);
  }
  [[nodiscard]] std::size_t k(const Work& work) {
    return conv(work).weights.size / conv(work).multiplier.size;
  }
  [[nodiscard]] const Axis& order(const Work& work) const {
    return layout_.sources[work.layer].weights;
  }
  [[nodiscard]] std::vector<float> weights(const Work& work) const {
    return gathered(*graph_.value(work.value).fp32, order(work));
  }
  void replace(const Work& work, const std::vector<float>& weights) {
    graph::Value& value = graph_.values[work.value];
    std::vector<float> result(value.fp32->size());
    for_each_step(order(work), [&](std::uint64_t i, std::size_t at) { result[at] = weights[i]; });
    value.fp32 = std::make_shared<const std::vector<float>>(std::move(result));
  }

  /// Sets the layer's sparsity; whether its weights are as sparse as that already.
  bool keep_as_it_is(const Work& work) {
    net::Sparsity& sparsity = conv(work).sparsity;
    if (work.ratio) sparsity = *work.ratio;
    if (work.ratio && work.ratio->encoding == numerics::Encoding::dense) return true;
    if (!graph_.value(work.value).fp32) return true;
    const Bytes item = layout_.net.tensor(conv(work).in).item_bytes();
    const net::Sparsity cheapest = cheapest_encoding(weights(work), k(work), item);
    if (work.ratio && !is_as_sparse_as(cheapest, *work.ratio)) return false;
    sparsity = cheapest;
    return true;
  }

  void prune_by_magnitude_in(const Work& work) {
    std::vector<float> pruned = weights(work);
    prune_by_magnitude(pruned, k(work), *work.ratio);
    replace(work, pruned);
  }

  graph::Graph& graph_;
  const Uses uses_;
  const std::vector<Step>& steps_;
  Layout& layout_;
  const std::vector<Sample>& samples_;
};

void check_names(const Layout& layout, const Pruning& pruning) {
  std::set<std::string> names;
  for (const std::size_t layer : prunable_layers(layout)) {
    names.insert(layout.net.layers[layer].name);
  }
  for (const auto& entry : pruning.layers) {
    if (names.contains(entry.first)) continue;
    throw ModelError(
        "there is no layer '{}' to prune; layers with constant weights, {} or more for an output "
        "channel, can be pruned",
        entry.first, smallest_pruned_k);
  }
}

}  // namespace

Ratio parse_ratio(const std::string& where, const std::string& text) {
  for (const std::uint32_t ratio : {1U, 2U, 4U, 8U, 16U, 32U}) {
    if (text == std::to_string(ratio)) return net::balanced(ratio);
  }
  if (text == "keep") return {};
  const std::string unstructured = "unstructured:";
  if (text.starts_with(unstructured)) {
    const double share =
        detail::parse_number(text.substr(unstructured.size()), "", where + " " + text);
    if (share > 0 && share < 1) {
      return net::Sparsity{.encoding = numerics::Encoding::bitmap, .density = share};
    }
  }
  for (std::uint32_t kept = 1; kept < numerics::block; ++kept) {
    if (text == fmt::format("{}:32", kept)) {
      return net::Sparsity{.encoding = numerics::Encoding::indexed, .kept = kept};
    }
  }
  throw ConfigError(
      "{} {}: 1, 2, 4, 8, 16, 32, N:32 with N from 1 to 31, unstructured:SHARE with a share "
      "between 0 and 1, or keep are right",
      where, text);
}

std::string format_ratio(const Ratio& ratio) {
  if (!ratio) return "keep";
  if (ratio->encoding == numerics::Encoding::dense) return "1";
  if (ratio->encoding == numerics::Encoding::bitmap) {
    return fmt::format("unstructured:{}", ratio->density);
  }
  if (numerics::block % ratio->kept == 0 &&
      *ratio == net::balanced(numerics::block / ratio->kept)) {
    return std::to_string(numerics::block / ratio->kept);
  }
  return fmt::format("{}:32", ratio->kept);
}

PruneMethod parse_prune_method(const std::string& text) {
  if (text == "magnitude") return PruneMethod::magnitude;
  if (text == "obs") return PruneMethod::obs;
  throw ConfigError("--pruning {}: magnitude or obs are right", text);
}

void prune_row(std::span<float> row, std::size_t kept) {
  std::array<std::size_t, block> order;
  for (std::size_t start = 0; start < row.size(); start += block) {
    const std::size_t size = std::min(block, row.size() - start);
    keep_largest(row.subspan(start, size), kept, std::span(order).first(size));
  }
}

void prune_by_magnitude(std::span<float> weights, std::size_t k, const net::Sparsity& sparsity) {
  if (sparsity.encoding == numerics::Encoding::bitmap) {
    const double kept = sparsity.density * static_cast<double>(weights.size());
    std::vector<std::size_t> order(weights.size());
    keep_largest(weights, static_cast<std::size_t>(std::ceil(kept)), order);
  } else if (sparsity.encoding == numerics::Encoding::indexed) {
    for (std::size_t start = 0; start < weights.size(); start += k) {
      prune_row(weights.subspan(start, k), sparsity.kept);
    }
  }
}

net::Sparsity cheapest_encoding(std::span<const float> weights, std::size_t k, Bytes item_bytes) {
  const std::uint32_t fullest = std::max(fullest_block(weights, k), 1U);
  const double density =
      std::max(static_cast<double>(not_zero(weights)), 1.0) / static_cast<double>(weights.size());
  const numerics::RecordShape dense{.k = static_cast<std::uint32_t>(k),
                                    .item_bytes = static_cast<std::uint32_t>(item_bytes)};
  numerics::RecordShape indexed = dense, bitmap = dense;
  indexed.encoding = numerics::Encoding::indexed;
  indexed.kept = fullest;
  bitmap.encoding = numerics::Encoding::bitmap;
  const auto values = static_cast<std::uint64_t>(std::ceil(density * static_cast<double>(k)));
  net::Sparsity best;
  Bytes least = dense.bytes();
  if (fullest < block && indexed.bytes() < least) {
    least = indexed.bytes();
    best = {.encoding = numerics::Encoding::indexed, .kept = fullest};
  }
  if (bitmap.bytes(values) < least) {
    best = {.encoding = numerics::Encoding::bitmap, .density = density};
  }
  return best;
}

std::vector<std::size_t> prunable_layers(const Layout& layout) {
  std::vector<std::size_t> layers;
  for (std::size_t i = 0; i < layout.net.layers.size(); ++i) {
    const auto* conv = std::get_if<net::Conv>(&layout.net.layers[i].op);
    if (conv == nullptr) continue;
    if (conv->weights.size / conv->multiplier.size >= smallest_pruned_k) layers.push_back(i);
  }
  return layers;
}

void prune(graph::Graph& graph, const std::vector<Step>& steps, Layout& layout,
           const Pruning& pruning, const std::vector<Sample>& samples) {
  check_names(layout, pruning);
  Pruner(graph, steps, layout, samples).run(pruning);
}

}  // namespace steppe::passes
