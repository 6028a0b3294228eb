// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "workloads/graph/context.h"

/// Operators on shapes and other constants: nothing of them is left in the graph.
namespace steppe::graph {
namespace {

using Integers = std::vector<std::int64_t>;

std::string name_of(const Context& c) { return c.raw.name + ":0"; }

void constant(Context& c) {
  for (const auto& [key, attribute] : c.raw.attributes) {
    if (const auto* tensor = std::get_if<Value>(&attribute)) {
      Value value = *tensor;
      value.name = name_of(c);
      return c.give(c.b.constant(std::move(value)));
    }
    if (const auto* i = std::get_if<std::int64_t>(&attribute)) {
      return c.give(c.b.integers(name_of(c), {}, {*i}));
    }
    if (const auto* f = std::get_if<float>(&attribute)) {
      return c.give(c.b.constant(name_of(c), {}, {*f}));
    }
    if (const auto* ints = std::get_if<Integers>(&attribute)) {
      return c.give(c.b.integers(name_of(c), {static_cast<std::int64_t>(ints->size())}, *ints));
    }
    if (const auto* reals = std::get_if<std::vector<float>>(&attribute)) {
      return c.give(c.b.constant(name_of(c), {static_cast<std::int64_t>(reals->size())}, *reals));
    }
  }
  c.fail("it has no value of a supported kind");
}

std::size_t foldable(const Context& c, const Shape& shape) {
  const std::int64_t size = checked_elements(shape, c.raw.name);
  if (size > max_folded) c.fail("a constant of {} is too large", text(shape));
  return static_cast<std::size_t>(size);
}

void constant_of_shape(Context& c) {
  const Shape shape = c.integers_in(0);
  const std::size_t size = foldable(c, shape);
  if (!c.given("value")) {
    return c.give(c.b.constant(name_of(c), shape, std::vector<float>(size, 0.0F)));
  }
  const auto* value = std::get_if<Value>(&c.raw.attributes.at("value"));
  if (value == nullptr || value->elements() != 1) c.fail("its value is no tensor of one element");
  if (value->fp32) {
    c.give(c.b.constant(name_of(c), shape, std::vector<float>(size, value->fp32->front())));
  } else {
    c.give(c.b.integers(name_of(c), shape, Integers(size, value->int64->front())));
  }
}

void shape_of(Context& c) {
  const Shape shape = c.shape(0);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto bound = [&](const char* key, std::int64_t absent) {
    const std::int64_t at = c.integer(key, absent);
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t start = bound("start", 0);
  const std::int64_t end = std::max(start, bound("end", rank));
  Integers extents(shape.begin() + start, shape.begin() + end);
  const auto count = static_cast<std::int64_t>(extents.size());
  c.give(c.b.integers(name_of(c), {count}, std::move(extents)));
}

void size_of(Context& c) {
  c.give(c.b.integers(name_of(c), {}, {checked_elements(c.shape(0), c.raw.name)}));
}

void range(Context& c) {
  if (c.b.value(c.in(0)).type == DataType::fp32) {
    const float start = c.scalar_in(0);
    const float step = c.scalar_in(2);
    const double count = std::ceil((double{c.scalar_in(1)} - double{start}) / double{step});
    if (!(count <= static_cast<double>(max_folded))) c.fail("it is endless or too long");
    std::vector<float> values(count > 0 ? static_cast<std::size_t>(count) : 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = start + static_cast<float>(i) * step;
    }
    const auto size = static_cast<std::int64_t>(values.size());
    return c.give(c.b.constant(name_of(c), {size}, std::move(values)));
  }
  Integers bounds;
  for (std::size_t i = 0; i < 3; ++i) {
    if (c.integers_in(i).size() != 1) c.fail("operand {} is no scalar", i);
    bounds.push_back(c.integers_in(i).front());
    if (std::abs(static_cast<double>(bounds.back())) > static_cast<double>(max_elements)) {
      c.fail("a bound of {}", bounds.back());
    }
  }
  if (bounds[2] == 0) c.fail("a step of 0");
  Integers values;
  for (std::int64_t x = bounds[0]; bounds[2] > 0 ? x < bounds[1] : x > bounds[1]; x += bounds[2]) {
    values.push_back(x);
    if (static_cast<std::int64_t>(values.size()) > max_folded) c.fail("it is too long");
  }
  const auto size = static_cast<std::int64_t>(values.size());
  c.give(c.b.integers(name_of(c), {size}, std::move(values)));
}

std::int64_t truncated(float x) {
  if (!(std::abs(x) < 0x1p63F)) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(x);
}

/// Between real kinds nothing happens; between others only constants change.
void cast_to(Context& c, bool real, bool boolean) {
  const Value from = c.b.value(c.in(0));
  const bool was_real = from.type == DataType::fp32;
  if (real && was_real) return c.give(c.in(0));
  if (!c.b.known(c.in(0))) {
    c.fail("'{}' is cast between integers and real numbers when the model runs; only constants may",
           from.name);
  }
  if (real) return c.give(c.real(0));
  Integers values;
  if (was_real) {
    for (const float x : *from.fp32) values.push_back(boolean ? x != 0.0F : truncated(x));
  } else {
    values = *from.int64;
    if (boolean)
      std::transform(values.begin(), values.end(), values.begin(), [](auto x) { return x != 0; });
  }
  c.give(c.b.integers(name_of(c), from.shape, std::move(values)));
}

void cast(Context& c) {
  const std::int64_t to = c.integer("to", 1);  // numbers of onnx.TensorProto.DataType
  const bool real = to == 1 || to == 10 || to == 11 || to == 16;
  cast_to(c, real, to == 9);
}

void cast_like(Context& c) {
  const DataType to = c.b.value(c.in(1)).type;
  cast_to(c, to == DataType::fp32, to == DataType::boolean);
}

/// Constants of one shape, as binary64 (exact for all integers that shapes are made of).
struct Pair {
  Shape shape;
  std::vector<double> a, b;
};

std::vector<double> broadcast_constant(const Context& c, std::size_t i, const Shape& shape) {
  const Value& value = c.b.value(c.in(i));
  if (!c.b.known(c.in(i))) c.fail("operand '{}' must be a constant", value.name);
  const Shape steps = broadcast_steps(value.shape, shape);
  const Shape own = row_major_steps(shape);
  std::vector<double> result(foldable(c, shape));
  for (std::size_t k = 0; k < result.size(); ++k) {
    std::int64_t at = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      at += static_cast<std::int64_t>(k) / own[axis] % shape[axis] * steps[axis];
    }
    const auto index = static_cast<std::size_t>(at);
    result[k] =
        value.fp32 ? double{(*value.fp32)[index]} : static_cast<double>((*value.int64)[index]);
  }
  return result;
}

Pair pair_of(const Context& c, std::size_t first) {
  const std::optional<Shape> shape = broadcast_shape(c.shape(first), c.shape(first + 1));
  if (!shape) c.fail("{} and {} do not fit", text(c.shape(first)), text(c.shape(first + 1)));
  return {*shape, broadcast_constant(c, first, *shape), broadcast_constant(c, first + 1, *shape)};
}

template <typename F>
void compare(Context& c, F f) {
  const Pair pair = pair_of(c, 0);
  Integers values(pair.a.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = f(pair.a[i], pair.b[i]) ? 1 : 0;
  c.give(c.b.integers(name_of(c), pair.shape, std::move(values)));
}

void modulo(Context& c) {
  if (c.b.value(c.in(0)).type == DataType::fp32) c.fail("only integers are supported");
  Pair pair = pair_of(c, 0);
  const bool c_like = c.integer("fmod", 0) != 0;
  Integers values(pair.a.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto a = static_cast<std::int64_t>(pair.a[i]);
    const auto b = static_cast<std::int64_t>(pair.b[i]);
    if (b == 0) c.fail("division by zero");
    const std::int64_t rest = b == -1 ? 0 : a % b;
    values[i] = !c_like && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  c.give(c.b.integers(name_of(c), pair.shape, std::move(values)));
}

void invert(Context& c) {
  Integers values = c.integers_in(0);
  for (std::int64_t& x : values) x = x == 0 ? 1 : 0;
  const Shape shape = c.shape(0);
  c.give(c.b.integers(name_of(c), shape, std::move(values)));
}

/// All operands constant.
void where_constant(Context& c) {
  const Pair pair = pair_of(c, 1);
  const std::optional<Shape> shape = broadcast_shape(pair.shape, c.shape(0));
  if (!shape) c.fail("{} does not fit {}", text(c.shape(0)), text(pair.shape));
  const std::vector<double> condition = broadcast_constant(c, 0, *shape);
  const std::vector<double> a = broadcast_constant(c, 1, *shape);
  const std::vector<double> b = broadcast_constant(c, 2, *shape);
  std::vector<double> chosen(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) chosen[i] = condition[i] != 0.0 ? a[i] : b[i];
  if (c.b.value(c.in(1)).type == DataType::fp32) {
    c.give(c.b.constant(name_of(c), *shape, std::vector<float>(chosen.begin(), chosen.end())));
  } else {
    c.give(c.b.integers(name_of(c), *shape, Integers(chosen.begin(), chosen.end())));
  }
}

/// A constant condition between a constant and an array: x * keep + fill.
void where(Context& c) {
  if (!c.is_constant(0)) c.fail("the condition '{}' is no constant", c.b.value(c.in(0)).name);
  if (c.is_constant(1) && c.is_constant(2)) return where_constant(c);
  const std::size_t fixed = c.is_constant(1) ? 1 : 2;
  if (!c.is_constant(fixed)) c.fail("neither of its choices is a constant");
  const std::optional<Shape> shape = broadcast_shape(c.shape(0), c.shape(fixed));
  if (!shape) c.fail("{} and {} do not fit", text(c.shape(0)), text(c.shape(fixed)));
  const std::vector<double> condition = broadcast_constant(c, 0, *shape);
  const std::vector<double> filler = broadcast_constant(c, fixed, *shape);
  std::vector<float> keep(condition.size());
  std::vector<float> fill(condition.size());
  for (std::size_t i = 0; i < keep.size(); ++i) {
    const bool filled = (condition[i] != 0.0) == (fixed == 1);
    keep[i] = filled ? 0.0F : 1.0F;
    fill[i] = filled ? static_cast<float>(filler[i]) : 0.0F;
  }
  const ValueId kept = c.b.add(
      "Mul", {c.in(3 - fixed), c.b.constant(name_of(c) + "/keep", *shape, std::move(keep))});
  c.give(c.b.add("Add", {kept, c.b.constant(name_of(c) + "/fill", *shape, std::move(fill))}));
}

}  // namespace

void add_shape_operators(Conversions& table) {
  table["Constant"] = constant;
  table["ConstantOfShape"] = constant_of_shape;
  table["Shape"] = shape_of;
  table["Size"] = size_of;
  table["Range"] = range;
  table["Cast"] = cast;
  table["CastLike"] = cast_like;
  table["Mod"] = modulo;
  table["Not"] = invert;
  table["Where"] = where;
  table["Equal"] = [](Context& c) { compare(c, std::equal_to<>()); };
  table["Greater"] = [](Context& c) { compare(c, std::greater<>()); };
  table["GreaterOrEqual"] = [](Context& c) { compare(c, std::greater_equal<>()); };
  table["Less"] = [](Context& c) { compare(c, std::less<>()); };
  table["LessOrEqual"] = [](Context& c) { compare(c, std::less_equal<>()); };
  table["And"] = [](Context& c) {
    compare(c, [](double a, double b) { return a != 0.0 && b != 0.0; });
  };
  table["Or"] = [](Context& c) {
    compare(c, [](double a, double b) { return a != 0.0 || b != 0.0; });
  };
}

}  // namespace steppe::graph
