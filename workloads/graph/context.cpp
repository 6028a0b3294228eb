// SPDX-License-Identifier: Apache-2.0
#include "workloads/graph/context.h"

#include <algorithm>

#include "workloads/operators/tensor.h"

namespace steppe::graph {

ValueId Context::in(std::size_t i) const {
  if (!has(i)) fail("operand {} is missing", i);
  return inputs_[i];
}

const std::vector<std::int64_t>& Context::integers_in(std::size_t i) const {
  const Value& value = b.value(in(i));
  if (!value.int64) {
    fail("operand '{}' must be {} for the shapes to be fixed", value.name,
         value.constant ? "integers" : "a constant");
  }
  return *value.int64;
}

const std::vector<float>& Context::reals_in(std::size_t i) const {
  const Value& value = b.value(in(i));
  if (!value.fp32) fail("operand '{}' must be a constant of real numbers", value.name);
  return *value.fp32;
}

float Context::scalar_in(std::size_t i) const {
  const Value& value = b.value(in(i));
  if (!b.known(in(i)) || value.elements() != 1) {
    fail("operand '{}' must be a constant of one element", value.name);
  }
  return static_cast<float>(reals(tensor_of(value)).front());
}

ValueId Context::real(std::size_t i) const {
  const Value& value = b.value(in(i));
  if (!value.int64) return in(i);
  std::vector<float> elements(value.int64->begin(), value.int64->end());
  return b.constant(value.name + "/real", value.shape, std::move(elements));
}

std::int64_t Context::axis(std::int64_t axis, std::int64_t rank) const {
  if (axis < -rank || axis >= rank) fail("axis {} of an array of {} axes", axis, rank);
  return axis < 0 ? axis + rank : axis;
}

Shape Context::axes(const Shape& axes, std::int64_t rank) const {
  Shape result;
  for (const std::int64_t each : axes) result.push_back(axis(each, rank));
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) {
    fail("an axis is named twice in {}", text(axes));
  }
  return result;
}

const Conversions& conversions() {
  static const Conversions table = [] {
    Conversions t;
    add_arithmetic(t);
    add_products(t);
    add_recurrent(t);
    add_transposed(t);
    add_windows(t);
    add_reductions(t);
    add_norms(t);
    add_moves(t);
    add_resizing(t);
    add_shape_operators(t);
    add_logic(t);
    return t;
  }();
  return table;
}

}  // namespace steppe::graph
