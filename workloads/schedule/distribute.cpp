// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/distribute.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "models/base/error.h"

namespace steppe::schedule {
namespace {

using net::TensorId;

template <typename T>
net::Constant<T> part_of(const net::Constant<T>& whole, const ChannelRange& range) {
  if (whole.size == 0) return whole;
  net::Constant<T> part{.size = range.size(), .data = nullptr};
  if (whole.data) {
    part.data = std::make_shared<const std::vector<T>>(whole.data->begin() + range.begin,
                                                       whole.data->begin() + range.end);
  }
  return part;
}

/// Weights [channels][k]: some channels, and of each some of K.
template <typename T>
std::shared_ptr<const std::vector<T>> part_of(const std::shared_ptr<const std::vector<T>>& whole,
                                              std::size_t k, const ChannelRange& channels,
                                              const ChannelRange& sums) {
  if (!whole) return nullptr;
  std::vector<T> part;
  part.reserve(std::size_t{channels.size()} * sums.size());
  for (std::size_t channel = channels.begin; channel < channels.end; ++channel) {
    const auto row = whole->begin() + static_cast<std::ptrdiff_t>(channel * k);
    part.insert(part.end(), row + sums.begin, row + sums.end);
  }
  return std::make_shared<const std::vector<T>>(std::move(part));
}

net::Weights part_of(const net::Weights& whole, std::size_t k, const ChannelRange& channels,
                     const ChannelRange& sums) {
  return {.size = std::uint64_t{channels.size()} * sums.size(),
          .int8 = part_of(whole.int8, k, channels, sums),
          .bf16 = part_of(whole.bf16, k, channels, sums)};
}

/// Calls `visit` with every tensor that a layer names.
struct Tensors {
  const std::function<void(TensorId&)>& visit;

  void optional(TensorId& id) const {
    if (id != net::no_tensor) visit(id);
  }
  void operator()(net::Conv& op) const { visit(op.in), optional(op.residual), visit(op.out); }
  void operator()(net::MatMul& op) const { visit(op.a), visit(op.b), visit(op.out); }
  void operator()(net::Map& op) const {
    for (net::Operand& operand : op.operands) optional(operand.tensor);
    visit(op.out);
  }
  void operator()(net::Permute& op) const {
    for (net::PermutePart& part : op.parts) visit(part.in);
    visit(op.out);
  }
  void operator()(net::CacheStore& op) const { visit(op.in), visit(op.cache); }
  template <typename Op>
  void operator()(Op& op) const {
    visit(op.in), visit(op.out);
  }
};
void for_each_tensor(net::Layer& layer, const std::function<void(TensorId&)>& visit) {
  std::visit(Tensors{visit}, layer.op);
}

/// A copy of all channels of `part`, which are `range` of those of `whole`, either way.
net::PermutePart channel_part(TensorId in, const net::Shape& part, const net::Shape& whole,
                              const ChannelRange& range, bool into_whole) {
  net::PermutePart copy{.in = in};
  copy.size = {1, 1, 1, part.n * part.h * part.w, part.c};
  const std::array<std::int64_t, 5> narrow{0, 0, 0, part.c, 1}, wide{0, 0, 0, whole.c, 1};
  copy.in_step = into_whole ? narrow : wide;
  copy.out_step = into_whole ? wide : narrow;
  (into_whole ? copy.out_start : copy.in_start) = range.begin;
  return copy;
}

class Distributor {
 public:
  Distributor(const net::Net& network, const PartitionPlan& plan)
      : from_(network), plan_(plan), copies_(plan.width), parts_(network.tensors.size()) {
    to_.name = network.name;
    to_.tensors = network.tensors;
    to_.inputs = network.inputs;
    to_.outputs = network.outputs;
    for (std::vector<TensorId>& copy : copies_) {
      copy.assign(network.tensors.size(), net::no_tensor);
    }
    for (TensorId id = 0; id < network.tensors.size(); ++id) copies_[0][id] = id;
    for (const net::Port& port : network.inputs) {  // every chip fetches them from the host
      for (std::vector<TensorId>& copy : copies_) copy[port.tensor] = port.tensor;
    }
  }

  Distribution run() {
    for (const Stage& stage : plan_.stages) {
      layers_.resize(std::size_t{stage.first_chip} + plan_.width);
      for (std::uint32_t i = stage.begin; i < stage.end; ++i) add(stage, i);
    }
    drop_dead_layers();
    drop_unused_tensors();
    net::check(to_);
    return {std::move(to_), std::move(layers_)};
  }

 private:
  [[nodiscard]] std::string name(const std::string& base, std::uint32_t part) const {
    return part == 0 ? base : fmt::format("{}@{}", base, stage_->first_chip + part);
  }
  [[nodiscard]] ChannelRange range(std::uint32_t channels, std::uint32_t part) const {
    return channels_of(channels, part, plan_.width);
  }
  /// The copy of a tensor that a chip reads or makes.
  TensorId on_chip(TensorId id, std::uint32_t part) {
    TensorId& copy = copies_[part][id];
    if (copy == net::no_tensor) {
      net::Tensor tensor = from_.tensors[id];
      tensor.name = name(tensor.name, part);
      copy = add_tensor(std::move(tensor));
    }
    return copy;
  }
  TensorId add_tensor(net::Tensor tensor) {
    to_.tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(to_.tensors.size() - 1);
  }
  void add_layer(std::uint32_t part, net::Layer layer) {
    layers_[stage_->first_chip + part].push_back(static_cast<std::uint32_t>(to_.layers.size()));
    to_.layers.push_back(std::move(layer));
  }
  void add_layer(std::uint32_t part, const char* suffix, decltype(net::Layer::op) op) {
    add_layer(
        part,
        {.name = name(layer_->name + suffix, part), .nodes = layer_->nodes, .op = std::move(op)});
  }

  void add(const Stage& stage, std::uint32_t index) {
    stage_ = &stage;
    layer_ = &from_.layers[index];
    switch (plan_.cuts[index]) {
      case Cut::none:
        return copy();
      case Cut::columns:
        columns(std::get<net::Conv>(layer_->op));
        return join(std::get<net::Conv>(layer_->op).out);
      case Cut::first:
        return columns(std::get<net::Conv>(layer_->op));
      case Cut::rows:
        return rows(std::get<net::Conv>(layer_->op));
    }
  }

  void copy() {
    for (std::uint32_t part = 0; part < plan_.width; ++part) {
      net::Layer layer = *layer_;
      layer.name = name(layer.name, part);
      for_each_tensor(layer, [&](TensorId& id) { id = on_chip(id, part); });
      add_layer(part, std::move(layer));
    }
  }

  /// Each chip makes some of the output channels.
  void columns(const net::Conv& whole) {
    const std::uint32_t channels = from_.tensor(whole.out).shape.c;
    const std::size_t k = whole.weights.size / channels;
    for (std::uint32_t part = 0; part < plan_.width; ++part) {
      const ChannelRange mine = range(channels, part);
      net::Conv conv = whole;
      conv.in = on_chip(whole.in, part);
      conv.weights = part_of(whole.weights, k, mine, {0, static_cast<std::uint32_t>(k)});
      conv.bias = part_of(whole.bias, mine);
      conv.bias_fp32 = part_of(whole.bias_fp32, mine);
      conv.multiplier = part_of(whole.multiplier, mine);
      if (whole.residual != net::no_tensor) conv.residual = channels_on(whole.residual, part);
      net::Tensor out = from_.tensor(whole.out);
      out.shape.c = mine.size();
      out.name += fmt::format(".part{}", part);
      conv.out = add_tensor(std::move(out));
      parts_[whole.out].push_back(conv.out);
      add_layer(part, "", std::move(conv));
    }
  }

  /// A chip's channels of a tensor that it has whole.
  TensorId channels_on(TensorId whole, std::uint32_t part) {
    const net::Tensor& tensor = from_.tensor(whole);
    const ChannelRange mine = range(tensor.shape.c, part);
    net::Tensor sliced = tensor;
    sliced.resident_in_dram = false;
    sliced.shape.c = mine.size();
    sliced.name = fmt::format("{}.{}.part{}", tensor.name, layer_->name, part);
    const TensorId out = add_tensor(sliced);
    const net::PermutePart take =
        channel_part(on_chip(whole, part), sliced.shape, tensor.shape, mine, false);
    add_layer(part, ".slice", net::Permute{.out = out, .parts = {take}});
    return out;
  }

  /// Every chip puts all parts of a result together.
  void join(TensorId whole) {
    const net::Shape& shape = from_.tensor(whole).shape;
    for (std::uint32_t part = 0; part < plan_.width; ++part) {
      net::Permute permute{.out = on_chip(whole, part), .parts = {}};
      for (std::uint32_t other = 0; other < plan_.width; ++other) {
        const TensorId in = parts_[whole][other];
        permute.parts.push_back(
            channel_part(in, to_.tensor(in).shape, shape, range(shape.c, other), true));
      }
      add_layer(part, ".gather", std::move(permute));
    }
  }

  /// Each chip sums over the input channels that it has; every chip adds the sums up.
  void rows(const net::Conv& whole) {
    const net::Tensor& out = from_.tensor(whole.out);
    const std::uint32_t channels = out.shape.c;
    const std::uint32_t k = from_.tensor(whole.in).shape.c;
    std::vector<TensorId> sums;
    for (std::uint32_t part = 0; part < plan_.width; ++part) {
      net::Conv conv = whole;
      conv.in = parts_[whole.in].at(part);
      conv.weights = part_of(whole.weights, k, {0, channels}, range(k, part));
      conv.residual = net::no_tensor;
      conv.clamp = {};
      conv.multiplier = in_units(whole.multiplier, out.quant.scale);
      if (part != 0) {
        conv.bias = zeros(whole.bias);
        conv.bias_fp32 = zeros(whole.bias_fp32);
      }
      conv.out = sums.emplace_back(add_tensor({.name = fmt::format("{}.sum{}", out.name, part),
                                               .shape = out.shape,
                                               .type = net::Type::fp32}));
      add_layer(part, "", std::move(conv));
    }
    for (std::uint32_t part = 0; part < plan_.width; ++part) {
      std::vector<TensorId> terms = sums;
      if (whole.residual != net::no_tensor) terms.push_back(on_chip(whole.residual, part));
      TensorId sum = terms.front();
      for (std::size_t i = 1; i < terms.size(); ++i) {
        const bool last = i + 1 == terms.size();
        net::Map map{.function = vector_functions::add_};
        map.operands = {{.tensor = sum, .constant = {}, .shape = out.shape},
                        {.tensor = terms[i], .constant = {}, .shape = out.shape}};
        if (last) map.clamp = whole.clamp;
        map.out = sum = last ? on_chip(whole.out, part)
                             : add_tensor({.name = fmt::format("{}.sum{}.{}", out.name, part, i),
                                           .shape = out.shape,
                                           .type = net::Type::fp32});
        add_layer(part, {.name = name(fmt::format("{}.add{}", layer_->name, i), part),
                         .nodes = layer_->nodes,
                         .op = std::move(map)});
      }
    }
  }

  /// Multipliers of an int8 result are in its steps; those of a sum in what a step stands for.
  static net::Constant<float> in_units(net::Constant<float> multiplier, float scale) {
    if (!multiplier.data || scale == 1.0F) return multiplier;
    std::vector<float> scaled = *multiplier.data;
    for (float& factor : scaled) factor *= scale;
    multiplier.data = std::make_shared<const std::vector<float>>(std::move(scaled));
    return multiplier;
  }
  template <typename T>
  static net::Constant<T> zeros(net::Constant<T> constant) {
    if (constant.data) constant.data = std::make_shared<const std::vector<T>>(constant.size);
    return constant;
  }

  /// What no chip reads: copies near the outputs.
  void drop_dead_layers() {
    std::vector<bool> wanted(to_.tensors.size());
    for (const net::Port& port : to_.outputs) wanted[port.tensor] = true;
    std::vector<bool> live(to_.layers.size());
    for (std::size_t i = to_.layers.size(); i-- > 0;) {
      const net::Layer& layer = to_.layers[i];
      live[i] = wanted[net::output_of(layer)] || std::holds_alternative<net::CacheStore>(layer.op);
      if (!live[i]) continue;
      for (const TensorId in : net::inputs_of(layer)) wanted[in] = true;
    }
    std::vector<std::uint32_t> number(to_.layers.size());
    std::vector<net::Layer> layers;
    for (std::size_t i = 0; i < to_.layers.size(); ++i) {
      number[i] = static_cast<std::uint32_t>(layers.size());
      if (live[i]) layers.push_back(std::move(to_.layers[i]));
    }
    to_.layers = std::move(layers);
    for (std::vector<std::uint32_t>& list : layers_) {
      std::erase_if(list, [&](std::uint32_t i) { return !live[i]; });
      for (std::uint32_t& i : list) i = number[i];
    }
  }

  /// Results of which only parts are made have no whole.
  void drop_unused_tensors() {
    std::vector<bool> used(to_.tensors.size());
    const auto use = [&](const TensorId& id) { used[id] = true; };
    for (net::Layer& layer : to_.layers) for_each_tensor(layer, use);
    for (const net::Port& port : to_.inputs) use(port.tensor);
    for (const net::Port& port : to_.outputs) use(port.tensor);
    std::vector<TensorId> number(to_.tensors.size(), net::no_tensor);
    std::vector<net::Tensor> tensors;
    for (TensorId id = 0; id < to_.tensors.size(); ++id) {
      if (!used[id]) continue;
      number[id] = static_cast<TensorId>(tensors.size());
      tensors.push_back(std::move(to_.tensors[id]));
    }
    to_.tensors = std::move(tensors);
    const auto renumber = [&](TensorId& id) { id = number[id]; };
    for (net::Layer& layer : to_.layers) for_each_tensor(layer, renumber);
    for (net::Port& port : to_.inputs) renumber(port.tensor);
    for (net::Port& port : to_.outputs) renumber(port.tensor);
  }

  const net::Net& from_;
  const PartitionPlan& plan_;
  net::Net to_;
  std::vector<std::vector<std::uint32_t>> layers_;  ///< by chip
  std::vector<std::vector<TensorId>> copies_;       ///< [chip of the stage][tensor of from_]
  std::vector<std::vector<TensorId>> parts_;        ///< by tensor of from_: its channels by chip
  const Stage* stage_ = nullptr;
  const net::Layer* layer_ = nullptr;
};

}  // namespace

Distribution distribute(const net::Net& network, const PartitionPlan& plan) {
  return Distributor(network, plan).run();
}

}  // namespace steppe::schedule
