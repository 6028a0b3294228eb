// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/maps.h"

#include <algorithm>
#include <map>
#include <memory>

#include "workloads/passes/operands.h"
#include "workloads/passes/step_layout.h"

namespace steppe::passes {
namespace {

using graph::Graph;
using graph::ValueId;
using vector_functions::Function;

/// Operators that are one function of their operands.
const std::map<std::string_view, Function>& functions() {
  using namespace vector_functions;
  static const std::map<std::string_view, Function> table{
      {"Add", add_},     {"Sub", sub_},   {"Mul", mul_},           {"Div", div_},
      {"Max", max_},     {"Min", min_},   {"Pow", pow_},           {"Neg", neg_},
      {"Abs", abs_},     {"Sign", sign_}, {"Floor", floor_},       {"Ceil", ceil_},
      {"Round", round_}, {"Sqrt", sqrt_}, {"Exp", exp_},           {"Log", log_},
      {"Erf", erf_},     {"Tanh", tanh_}, {"Sigmoid", sigmoid_},   {"Gelu", gelu_},
      {"Sin", sin_},     {"Cos", cos_},   {"Softplus", softplus_}, {"Reciprocal", reciprocal_},
      {"Equal", eq_},    {"Less", lt_},   {"LessOrEqual", le_},    {"Where", select_},
      {"And", and_},     {"Or", or_},     {"Xor", xor_},           {"Not", not_},
  };
  return table;
}

/// Lays out one step; the methods are named after the operators.
class Maps : StepLayout {
 public:
  Maps(const Graph& graph, const Step& step, std::size_t index, Arranger& arranger)
      : StepLayout(graph, step, index, arranger) {}

  bool run() {
    const auto found = functions().find(node_.op);
    if (found != functions().end()) {
      elementwise(found->second);
      return true;
    }
    if (step_.type == net::Type::int8) return false;
    const std::string& op = node_.op;
    if (op == "Relu") return bounded(0.0F, infinity);
    if (op == "Clip") return bounded(bound(1, -infinity), bound(2, infinity));
    if (op == "LeakyRelu") return leaky_relu();
    if (op == "Elu") return elu();
    if (op == "HardSigmoid") return hard_sigmoid();
    if (op == "HardSwish") return hard_swish();
    return false;
  }

 private:
  static constexpr float infinity = std::numeric_limits<float>::infinity();

  void elementwise(Function function) {
    const vector_functions::Row* row = vector_functions::find(function);
    if (node_.inputs.size() != row->operands) {
      fail("{} operands; {} are supported", node_.inputs.size(), row->operands);
    }
    const Extents dims = dims_of(value(node_.outputs[0]));
    const View out = base(dims);
    net::Map op;
    op.function = function;
    std::vector<ValueId> inputs = node_.inputs;
    if (function == vector_functions::select_) {  // its condition comes last
      std::rotate(inputs.begin(), inputs.begin() + 1, inputs.end());
    }
    for (const ValueId id : inputs) op.operands.push_back(operand(op.operands.size(), id, out));
    emit(op, out, shape(out));
  }

  /// The operand that lies as the result does: one of its size, or the first one repeated.
  View base(const Extents& dims) {
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : dims) elements *= extent;
    ValueId first = graph::no_value;
    for (const ValueId id : node_.inputs) {
      if (value(id).constant) continue;
      if (value(id).elements() == elements) return *reshaped(arranger_.whole(id), dims);
      if (first == graph::no_value) first = id;
    }
    if (first == graph::no_value) fail("all its operands are constants");
    const Order order = natural_order(dims.size());
    View target = dense_view(net::no_tensor, dims, order);
    const Pieces pieces{0, {broadcast(arranger_.single(first), dims)}};
    target.tensor =
        arranger_.place(pieces, target, canonical_shape(dims, order), value(first).name);
    return target;
  }

  net::Operand operand(std::size_t number, ValueId id, const View& out) {
    const Extents dims = dims_of(value(id));
    const Operand repeated = repeat_operand(out, shape(out), dims);
    net::Operand result{.tensor = net::no_tensor, .constant = {}, .shape = repeated.shape};
    if (value(id).constant) {
      source_.operands.push_back({number, id, constant_steps(repeated, dims)});
      result.constant.size = repeated.shape.elements();
      return result;
    }
    const Extents target = extents(repeated.view);
    const Pieces pieces{0, {broadcast(arranger_.single(id), target)}};
    result.tensor = arranger_.place(pieces, repeated.view, repeated.shape, value(id).name);
    return result;
  }

  [[nodiscard]] net::Operand whole(const View& view) const {
    return {.tensor = view.tensor, .constant = {}, .shape = shape(view)};
  }
  static net::Operand number(float x) {
    return {.tensor = net::no_tensor,
            .constant = {1, std::make_shared<const std::vector<float>>(1, x)},
            .shape = {}};
  }
  static net::Map map(Function function, std::vector<net::Operand> operands,
                      float lowest = -infinity, float highest = infinity) {
    net::Map op{.function = function, .operands = std::move(operands), .out = {}, .clamp = {}};
    op.clamp.lowest = lowest;
    op.clamp.highest = highest;
    return op;
  }
  View between(const net::Map& op, const View& like) { return emit_between(op, like, shape(like)); }
  bool finish(const net::Map& op, const View& like) {
    emit(op, like, shape(like));
    return true;
  }

  [[nodiscard]] float bound(std::size_t input, float absent) const {
    if (node_.inputs.size() <= input || node_.inputs[input] == graph::no_value) return absent;
    const graph::Value& v = value(node_.inputs[input]);
    if (!v.fp32 || v.fp32->size() != 1) fail("its bound '{}' is no constant number", v.name);
    return v.fp32->front();
  }

  bool bounded(float lowest, float highest) {
    const View x = arranger_.whole(node_.inputs[0]);
    // Where they cross, the upper bound is the result.
    return finish(map(vector_functions::copy_, {whole(x)}, std::min(lowest, highest), highest), x);
  }

  bool leaky_relu() {
    const float alpha = node_.real("alpha");
    const View x = arranger_.whole(node_.inputs[0]);
    const View low = between(map(vector_functions::mul_, {whole(x), number(alpha)}), x);
    const Function choice = alpha <= 1.0F ? vector_functions::max_ : vector_functions::min_;
    return finish(map(choice, {whole(x), whole(low)}), x);
  }

  /// max(x, 0) + alpha * (exp(min(x, 0)) - 1)
  bool elu() {
    using namespace vector_functions;
    const float alpha = node_.real("alpha");
    const View x = arranger_.whole(node_.inputs[0]);
    const View low = between(map(copy_, {whole(x)}, -infinity, 0.0F), x);
    const View power = between(map(exp_, {whole(low)}), x);
    const View part = between(map(muladd_, {whole(power), number(alpha), number(-alpha)}), x);
    return finish(map(add_, {whole(between(map(copy_, {whole(x)}, 0.0F), x)), whole(part)}), x);
  }

  bool hard_sigmoid() {
    const View x = arranger_.whole(node_.inputs[0]);
    return finish(
        map(vector_functions::muladd_,
            {whole(x), number(node_.real("alpha")), number(node_.real("beta"))}, 0.0F, 1.0F),
        x);
  }

  bool hard_swish() {
    using namespace vector_functions;
    const View x = arranger_.whole(node_.inputs[0]);
    const View gate =
        between(map(muladd_, {whole(x), number(1.0F / 6.0F), number(0.5F)}, 0.0F, 1.0F), x);
    return finish(map(mul_, {whole(x), whole(gate)}), x);
  }
};

}  // namespace

bool lay_out_map(const Graph& graph, const Step& step, std::size_t index, Arranger& arranger) {
  return Maps(graph, step, index, arranger).run();
}

}  // namespace steppe::passes
