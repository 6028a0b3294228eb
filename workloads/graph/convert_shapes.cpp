// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "workloads/graph/context.h"
#include "workloads/operators/tensor.h"

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
  const std::vector<double> element = reals(tensor_of(*value));
  if (is_real(value->type)) {
    const std::vector<double> all(size, element.front());
    return c.give(c.b.constant(value_of(make_tensor(value->type, shape, all), name_of(c))));
  }
  c.give(c.b.integers(name_of(c), shape, Integers(size, value->int64->front()), value->type));
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

/// A Cast to the operand's own type is none; the card computes in fp32 whatever real type it is.
void cast_to(Context& c, DataType to) {
  Builder& b = c.b;
  const DataType from = b.value(c.in(0)).type;
  if (from == to) return c.give(c.in(0));
  if (to == DataType::fp32) return c.give(b.add("Cast", {c.in(0)}, {{"to", std::int64_t{1}}}));
  if (to != DataType::boolean) c.fail("only the host changes {} into {}", text(from), text(to));
  c.give(b.add("Not", {b.add("Equal", {c.in(0), b.scalar(0.0F)})}));
}

void cast(Context& c) {
  DataType to = type_of_onnx(c.integer("to", 1), c.raw.name);
  if (c.widen && is_real(to)) to = DataType::fp32;
  if (c.widen && c.b.value(c.in(0)).constant && to == DataType::fp32 && c.b.known(c.in(0))) {
    return c.give(c.real(0));
  }
  cast_to(c, to);
}

}  // namespace

void add_shape_operators(Conversions& table) {
  table["Constant"] = constant;
  table["ConstantOfShape"] = constant_of_shape;
  table["Shape"] = shape_of;
  table["Size"] = size_of;
  table["Cast"] = cast;
  table["CastLike"] = [](Context& c) { cast_to(c, c.b.value(c.in(1)).type); };
}

}  // namespace steppe::graph
