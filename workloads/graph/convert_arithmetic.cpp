// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "workloads/graph/context.h"

namespace steppe::graph {
namespace {

bool commutes(const std::string& op) {
  return op == "Add" || op == "Mul" || op == "Max" || op == "Min";
}

/// A constant with every element mapped; unknown elements stay unknown.
template <typename F>
ValueId mapped(Builder& b, ValueId id, const char* suffix, F f) {
  const Value from = b.value(id);
  if (!from.fp32) return b.constant(from.name + suffix, from.shape);
  std::vector<float> elements = *from.fp32;
  for (float& x : elements) x = f(x);
  return b.constant(from.name + suffix, from.shape, std::move(elements));
}

/// A constant stands second, and a constant is added rather than subtracted: x - c is x + (-c).
ValueId combine(Context& c, const std::string& op, ValueId x, ValueId y) {
  Builder& b = c.b;
  if (b.value(x).constant == b.value(y).constant || b.value(x).type != DataType::fp32) {
    return b.add(op, {x, y});
  }
  const bool first = b.value(x).constant;
  if (first && commutes(op)) return b.add(op, {y, x});
  if (op == "Sub") {
    if (first) return b.add("Add", {b.add("Neg", {y}), x});
    return b.add("Add", {x, mapped(b, y, "/negative", [](float v) { return -v; })});
  }
  if (first && op == "Div") return b.add("Mul", {b.add("Reciprocal", {y}), x});
  return b.add(op, {x, y});
}

void binary(Context& c) {
  if (c.operands() != 2) c.fail("it has {} operands; it takes 2", c.operands());
  c.give(combine(c, c.raw.op, c.in(0), c.in(1)));
}

ValueId fold_all(Context& c, const std::string& op) {
  ValueId result = c.in(0);
  for (std::size_t i = 1; i < c.operands(); ++i) result = combine(c, op, result, c.in(i));
  return result;
}

void mean(Context& c) {
  const ValueId sum = fold_all(c, "Add");
  const auto count = static_cast<float>(c.operands());
  c.give(c.operands() == 1 ? sum : c.b.add("Div", {sum, c.b.scalar(count)}));
}

void power(Context& c) { c.give(c.b.add("Pow", {c.in(0), c.real(1)})); }

/// Bounds were attributes before operator set 11. Either is one of +-3.4e38 or absent for none.
void clip(Context& c) {
  constexpr float largest = std::numeric_limits<float>::max();
  const auto bound = [&](std::size_t i, const char* key, float none) {
    float value = none;
    if (c.opset < 11) {
      value = c.real(key, none);
    } else if (c.has(i) && c.is_constant(i)) {
      value = c.scalar_in(i);
    }
    return std::abs(value) >= largest ? no_value : c.b.scalar(value);
  };
  const auto runs = [&](std::size_t i) { return c.has(i) && !c.is_constant(i); };
  const ValueId low = bound(1, "min", -largest);
  const ValueId high = bound(2, "max", largest);
  ValueId result = c.in(0);
  if (runs(1)) result = c.b.add("Max", {result, c.in(1)});
  if (low != no_value || high != no_value) result = c.b.add("Clip", {result, low, high});
  if (runs(2)) result = c.b.add("Min", {result, c.in(2)});
  c.give(result);
}

/// The slope below zero: one number, or x+ + slope * x-.
void prelu(Context& c) {
  Builder& b = c.b;
  if (b.known(c.in(1)) && b.value(c.in(1)).elements() == 1) {
    return c.give(b.add("LeakyRelu", {c.in(0)}, {{"alpha", c.scalar_in(1)}}));
  }
  const ValueId negative = b.add("Min", {c.in(0), b.scalar(0.0F)});
  c.give(b.add("Add", {b.add("Relu", {c.in(0)}), b.add("Mul", {negative, c.in(1)})}));
}

void hard_sigmoid(Context& c) {
  c.give(c.b.add("HardSigmoid", {c.in(0)},
                 {{"alpha", c.real("alpha", 0.2F)}, {"beta", c.real("beta", 0.5F)}}));
}

/// factor * (max(x, 0) + min(alpha * (exp(x / sharpness) - 1), 0))
ValueId exponential_unit(Context& c, float factor, float alpha, float sharpness) {
  Builder& b = c.b;
  const ValueId x = c.in(0);
  const ValueId scaled = sharpness == 1.0F ? x : b.add("Mul", {x, b.scalar(1.0F / sharpness)});
  const ValueId unit = b.add("Elu", {scaled}, {{"alpha", alpha}});
  // Above zero an Elu is its operand, which was divided.
  const ValueId grown =
      sharpness == 1.0F ? unit
                        : b.add("Add", {b.add("Relu", {x}), b.add("Min", {unit, b.scalar(0.0F)})});
  return factor == 1.0F ? grown : b.add("Mul", {grown, b.scalar(factor)});
}

/// x where it is above `alpha`, else 0.
void thresholded_relu(Context& c) {
  Builder& b = c.b;
  const ValueId above = b.add("Less", {b.scalar(c.real("alpha", 1.0F)), c.in(0)});
  c.give(b.add("Where", {above, c.in(0), b.scalar(0.0F)}));
}

/// x + bias below -lambd, x - bias above lambd, else 0.
void shrink(Context& c) {
  Builder& b = c.b;
  const ValueId x = c.in(0);
  const float bias = c.real("bias", 0.0F);
  const float limit = c.real("lambd", 0.5F);
  const ValueId below = b.add("Less", {x, b.scalar(-limit)});
  const ValueId above = b.add("Less", {b.scalar(limit), x});
  const ValueId high = b.add("Where", {above, b.add("Add", {x, b.scalar(-bias)}), b.scalar(0.0F)});
  c.give(b.add("Where", {below, b.add("Add", {x, b.scalar(bias)}), high}));
}

/// gelu(x) = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) where that is asked for.
void gelu(Context& c) {
  Builder& b = c.b;
  const ValueId x = c.in(0);
  if (c.string("approximate", "none") == "none") return c.give(b.add("Gelu", {x}));
  const ValueId cube = b.add("Pow", {x, b.scalar(3.0F)});
  const ValueId inner = b.add("Add", {x, b.add("Mul", {cube, b.scalar(0.044715F)})});
  const ValueId tanh = b.add("Tanh", {b.add("Mul", {inner, b.scalar(0.7978845608F)})});
  const ValueId half = b.add("Mul", {x, b.scalar(0.5F)});
  c.give(b.add("Mul", {half, b.add("Add", {tanh, b.scalar(1.0F)})}));
}

/// x * tanh(softplus(x))
void mish(Context& c) {
  const ValueId gate = c.b.add("Tanh", {c.b.add("Softplus", {c.in(0)})});
  c.give(c.b.add("Mul", {c.in(0), gate}));
}

void alias(Context& c) { c.give(c.in(0)); }

void dropout(Context& c) {
  const bool trains = c.opset >= 12 && c.has(2) && (!c.b.known(c.in(2)) || c.scalar_in(2) != 0.0F);
  if (trains) c.fail("only inference is supported");
  c.give(c.in(0));
}

}  // namespace

void add_arithmetic(Conversions& table) {
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) table[op] = binary;
  for (const char* op : {"Max", "Min"}) {
    table[op] = [](Context& c) { c.give(fold_all(c, c.raw.op)); };
  }
  for (const char* op :
       {"Abs", "Ceil", "Cos", "Erf", "Exp", "Floor", "HardSwish", "Log", "Neg", "Reciprocal",
        "Relu", "Round", "Sigmoid", "Sign", "Sin", "Softplus", "Sqrt", "Tanh"}) {
    table[op] = [](Context& c) { c.give(c.b.add(c.raw.op, {c.in(0)})); };
  }
  table["Sum"] = [](Context& c) { c.give(fold_all(c, "Add")); };
  table["Mean"] = mean;
  table["Pow"] = power;
  table["Clip"] = clip;
  table["PRelu"] = prelu;
  table["LeakyRelu"] = [](Context& c) {
    c.give(c.b.add("LeakyRelu", {c.in(0)}, {{"alpha", c.real("alpha", 0.01F)}}));
  };
  table["Elu"] = [](Context& c) {
    c.give(c.b.add("Elu", {c.in(0)}, {{"alpha", c.real("alpha", 1.0F)}}));
  };
  table["HardSigmoid"] = hard_sigmoid;
  table["Selu"] = [](Context& c) {
    c.give(exponential_unit(c, c.real("gamma", 1.05070102F), c.real("alpha", 1.67326319F), 1.0F));
  };
  table["Celu"] = [](Context& c) {
    const float alpha = c.real("alpha", 1.0F);
    c.give(exponential_unit(c, 1.0F, alpha, alpha));
  };
  table["ThresholdedRelu"] = thresholded_relu;
  table["Shrink"] = shrink;
  table["Softsign"] = [](Context& c) {
    const ValueId size = c.b.add("Add", {c.b.add("Abs", {c.in(0)}), c.b.scalar(1.0F)});
    c.give(c.b.add("Div", {c.in(0), size}));
  };
  table["Tan"] = [](Context& c) {
    c.give(c.b.add("Div", {c.b.add("Sin", {c.in(0)}), c.b.add("Cos", {c.in(0)})}));
  };
  table["Gelu"] = gelu;
  table["com.microsoft::Gelu"] = gelu;
  table["Mish"] = mish;
  table["Identity"] = alias;
  table["Dropout"] = dropout;
}

}  // namespace steppe::graph
