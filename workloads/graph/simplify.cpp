// SPDX-License-Identifier: Apache-2.0
#include "workloads/graph/simplify.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "models/base/error.h"
#include "workloads/graph/shape.h"

namespace steppe::graph {
namespace {

constexpr std::size_t no_node = ~std::size_t{0};

class Simplifier {
 public:
  explicit Simplifier(Graph& graph)
      : graph_(graph),
        dead_(graph.nodes.size(), false),
        producer_(graph.values.size(), no_node),
        readers_(graph.values.size()),
        output_(graph.values.size(), false) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      producer_[graph.nodes[i].outputs[0]] = i;
      for (const ValueId id : graph.nodes[i].inputs) {
        if (id != no_value) readers_[id].push_back(i);
      }
    }
    for (const ValueId id : graph.outputs) output_[id] = true;
  }

  void run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!dead_[i]) fold_into_product(i);
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!dead_[i]) fold_pad(i);
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!dead_[i]) join_layer_norm(i);
    }
    std::vector<Node> living;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!dead_[i]) living.push_back(std::move(graph_.nodes[i]));
    }
    graph_.nodes = std::move(living);
  }

 private:
  Node& node(std::size_t i) { return graph_.nodes[i]; }
  [[nodiscard]] const Value& value(ValueId id) const { return graph_.values[id]; }
  [[nodiscard]] bool known(ValueId id) const { return value(id).constant && value(id).fp32; }

  /// The node that makes a value, where it is of the given kind.
  [[nodiscard]] std::size_t maker(ValueId id, const char* op) const {
    if (id >= producer_.size()) return no_node;
    const std::size_t i = producer_[id];
    return i != no_node && !dead_[i] && graph_.nodes[i].op == op ? i : no_node;
  }

  [[nodiscard]] bool read_once(ValueId id) const {
    return !output_[id] && readers_[id].size() == 1;
  }

  ValueId add_constant(const std::string& name, Shape shape, std::vector<float> elements) {
    Value constant;
    constant.name = name;
    constant.shape = std::move(shape);
    constant.constant = true;
    constant.fp32 = std::make_shared<const std::vector<float>>(std::move(elements));
    graph_.values.push_back(std::move(constant));
    producer_.push_back(no_node);
    readers_.emplace_back();
    output_.push_back(false);
    return static_cast<ValueId>(graph_.values.size() - 1);
  }

  /// A constant as one number for each index of an axis of `shape`; empty where it is no such.
  [[nodiscard]] std::optional<std::vector<float>> per_channel(ValueId id, const Shape& shape,
                                                              std::size_t axis) const {
    if (!known(id) || value(id).shape.size() > shape.size()) return std::nullopt;
    const auto channels = static_cast<std::size_t>(shape[axis]);
    if (value(id).elements() == 1) return std::vector<float>(channels, value(id).fp32->front());
    const std::size_t lead = shape.size() - value(id).shape.size();
    if (axis < lead || value(id).elements() != channels) return std::nullopt;
    if (value(id).shape[axis - lead] != shape[axis]) return std::nullopt;
    return *value(id).fp32;
  }

  /// Takes the place of a node behind, which is dropped.
  void take_over(std::size_t front, std::size_t behind) {
    const ValueId result = node(behind).outputs[0];
    node(front).outputs = {result};
    producer_[result] = front;
    dead_[behind] = true;
  }

  /// Mul and Add of a constant behind a Conv, Mul behind a MatMul by constant weights.
  void fold_into_product(std::size_t i) {
    const bool factor = node(i).op == "Mul";
    if ((!factor && node(i).op != "Add") || !known(node(i).inputs[1])) return;
    const ValueId x = node(i).inputs[0];
    std::size_t product = maker(x, "Conv");
    const bool conv = product != no_node;
    if (!conv) product = maker(x, "MatMul");
    if (product == no_node || !read_once(x) || !known(node(product).inputs[1])) return;
    if (!conv && !factor) return;
    if (value(node(i).outputs[0]).shape != value(x).shape) return;
    const std::size_t axis = conv ? 1 : value(x).shape.size() - 1;
    const auto numbers = per_channel(node(i).inputs[1], value(x).shape, axis);
    if (!numbers) return;
    const bool biased = node(product).inputs.size() > 2 && node(product).inputs[2] != no_value;
    if (biased && !known(node(product).inputs[2])) return;
    if (factor) scale_weights(node(product), *numbers, conv);
    if (biased || !factor) change_bias(node(product), *numbers, factor, biased);
    take_over(product, i);
  }

  void scale_weights(Node& product, const std::vector<float>& factors, bool conv) {
    const Value weights = value(product.inputs[1]);
    std::vector<float> elements = *weights.fp32;
    const std::size_t channels = factors.size();
    const std::size_t inner = conv ? elements.size() / channels : 1;
    for (std::size_t k = 0; k < elements.size(); ++k) elements[k] *= factors[k / inner % channels];
    product.inputs[1] = add_constant(weights.name + "/scaled", weights.shape, std::move(elements));
  }

  void change_bias(Node& product, const std::vector<float>& numbers, bool factor, bool biased) {
    std::vector<float> bias(numbers.size(), 0.0F);
    if (biased) bias = *value(product.inputs[2]).fp32;
    for (std::size_t c = 0; c < bias.size(); ++c) {
      bias[c] = factor ? bias[c] * numbers[c] : bias[c] + numbers[c];
    }
    product.inputs.resize(3);
    const Shape shape{static_cast<std::int64_t>(bias.size())};
    product.inputs[2] = add_constant(product.name + "/bias", shape, std::move(bias));
  }

  /// Zeros around the pixels in front of a Conv are pads of its own.
  void fold_pad(std::size_t i) {
    if (node(i).op != "Conv") return;
    const std::size_t pad = maker(node(i).inputs[0], "Pad");
    if (pad == no_node || !read_once(node(i).inputs[0]) || node(pad).real("value") != 0.0F) return;
    const Shape& added = node(pad).integers("pads");
    const std::size_t rank = added.size() / 2;
    if (added[0] != 0 || added[1] != 0 || added[rank] != 0 || added[rank + 1] != 0) return;
    Shape pads = node(i).integers("pads");
    for (std::size_t k = 0; k < rank - 2; ++k) {
      pads[k] += added[k + 2];
      pads[k + rank - 2] += added[k + rank + 2];
    }
    node(i).attributes["pads"] = pads;
    node(i).inputs[0] = node(pad).inputs[0];
    std::replace(readers_[node(i).inputs[0]].begin(), readers_[node(i).inputs[0]].end(), pad, i);
    dead_[pad] = true;
  }

  /// The operand of a mean over the last axis that keeps it; no_value where it is no such.
  [[nodiscard]] ValueId mean_of(ValueId id) const {
    const std::size_t i = maker(id, "ReduceMean");
    if (i == no_node) return no_value;
    const Node& mean = graph_.nodes[i];
    const auto last = static_cast<std::int64_t>(value(mean.inputs[0]).shape.size()) - 1;
    const bool fits = mean.integers("axes") == Shape{last} && mean.integer("keepdims") != 0;
    return fits ? mean.inputs[0] : no_value;
  }

  /// x of x - mean(x); no_value where it is no such.
  [[nodiscard]] ValueId centred(ValueId id) const {
    const std::size_t i = maker(id, "Sub");
    if (i == no_node) return no_value;
    const ValueId x = graph_.nodes[i].inputs[0];
    return mean_of(graph_.nodes[i].inputs[1]) == x ? x : no_value;
  }

  [[nodiscard]] ValueId squared(ValueId id) const {
    const std::size_t power = maker(id, "Pow");
    if (power != no_node) {
      const ValueId exponent = graph_.nodes[power].inputs[1];
      const bool two = known(exponent) && value(exponent).elements() == 1 &&
                       value(exponent).fp32->front() == 2.0F;
      return two ? graph_.nodes[power].inputs[0] : no_value;
    }
    const std::size_t product = maker(id, "Mul");
    if (product == no_node) return no_value;
    const std::vector<ValueId>& inputs = graph_.nodes[product].inputs;
    return inputs[0] == inputs[1] ? inputs[0] : no_value;
  }

  struct Deviation {
    ValueId x = no_value;
    float epsilon = 0.0F;
  };
  /// sqrt(mean((x - mean(x))^2) + epsilon)
  [[nodiscard]] std::optional<Deviation> deviation(ValueId id) const {
    const std::size_t root = maker(id, "Sqrt");
    if (root == no_node) return std::nullopt;
    const std::size_t sum = maker(graph_.nodes[root].inputs[0], "Add");
    if (sum == no_node) return std::nullopt;
    const ValueId epsilon = graph_.nodes[sum].inputs[1];
    if (!known(epsilon) || value(epsilon).elements() != 1) return std::nullopt;
    const ValueId square = mean_of(graph_.nodes[sum].inputs[0]);
    if (square == no_value) return std::nullopt;
    const ValueId difference = squared(square);
    if (difference == no_value) return std::nullopt;
    const ValueId x = centred(difference);
    if (x == no_value) return std::nullopt;
    return Deviation{x, value(epsilon).fp32->front()};
  }

  /// (x - mean(x)) / deviation, then * gain + shift where they are there.
  void join_layer_norm(std::size_t i) {
    std::optional<Deviation> found;
    if (node(i).op == "Div") found = deviation(node(i).inputs[1]);
    if (node(i).op == "Mul") {
      const std::size_t inverse = maker(node(i).inputs[1], "Reciprocal");
      if (inverse != no_node) found = deviation(node(inverse).inputs[0]);
    }
    if (!found || centred(node(i).inputs[0]) != found->x) return;
    const Shape shape = value(found->x).shape;
    const std::int64_t channels = shape.back();
    std::vector<float> gain(static_cast<std::size_t>(channels), 1.0F);
    std::vector<float> shift(gain.size(), 0.0F);
    std::size_t last = i;
    if (const std::size_t next = affine(last, "Mul", shape, gain); next != no_node) last = next;
    if (const std::size_t next = affine(last, "Add", shape, shift); next != no_node) last = next;
    Node norm;
    norm.name = node(i).name;
    norm.op = "LayerNormalization";
    norm.inputs = {found->x, add_constant(norm.name + "/gain", {channels}, std::move(gain)),
                   add_constant(norm.name + "/shift", {channels}, std::move(shift))};
    norm.outputs = node(last).outputs;
    norm.attributes["axis"] = static_cast<std::int64_t>(shape.size()) - 1;
    norm.attributes["epsilon"] = found->epsilon;
    readers_[found->x].push_back(last);
    node(last) = std::move(norm);
    producer_[node(last).outputs[0]] = last;
  }

  /// The one reader of a node's result, where it combines it with a number for each channel.
  std::size_t affine(std::size_t i, const char* op, const Shape& shape,
                     std::vector<float>& numbers) {
    const ValueId x = node(i).outputs[0];
    if (!read_once(x)) return no_node;
    const std::size_t next = readers_[x].front();
    if (dead_[next] || node(next).op != op || node(next).inputs[0] != x) return no_node;
    if (value(node(next).outputs[0]).shape != shape) return no_node;
    const auto found = per_channel(node(next).inputs[1], shape, shape.size() - 1);
    if (!found) return no_node;
    numbers = *found;
    return next;
  }

  Graph& graph_;
  std::vector<bool> dead_;
  std::vector<std::size_t> producer_;
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<bool> output_;
};

}  // namespace

void drop_unused(Graph& graph) {
  std::vector<bool> needed(graph.values.size(), false);
  for (const ValueId id : graph.outputs) needed[id] = true;
  for (const ValueId id : graph.inputs) needed[id] = true;
  for (ValueId id = 0; id < graph.values.size(); ++id)
    needed[id] = needed[id] || graph.values[id].state;
  std::vector<Node> nodes;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool wanted = std::any_of(node->outputs.begin(), node->outputs.end(),
                                    [&](ValueId id) { return needed[id]; });
    if (!wanted && node->op != "CacheStore") continue;
    for (const ValueId id : node->outputs) needed[id] = true;
    for (const ValueId id : node->inputs) {
      if (id != no_value) needed[id] = true;
    }
    nodes.push_back(std::move(*node));
  }
  std::reverse(nodes.begin(), nodes.end());
  std::vector<ValueId> renumbered(graph.values.size(), no_value);
  std::vector<Value> values;
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    if (!needed[id]) continue;
    renumbered[id] = static_cast<ValueId>(values.size());
    values.push_back(std::move(graph.values[id]));
  }
  const auto renumber = [&](std::vector<ValueId>& ids) {
    for (ValueId& id : ids) id = id == no_value ? no_value : renumbered[id];
  };
  for (Node& node : nodes) {
    renumber(node.inputs);
    renumber(node.outputs);
  }
  renumber(graph.inputs);
  renumber(graph.outputs);
  graph.nodes = std::move(nodes);
  graph.values = std::move(values);
}

void simplify(Graph& graph) {
  drop_unused(graph);
  Simplifier(graph).run();
  drop_unused(graph);
}

}  // namespace steppe::graph
