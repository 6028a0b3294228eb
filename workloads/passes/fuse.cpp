// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/fuse.h"

#include <algorithm>

#include "models/base/error.h"
#include "workloads/passes/uses.h"

namespace steppe::passes {
namespace {

using graph::Graph;
using graph::Node;
using graph::Value;
using graph::ValueId;

StepKind kind_of(const Graph& graph, const Node& node) {
  if (node.op == "Conv") return StepKind::conv;
  return has_constant_weights(graph, node) ? StepKind::dense : StepKind::other;
}

/// Whether a constant adds one number to each channel of `sum`: a scalar, or extent 1 but for the
/// channel axis.
bool is_channel_bias(const Graph& graph, ValueId constant, const Value& sum, StepKind kind) {
  const Value& bias = graph.value(constant);
  if (!bias.constant || bias.type != graph::DataType::fp32) return false;
  const std::size_t rank = sum.shape.size();
  if (bias.elements() == 1) return bias.shape.size() <= rank;
  const std::size_t channel = kind == StepKind::conv ? 1 : rank - 1;
  if (bias.shape.size() > rank) return false;
  const std::size_t lead = rank - bias.shape.size();
  if (lead > channel || bias.shape[channel - lead] != sum.shape[channel]) return false;
  return bias.elements() == static_cast<std::uint64_t>(sum.shape[channel]);
}

class Fuser {
 public:
  Fuser(const Graph& graph, std::vector<net::Type> types)
      : graph_(graph), types_(std::move(types)), uses_(graph), taken_(graph.nodes.size(), false) {
    types_.resize(graph.nodes.size(), net::Type::int8);
  }

  std::vector<Step> run() {
    start_products();
    take_biases();
    functions_ = find_functions(graph_, uses_, taken_);
    // The later of two products that meet in an Add runs when the other's result is there.
    for (auto step = products_.rbegin(); step != products_.rend(); ++step) take_residual(*step);
    for (Step& step : products_) take_function(step);
    return collect();
  }

 private:
  void start_products() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      const StepKind kind = kind_of(graph_, node);
      if (kind == StepKind::other && node.op != "MatMul") continue;
      Step step;
      step.kind = kind;
      step.type = types_[i];
      step.node = i;
      step.nodes = {i};
      step.in = node.inputs[0];
      step.sum = step.out = node.outputs[0];
      if (kind != StepKind::other && node.inputs.size() > 2 && node.inputs[2] != graph::no_value) {
        step.biases.push_back(node.inputs[2]);
      }
      taken_[i] = true;
      products_.push_back(std::move(step));
    }
  }

  /// The Add that alone reads the step's value, and its other operand.
  struct Sum {
    std::size_t node = no_node;
    ValueId other = graph::no_value;
  };
  [[nodiscard]] Sum sum_behind(const Step& step) const {
    const std::size_t next = uses_.sole_consumer(step.sum);
    if (next == no_node || taken_[next] || graph_.nodes[next].op != "Add") return {};
    if (types_[next] != step.type) return {};
    const std::vector<ValueId>& inputs = graph_.nodes[next].inputs;
    if (inputs[0] == inputs[1]) return {};
    return {next, inputs[0] == step.sum ? inputs[1] : inputs[0]};
  }

  void extend(Step& step, std::size_t node) {
    step.nodes.push_back(node);
    step.sum = step.out = graph_.nodes[node].outputs[0];
    taken_[node] = true;
  }

  void take_biases() {
    for (Step& step : products_) {
      if (step.kind == StepKind::other) continue;
      for (Sum sum = sum_behind(step); sum.node != no_node; sum = sum_behind(step)) {
        if (!is_channel_bias(graph_, sum.other, graph_.value(step.sum), step.kind)) break;
        step.biases.push_back(sum.other);
        extend(step, sum.node);
      }
    }
  }

  void take_residual(Step& step) {
    if (step.kind == StepKind::other || step.type == net::Type::fp32) return;
    const Sum sum = sum_behind(step);
    if (sum.node == no_node || graph_.value(sum.other).constant) return;
    if (graph_.value(sum.other).shape != graph_.value(step.sum).shape) return;
    step.residual = sum.other;
    extend(step, sum.node);
  }

  /// The function may be fused where nothing else reads its operand; it is removed from the list.
  void take_function(Step& step) {
    if (step.type == net::Type::fp32) return;
    const auto found = std::find_if(functions_.begin(), functions_.end(),
                                    [&](const Function& f) { return f.in == step.sum; });
    if (found == functions_.end() || !reads_all(*found)) return;
    const bool alike = std::all_of(found->nodes.begin(), found->nodes.end(),
                                   [&](std::size_t node) { return types_[node] == step.type; });
    if (!alike) return;
    const std::optional<ScaleClamp> simple = as_scale_clamp(graph_, *found);
    // A MatMul has no table, nor has bf16.
    const bool tables = step.kind != StepKind::other && step.type == net::Type::int8;
    if (!tables && !simple) return;
    const bool scales = simple && simple->scale != 1.0F;
    if (!(scales && step.residual != graph::no_value)) {
      step.scale_clamp = simple;
    } else if (!tables) {
      return;
    }
    step.nodes.insert(step.nodes.end(), found->nodes.begin(), found->nodes.end());
    std::sort(step.nodes.begin(), step.nodes.end());
    step.out = found->out;
    step.function = std::move(*found);
    functions_.erase(found);
  }

  [[nodiscard]] bool reads_all(const Function& function) const {
    if (uses_.output[function.in]) return false;
    const std::vector<std::size_t>& readers = uses_.consumers[function.in];
    return std::all_of(readers.begin(), readers.end(), [&](std::size_t node) {
      return std::binary_search(function.nodes.begin(), function.nodes.end(), node);
    });
  }

  std::vector<Step> collect() {
    std::vector<Step> steps = std::move(products_);
    for (Function& function : functions_) {
      if (types_[function.nodes.back()] != net::Type::int8) {  // node by node
        for (const std::size_t node : function.nodes) taken_[node] = false;
        continue;
      }
      Step step;
      step.kind = StepKind::function;
      step.node = function.nodes.back();
      step.nodes = function.nodes;
      step.in = function.in;
      step.out = function.out;
      step.function = std::move(function);
      steps.push_back(std::move(step));
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (taken_[i]) continue;
      const Node& node = graph_.nodes[i];
      Step step;
      step.type = types_[i];
      step.node = i;
      step.nodes = {i};
      step.in = node.inputs.empty() ? graph::no_value : node.inputs[0];
      step.out = node.outputs.empty() ? graph::no_value : node.outputs[0];
      steps.push_back(std::move(step));
    }
    // A step stands where its last node stood: all that it reads is there, and nothing reads what
    // it makes on the way.
    std::sort(steps.begin(), steps.end(),
              [](const Step& a, const Step& b) { return a.nodes.back() < b.nodes.back(); });
    return steps;
  }

  const Graph& graph_;
  std::vector<net::Type> types_;
  Uses uses_;
  std::vector<bool> taken_;
  std::vector<Step> products_;
  std::vector<Function> functions_;
};

}  // namespace

bool has_constant_weights(const Graph& graph, const Node& node) {
  if (node.op != "MatMul" && node.op != "Gemm") return false;
  const Value& weights = graph.value(node.inputs[1]);
  if (!weights.constant || weights.shape.size() < 2) return false;
  const auto lead = static_cast<std::ptrdiff_t>(weights.shape.size()) - 2;
  return std::all_of(weights.shape.begin(), weights.shape.begin() + lead,
                     [](std::int64_t extent) { return extent == 1; });
}

std::vector<Step> fuse(const Graph& graph, const std::vector<net::Type>& types) {
  return Fuser(graph, types).run();
}

}  // namespace steppe::passes
