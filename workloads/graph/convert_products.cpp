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

void conv(Context& c) {
  const Shape& weights = c.shape(1);
  if (weights.size() < 3 || weights.size() > 4 || c.shape(0).size() != weights.size()) {
    c.fail("input {} with weights {}; one and two spatial axes are supported", text(c.shape(0)),
           text(weights));
  }
  const Shape kernel = c.integers("kernel_shape", {weights.begin() + 2, weights.end()});
  Attributes window = window_attributes(c, kernel);
  window["group"] = c.integer("group", 1);
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
