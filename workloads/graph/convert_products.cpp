// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "workloads/graph/context.h"
#include "workloads/graph/window.h"

namespace steppe::graph {
namespace {

ValueId swap_last(Builder& b, ValueId x) {
  const std::size_t rank = b.shape(x).size();
  Shape perm(rank);
  for (std::size_t i = 0; i < rank; ++i) perm[i] = static_cast<std::int64_t>(i);
  std::swap(perm[rank - 1], perm[rank - 2]);
  return b.transpose(x, perm);
}

/// A constant matrix stands second: C x is (x^T C^T)^T.
ValueId product(Builder& b, ValueId x, ValueId y) {
  const bool turn = b.value(x).constant && !b.value(y).constant && b.shape(x).size() == 2;
  if (!turn) return b.add("MatMul", {x, y});
  return swap_last(b, b.add("MatMul", {swap_last(b, y), swap_last(b, x)}));
}

/// Vectors get an axis of extent 1 that the result loses again.
void matmul(Context& c) {
  Builder& b = c.b;
  ValueId x = c.in(0);
  ValueId y = c.in(1);
  const bool row = c.rank(0) == 1;
  const bool column = c.rank(1) == 1;
  if (row) x = b.reshape(x, {1, c.shape(0)[0]});
  if (column) y = b.reshape(y, {c.shape(1)[0], 1});
  const ValueId result = product(b, x, y);
  Shape shape = b.shape(result);
  if (column) shape.pop_back();
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  c.give(b.reshape(result, shape));
}

ValueId scaled(Builder& b, ValueId x, float factor) {
  return factor == 1.0F ? x : b.add("Mul", {x, b.scalar(factor)});
}

/// alpha * A' B' + beta * C; the factors go into constants where there are some.
void gemm(Context& c) {
  Builder& b = c.b;
  if (c.rank(0) != 2 || c.rank(1) != 2) c.fail("its operands must have two axes");
  ValueId x = c.integer("transA", 0) != 0 ? swap_last(b, c.in(0)) : c.in(0);
  ValueId y = c.integer("transB", 0) != 0 ? swap_last(b, c.in(1)) : c.in(1);
  const float alpha = c.real("alpha", 1.0F);
  if (b.value(y).constant) y = scaled(b, y, alpha);
  ValueId result = product(b, x, y);
  if (!b.value(y).constant) result = scaled(b, result, alpha);
  if (c.has(2)) result = b.add("Add", {result, scaled(b, c.in(2), c.real("beta", 1.0F))});
  c.give(result);
}

constexpr std::int64_t most_taps = 255;  ///< of a kernel, along an axis, on the card

/// A Conv whose kernel is longer along one axis: the sum of Convs with its parts.
ValueId long_conv(Context& c, std::size_t axis, const Shape& kernel, Attributes window) {
  Builder& b = c.b;
  const std::size_t axes = kernel.size();
  Shape pads = std::get<Shape>(window.at("pads"));
  Shape around(2 * (axes + 2), 0);
  std::copy(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(axes), around.begin() + 2);
  std::copy(pads.begin() + static_cast<std::ptrdiff_t>(axes), pads.end(),
            around.begin() + static_cast<std::ptrdiff_t>(axes) + 4);
  const bool padded = std::ranges::any_of(around, [](std::int64_t n) { return n != 0; });
  const ValueId x = padded ? b.add("Pad", {c.in(0)}, {{"pads", around}, {"value", 0.0F}}) : c.in(0);
  window["pads"] = Shape(2 * axes, 0);
  const std::int64_t stride = std::get<Shape>(window.at("strides"))[axis];
  const std::int64_t dilation = std::get<Shape>(window.at("dilations"))[axis];
  const auto along = static_cast<std::int64_t>(axis) + 2;
  const std::int64_t size = b.shape(x)[axis + 2];
  const std::int64_t room = size - ((kernel[axis] - 1) * dilation + 1);
  if (room < 0) c.fail("a window of {} on {}", kernel[axis], size);
  const std::int64_t reach = room / stride * stride;  // of the last window's first tap
  const std::int64_t parts = (kernel[axis] + most_taps - 1) / most_taps;
  ValueId sum = no_value;
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t begin = kernel[axis] * part / parts;
    const std::int64_t end = kernel[axis] * (part + 1) / parts;
    const std::int64_t first = begin * dilation;
    const std::int64_t last = reach + (end - 1) * dilation + 1;
    Shape taps = kernel;
    taps[axis] = end - begin;
    window["kernel_shape"] = taps;
    std::vector<ValueId> inputs{b.slice(x, along, first, last),
                                b.slice(c.in(1), along, begin, end)};
    if (part == 0 && c.has(2)) inputs.push_back(c.in(2));
    const ValueId product = b.add("Conv", inputs, window);
    sum = part == 0 ? product : b.add("Add", {sum, product});
  }
  return sum;
}

void conv(Context& c) {
  const Shape& weights = c.shape(1);
  if (weights.size() < 3 || weights.size() > 4 || c.shape(0).size() != weights.size()) {
    c.fail("input {} with weights {}; one and two spatial axes are supported", text(c.shape(0)),
           text(weights));
  }
  const Shape kernel = c.integers("kernel_shape", {weights.begin() + 2, weights.end()});
  Attributes window = window_attributes(c, kernel);
  window["group"] = c.integer("group", 1);
  for (std::size_t axis = 0; axis < kernel.size(); ++axis) {
    const bool other = kernel.size() == 2 && kernel[1 - axis] > most_taps;
    if (kernel[axis] > most_taps && !other) return c.give(long_conv(c, axis, kernel, window));
  }
  std::vector<ValueId> inputs{c.in(0), c.in(1)};
  if (c.has(2)) inputs.push_back(c.in(2));
  c.give(c.b.add("Conv", inputs, window));
}

/// At inference a factor and a sum for each channel; both are folded into a product in front later.
void batch_norm(Context& c) {
  Builder& b = c.b;
  if (c.integer("training_mode", 0) != 0 || c.integer("spatial", 1) == 0) {
    c.fail("only inference with one set of statistics for each channel is supported");
  }
  if (c.rank(0) < 2) c.fail("input {} has no channels", text(c.shape(0)));
  Shape shape{c.shape(0)[1]};
  for (std::size_t i = 1; i < 5; ++i) {
    if (c.shape(i) != shape) c.fail("operand {} is {}, not {}", i, text(c.shape(i)), text(shape));
  }
  const ValueId variance = b.add("Add", {c.in(4), b.scalar(c.real("epsilon", 1e-5F))});
  const ValueId factor = b.add("Div", {c.in(1), b.add("Sqrt", {variance})});
  const ValueId shift = b.add("Sub", {c.in(2), b.add("Mul", {c.in(3), factor})});
  shape.resize(c.shape(0).size() - 1, 1);
  const ValueId product = b.add("Mul", {c.in(0), b.reshape(factor, shape)});
  c.give(b.add("Add", {product, b.reshape(shift, shape)}));
}

}  // namespace

void add_products(Conversions& table) {
  table["MatMul"] = matmul;
  table["Gemm"] = gemm;
  table["Conv"] = conv;
  table["BatchNormalization"] = batch_norm;
}

}  // namespace steppe::graph
