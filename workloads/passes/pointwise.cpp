// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/pointwise.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>
#include <unordered_map>

#include "models/base/error.h"

namespace steppe::passes {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;
using Operands = std::vector<double>;
using Evaluator = double (*)(const Node&, const Operands&);

double attribute(const Node& node, const char* key) { return double{node.real(key)}; }

double clip(const Node&, const Operands& x) { return std::min(std::max(x[0], x[1]), x[2]); }

double hard_sigmoid(const Node& node, const Operands& x) {
  return std::clamp(attribute(node, "alpha") * x[0] + attribute(node, "beta"), 0.0, 1.0);
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

template <typename Fold>
double fold(const Operands& x, Fold f) {
  double result = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) result = f(result, x[i]);
  return result;
}

const std::map<std::string_view, Evaluator>& evaluators() {
  static const std::map<std::string_view, Evaluator> table{
      {"Add", [](const Node&, const Operands& x) { return x[0] + x[1]; }},
      {"Sub", [](const Node&, const Operands& x) { return x[0] - x[1]; }},
      {"Mul", [](const Node&, const Operands& x) { return x[0] * x[1]; }},
      {"Div", [](const Node&, const Operands& x) { return x[0] / x[1]; }},
      {"Pow", [](const Node&, const Operands& x) { return std::pow(x[0], x[1]); }},
      {"Max",
       [](const Node&, const Operands& x) {
         return fold(x, [](double a, double b) { return std::max(a, b); });
       }},
      {"Min",
       [](const Node&, const Operands& x) {
         return fold(x, [](double a, double b) { return std::min(a, b); });
       }},
      {"Clip", clip},
      {"Relu", [](const Node&, const Operands& x) { return std::max(x[0], 0.0); }},
      {"LeakyRelu",
       [](const Node& n, const Operands& x) {
         return x[0] < 0.0 ? x[0] * attribute(n, "alpha") : x[0];
       }},
      {"PRelu", [](const Node&, const Operands& x) { return x[0] < 0.0 ? x[0] * x[1] : x[0]; }},
      {"Elu",
       [](const Node& n, const Operands& x) {
         return x[0] < 0.0 ? attribute(n, "alpha") * std::expm1(x[0]) : x[0];
       }},
      {"Sigmoid", [](const Node&, const Operands& x) { return sigmoid(x[0]); }},
      {"HardSigmoid", hard_sigmoid},
      {"HardSwish",
       [](const Node&, const Operands& x) {
         return x[0] * std::clamp(x[0] / 6.0 + 0.5, 0.0, 1.0);
       }},
      {"Gelu",
       [](const Node&, const Operands& x) {
         return 0.5 * x[0] * (1.0 + std::erf(x[0] / std::numbers::sqrt2));
       }},
      {"Softplus",
       [](const Node&, const Operands& x) {
         return std::max(x[0], 0.0) + std::log1p(std::exp(-std::abs(x[0])));
       }},
      {"Tanh", [](const Node&, const Operands& x) { return std::tanh(x[0]); }},
      {"Erf", [](const Node&, const Operands& x) { return std::erf(x[0]); }},
      {"Exp", [](const Node&, const Operands& x) { return std::exp(x[0]); }},
      {"Log", [](const Node&, const Operands& x) { return std::log(x[0]); }},
      {"Sqrt", [](const Node&, const Operands& x) { return std::sqrt(x[0]); }},
      {"Reciprocal", [](const Node&, const Operands& x) { return 1.0 / x[0]; }},
      {"Neg", [](const Node&, const Operands& x) { return -x[0]; }},
      {"Abs", [](const Node&, const Operands& x) { return std::abs(x[0]); }},
      {"Floor", [](const Node&, const Operands& x) { return std::floor(x[0]); }},
      {"Ceil", [](const Node&, const Operands& x) { return std::ceil(x[0]); }},
      {"Round", [](const Node&, const Operands& x) { return std::nearbyint(x[0]); }},
      {"Sign",
       [](const Node&, const Operands& x) { return static_cast<double>((x[0] > 0) - (x[0] < 0)); }},
      {"Sin", [](const Node&, const Operands& x) { return std::sin(x[0]); }},
      {"Cos", [](const Node&, const Operands& x) { return std::cos(x[0]); }},
  };
  return table;
}

/// The operands that are neither constant scalars nor absent; empty where the node is not
/// pointwise.
std::set<ValueId> tensor_operands(const Graph& graph, const Node& node) {
  std::set<ValueId> result;
  if (!evaluators().contains(node.op) || node.outputs.size() != 1) return result;
  const std::uint64_t size = graph.value(node.outputs[0]).elements();
  for (const ValueId value : node.inputs) {
    if (value == graph::no_value || is_scalar_constant(graph, value)) continue;
    // A larger constant, or a broadcast, relates different elements.
    if (graph.value(value).constant || graph.value(value).elements() != size) return {};
    result.insert(value);
  }
  return result;
}

/// Grows the region that ends with one node towards its operands.
class Region {
 public:
  Region(const Graph& graph, const Uses& uses, const std::vector<bool>& taken)
      : graph_(graph), uses_(uses), taken_(taken) {}

  /// The largest region ending at `last` with one operand; empty nodes where there is none.
  Function grow(std::size_t last) {
    Function best;
    add(last);
    while (!operands_.empty()) {
      if (operands_.size() == 1) {
        best = {{nodes_.begin(), nodes_.end()}, *operands_.begin(), graph_.nodes[last].outputs[0]};
      }
      const std::size_t next = expandable();
      if (next == no_node) break;
      operands_.erase(graph_.nodes[next].outputs[0]);
      add(next);
    }
    return best;
  }

 private:
  void add(std::size_t node) {
    nodes_.insert(node);
    operands_.merge(tensor_operands(graph_, graph_.nodes[node]));
  }

  [[nodiscard]] bool absorbs(ValueId value) const {
    const std::size_t producer = uses_.producer[value];
    if (producer == no_node || taken_[producer] || uses_.output[value]) return false;
    if (tensor_operands(graph_, graph_.nodes[producer]).empty()) return false;
    return std::all_of(uses_.consumers[value].begin(), uses_.consumers[value].end(),
                       [&](std::size_t node) { return nodes_.contains(node); });
  }

  /// The latest producer that the region may absorb: taking the latest first means that a value
  /// through which everything passes is met as the only operand.
  [[nodiscard]] std::size_t expandable() const {
    std::size_t latest = no_node;
    for (const ValueId value : operands_) {
      if (!absorbs(value)) continue;
      const std::size_t producer = uses_.producer[value];
      if (latest == no_node || producer > latest) latest = producer;
    }
    return latest;
  }

  const Graph& graph_;
  const Uses& uses_;
  const std::vector<bool>& taken_;
  std::set<std::size_t> nodes_;
  std::set<ValueId> operands_;
};

double scalar(const Graph& graph, const Node& node, ValueId value) {
  const graph::Value& v = graph.value(value);
  if (v.fp32 && !v.fp32->empty()) return double{v.fp32->front()};
  if (v.int64 && !v.int64->empty()) return static_cast<double>(v.int64->front());
  throw ModelError("{}: constant '{}' has no data", described(node), v.name);
}

Operands operands_of(const Graph& graph, const Node& node,
                     const std::unordered_map<ValueId, double>& known) {
  Operands x;
  for (const ValueId value : node.inputs) {
    if (value == graph::no_value) continue;
    const auto found = known.find(value);
    x.push_back(found != known.end() ? found->second : scalar(graph, node, value));
  }
  if (node.op == "Clip") {
    constexpr double inf = std::numeric_limits<double>::infinity();
    const auto bound = [&](std::size_t input, double absent) {
      const bool given = node.inputs.size() > input && node.inputs[input] != graph::no_value;
      return given ? scalar(graph, node, node.inputs[input]) : absent;
    };
    x = {x[0], bound(1, -inf), bound(2, inf)};
  }
  return x;
}

bool constants_known(const Graph& graph, const Node& node) {
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
    if (id == graph::no_value || !graph.value(id).constant) return true;
    return graph.value(id).fp32 != nullptr || graph.value(id).int64 != nullptr;
  });
}

/// The factor and bounds of one node whose first operand is the value so far.
bool compose(const Graph& graph, const Node& node, ValueId so_far, ScaleClamp& result) {
  const bool bounded = std::isfinite(result.low) || std::isfinite(result.high);
  const std::unordered_map<ValueId, double> known{{so_far, 0.0}};
  const auto raise = [&](double low) {
    result.low = std::max(result.low, static_cast<float>(low));
    result.high = std::max(result.high, result.low);
  };
  const auto lower = [&](double high) {
    result.high = std::min(result.high, static_cast<float>(high));
    result.low = std::min(result.low, result.high);
  };
  if (node.op == "Relu") {
    raise(0.0);
    return true;
  }
  const Operands x = operands_of(graph, node, known);
  if (node.op == "Clip" && node.inputs[0] == so_far) {
    raise(x[1]);
    lower(x[2]);
    return true;
  }
  if (node.inputs.size() != 2 || node.inputs[0] == node.inputs[1]) return false;
  const double other = node.inputs[0] == so_far ? x[1] : x[0];
  if (node.op == "Max") {
    raise(other);
    return true;
  }
  if (node.op == "Min") {
    lower(other);
    return true;
  }
  const bool divides = node.op == "Div" && node.inputs[0] == so_far;
  if ((node.op != "Mul" && !divides) || bounded || !(other > 0.0)) return false;
  result.scale =
      static_cast<float>(divides ? double{result.scale} / other : double{result.scale} * other);
  return true;
}

}  // namespace

std::vector<Function> find_functions(const Graph& graph, const Uses& uses,
                                     std::vector<bool>& taken) {
  std::vector<Function> functions;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    if (taken[i] || tensor_operands(graph, graph.nodes[i]).empty()) continue;
    Function function = Region(graph, uses, taken).grow(i);
    if (function.nodes.empty()) continue;
    for (const std::size_t node : function.nodes) taken[node] = true;
    functions.push_back(std::move(function));
  }
  return functions;
}

double evaluate(const Graph& graph, const Function& function, double x) {
  std::unordered_map<ValueId, double> known{{function.in, x}};
  for (const std::size_t index : function.nodes) {
    const Node& node = graph.nodes[index];
    known[node.outputs[0]] = evaluators().at(node.op)(node, operands_of(graph, node, known));
  }
  return known.at(function.out);
}

std::optional<ScaleClamp> as_scale_clamp(const Graph& graph, const Function& function) {
  ScaleClamp result;
  ValueId so_far = function.in;
  for (const std::size_t index : function.nodes) {
    const Node& node = graph.nodes[index];
    if (!constants_known(graph, node)) return std::nullopt;
    const std::set<ValueId> operands = tensor_operands(graph, node);
    if (operands.size() != 1 || *operands.begin() != so_far) return std::nullopt;
    if (!compose(graph, node, so_far, result)) return std::nullopt;
    so_far = node.outputs[0];
  }
  return result;
}

}  // namespace steppe::passes
