// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/quantise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "models/base/error.h"
#include "models/numerics/numerics.h"
#include "workloads/passes/gather.h"

namespace steppe::passes {
namespace {

using graph::Graph;
using graph::Node;
using net::TensorId;

/// Disjoint sets of tensors.
class Groups {
 public:
  explicit Groups(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), TensorId{0});
  }
  TensorId root(TensorId id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }
  void join(TensorId a, TensorId b) { parent_[root(a)] = root(b); }

 private:
  std::vector<TensorId> parent_;
};

bool keeps_quantisation(const net::Layer& layer) {
  if (const auto* pool = std::get_if<net::Pool>(&layer.op)) return !pool->average;
  return std::holds_alternative<net::Permute>(layer.op) ||
         std::holds_alternative<net::Resize>(layer.op) ||
         std::holds_alternative<net::CacheStore>(layer.op);
}

template <typename T>
void set(net::Constant<T>& constant, std::vector<T> data) {
  STEPPE_CHECK(data.size() == constant.size);
  constant.data = std::make_shared<const std::vector<T>>(std::move(data));
}

const std::vector<float>& data_of(const Graph& graph, const Node& node, graph::ValueId id) {
  const graph::Value& value = graph.value(id);
  if (value.fp32) return *value.fp32;
  throw ModelError("{}: constant '{}' has no data; without data a model can only be timed",
                   described(node), value.name);
}

/// A constant of real numbers or of booleans.
std::vector<float> numbers_of(const Graph& graph, const Node& node, graph::ValueId id) {
  const graph::Value& value = graph.value(id);
  if (value.int64) return {value.int64->begin(), value.int64->end()};
  return data_of(graph, node, id);
}

std::int32_t bounded(float value, const net::Quant& quant) {
  const float q = std::nearbyint(value / quant.scale) + static_cast<float>(quant.zero);
  return static_cast<std::int32_t>(std::clamp(q, -128.0F, 127.0F));
}

net::Clamp clamp_of(const std::optional<ScaleClamp>& function, const net::Quant& quant) {
  if (!function) return {};
  return {bounded(function->low, quant), bounded(function->high, quant)};
}

std::int32_t rounded_bias(double value) {
  constexpr double limit = 2147483647.0;
  return static_cast<std::int32_t>(std::clamp(std::nearbyint(value), -limit, limit));
}

/// One tensor's numbers after another; holds what they are made from.
class Quantiser {
 public:
  Quantiser(const Graph& graph, const std::vector<Step>& steps, const std::vector<Range>& values,
            Layout& layout, bool symmetric)
      : graph_(graph), steps_(steps), values_(values), layout_(layout), symmetric_(symmetric) {}

  void run() {
    for (std::size_t i = 0; i < layout_.net.layers.size(); ++i) {
      source_ = &layout_.sources[i];
      if (source_->step == no_step) continue;
      step_ = &steps_[source_->step];
      node_ = &graph_.nodes[step_->node];
      std::visit([this](auto& op) { fill(op); }, layout_.net.layers[i].op);
    }
  }

 private:
  [[nodiscard]] float scale(TensorId id) const { return layout_.net.tensor(id).quant.scale; }

  /// What the table stores for each value of its operand.
  [[nodiscard]] std::vector<std::int8_t> table(const net::Quant& in, const net::Quant& out) const {
    std::vector<std::int8_t> result(256);
    const float inverse = 1.0F / out.scale;
    for (std::int32_t q = -128; q < 128; ++q) {
      const float x = static_cast<float>(q - in.zero) * in.scale;
      const auto y = static_cast<float>(evaluate(graph_, *step_->function, double{x}));
      result[static_cast<std::uint8_t>(q + 128)] =
          numerics::store(y * inverse, {out.zero, -128, 127});
    }
    return result;
  }

  /// The sum of all that is added to each channel.
  [[nodiscard]] std::vector<double> bias_of(std::size_t channels) const {
    std::vector<double> sums(channels, 0.0);
    for (const graph::ValueId id : step_->biases) {
      const std::vector<float>& bias = data_of(graph_, *node_, id);
      for (std::size_t c = 0; c < channels; ++c) sums[c] += double{bias[bias.size() == 1 ? 0 : c]};
    }
    return sums;
  }

  void fill_bf16(net::Conv& op) {
    const double factor = step_->scale_clamp ? double{step_->scale_clamp->scale} : 1.0;
    std::vector<float> weights =
        gathered(data_of(graph_, *node_, node_->inputs[1]), source_->weights);
    for (float& weight : weights) weight = numerics::to_float(numerics::to_bf16(weight));
    const std::size_t channels = op.multiplier.size;
    const std::vector<double> sums = bias_of(channels);
    op.weights.bf16 = std::make_shared<const std::vector<float>>(std::move(weights));
    set(op.bias_fp32, std::vector<float>(sums.begin(), sums.end()));
    set(op.multiplier, std::vector<float>(channels, static_cast<float>(factor)));
    bound(op.clamp);
    if (op.residual != net::no_tensor) op.residual_scale = 1.0F;
  }

  /// The bounds of what is fused behind a product, where it is not int8.
  void bound(net::Clamp& clamp) const {
    if (!step_->scale_clamp) return;
    clamp.lowest = step_->scale_clamp->low;
    clamp.highest = step_->scale_clamp->high;
  }

  void fill(net::Conv& op) {
    if (layout_.net.tensor(op.in).type == net::Type::bf16) return fill_bf16(op);
    const bool tabled = op.lut.size != 0;
    const net::Quant in = layout_.net.tensor(op.in).quant;
    const net::Quant out = layout_.net.tensor(op.out).quant;
    // In front of a table the sum has a quantisation of its own.
    const net::Quant sum = tabled ? quant_of(values_[step_->sum], symmetric_) : out;
    const double factor = step_->scale_clamp ? double{step_->scale_clamp->scale} : 1.0;
    const std::vector<float> weights =
        gathered(data_of(graph_, *node_, node_->inputs[1]), source_->weights);
    const std::size_t channels = op.bias.size;
    const std::size_t k = weights.size() / channels;
    const std::vector<double> sums = bias_of(channels);
    std::vector<std::int8_t> q(weights.size());
    std::vector<std::int32_t> bias(channels);
    std::vector<float> multiplier(channels);
    for (std::size_t oc = 0; oc < channels; ++oc) {
      const std::span<const float> row(weights.data() + oc * k, k);
      const float sw = weight_scale(row, sums[oc], in.scale);
      std::int64_t total = 0;
      for (std::size_t i = 0; i < k; ++i) {
        q[oc * k + i] = numerics::store(row[i] / sw, {0, -127, 127});
        total += q[oc * k + i];
      }
      bias[oc] = rounded_bias(sums[oc] / (double{in.scale} * double{sw}) -
                              static_cast<double>(in.zero * total));
      multiplier[oc] =
          static_cast<float>(double{in.scale} * double{sw} * factor / double{sum.scale});
    }
    op.weights.int8 = std::make_shared<const std::vector<std::int8_t>>(std::move(q));
    set(op.bias, std::move(bias));
    set(op.multiplier, std::move(multiplier));
    op.clamp = clamp_of(step_->scale_clamp, sum);
    if (op.residual != net::no_tensor) op.residual_scale = scale(op.residual) / sum.scale;
    if (!tabled) return;
    op.sum_zero = sum.zero;
    set(op.lut, table(sum, out));
  }

  static float weight_scale(std::span<const float> row, double bias, float in_scale) {
    float largest = 0.0F;
    for (const float w : row) largest = std::max(largest, std::abs(w));
    const float by_weights = largest / 127.0F;
    const auto by_bias = static_cast<float>(std::abs(bias) / (double{in_scale} * 0x1p30));
    const float result = std::max(by_weights, by_bias);
    return result > 0.0F ? result : 1.0F;
  }

  void fill(net::MatMul& op) {
    const double factor = step_->scale_clamp ? double{step_->scale_clamp->scale} : 1.0;
    if (layout_.net.tensor(op.a).type == net::Type::bf16) {
      op.multiplier = static_cast<float>(factor);
      return bound(op.clamp);
    }
    op.multiplier = static_cast<float>(double{scale(op.a)} * double{scale(op.b)} * factor /
                                       double{scale(op.out)});
    op.clamp = clamp_of(step_->scale_clamp, layout_.net.tensor(op.out).quant);
  }

  void fill(net::Map& op) {
    for (const LayerSource::Operand& operand : source_->operands) {
      net::Constant<float>& constant = op.operands.at(operand.number).constant;
      set(constant, gathered(numbers_of(graph_, *node_, operand.value), operand.steps));
    }
  }

  void fill(net::Lut& op) {
    set(op.table, table(layout_.net.tensor(op.in).quant, layout_.net.tensor(op.out).quant));
  }

  void fill(net::LayerNorm& op) {
    set(op.gain, std::vector<float>(op.gain.size, 1.0F));
    set(op.shift, std::vector<float>(op.shift.size, 0.0F));
    for (const LayerSource::Operand& operand : source_->operands) {
      set(operand.number == 0 ? op.gain : op.shift,
          gathered(data_of(graph_, *node_, operand.value), operand.steps));
    }
  }

  void fill(net::Pool&) {}
  void fill(net::Softmax&) {}
  void fill(net::Reduce&) {}
  void fill(net::Resize&) {}
  void fill(net::Permute&) {}
  void fill(net::CacheStore&) {}

  const Graph& graph_;
  const std::vector<Step>& steps_;
  const std::vector<Range>& values_;
  Layout& layout_;
  bool symmetric_;
  const LayerSource* source_ = nullptr;
  const Step* step_ = nullptr;
  const Node* node_ = nullptr;
};

}  // namespace

net::Quant quant_of(const Range& range, bool symmetric) {
  const float scale = symmetric ? range.magnitude() / 127.0F : (range.high - range.low) / 255.0F;
  if (!std::isnormal(scale)) return {};
  if (symmetric) return {scale, 0};
  const float zero = std::nearbyint(-128.0F - range.low / scale);
  return {scale, static_cast<std::int32_t>(std::clamp(zero, -128.0F, 127.0F))};
}

std::vector<Range> set_quantisations(Layout& layout, const std::vector<Range>& values,
                                     bool symmetric) {
  net::Net& net = layout.net;
  Groups groups(net.tensors.size());
  for (const net::Layer& layer : net.layers) {
    if (!keeps_quantisation(layer)) continue;
    for (const TensorId id : net::inputs_of(layer)) groups.join(id, net::output_of(layer));
  }
  std::vector<Range> common(net.tensors.size());
  for (TensorId id = 0; id < net.tensors.size(); ++id) {
    if (layout.values[id] == graph::no_value || values.empty()) continue;
    common[groups.root(id)].include(values[layout.values[id]]);
  }
  // A softmax is bounded by 1 whatever the samples show.
  for (const net::Layer& layer : net.layers) {
    if (const auto* softmax = std::get_if<net::Softmax>(&layer.op)) {
      common[groups.root(softmax->out)].include({0.0F, 1.0F});
    }
  }
  std::vector<bool> centred(net.tensors.size(), symmetric);
  for (const net::Layer& layer : net.layers) {
    if (const auto* product = std::get_if<net::MatMul>(&layer.op)) {
      centred[groups.root(product->a)] = centred[groups.root(product->b)] = true;
    }
  }
  std::vector<Range> ranges(net.tensors.size());
  for (TensorId id = 0; id < net.tensors.size(); ++id) {
    ranges[id] = common[groups.root(id)];
    if (net.tensors[id].type != net::Type::int8) continue;
    net.tensors[id].quant = quant_of(ranges[id], centred[groups.root(id)]);
  }
  return ranges;
}

void quantise(const Graph& graph, const std::vector<Step>& steps, const std::vector<Range>& values,
              Layout& layout, bool symmetric) {
  Quantiser(graph, steps, values, layout, symmetric).run();
}

}  // namespace steppe::passes
