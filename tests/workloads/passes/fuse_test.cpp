// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/fuse.h"

#include <doctest/doctest.h>

#include <cmath>

#include "builder.h"

using namespace steppe;
using namespace steppe::passes;
using graph::ValueId;
using test::Builder;
using Nodes = std::vector<std::size_t>;

namespace {

/// x * Clip(x + 3, 0, 6) / 6
ValueId hard_swish(Builder& b, ValueId x) {
  const test::Dims shape = b.graph.value(x).shape;
  const ValueId plus = b.node("Add", {x, b.scalar(3.0F)}, shape);
  const ValueId clip = b.node("Clip", {plus, b.scalar(0.0F), b.scalar(6.0F)}, shape);
  const ValueId product = b.node("Mul", {x, clip}, shape);
  return b.node("Div", {product, b.scalar(6.0F)}, shape);
}

}  // namespace

TEST_CASE("bias and Relu join the convolution") {
  Builder b;
  const ValueId x = b.input("x", {1, 2, 4, 4});
  const ValueId y = b.conv(x, 3, 3, 1);
  const ValueId bias = b.constant("b", {3, 1, 1});
  const ValueId sum = b.node("Add", {bias, y}, {1, 3, 4, 4});
  const ValueId out = b.node("Relu", {sum}, {1, 3, 4, 4});
  const auto steps = fuse(b.finish({out}));
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].kind == StepKind::conv);
  CHECK(steps[0].nodes == Nodes{0, 1, 2});
  CHECK(steps[0].biases == std::vector<ValueId>{bias});
  CHECK(steps[0].out == out);
  REQUIRE(steps[0].scale_clamp.has_value());
  CHECK(steps[0].scale_clamp->low == 0.0F);
  CHECK(std::isinf(steps[0].scale_clamp->high));
}

TEST_CASE("a sum that the user reads keeps its Relu apart") {
  Builder b;
  const ValueId x = b.input("x", {1, 2, 4, 4});
  const ValueId y = b.conv(x, 3, 3, 1);
  const ValueId out = b.node("Relu", {y}, {1, 3, 4, 4});
  const auto steps = fuse(b.finish({y, out}));
  REQUIRE(steps.size() == 2);
  CHECK(steps[1].kind == StepKind::function);
}

TEST_CASE("an added array that is no bias stays an operand") {
  Builder b;
  const ValueId x = b.input("x", {1, 2, 4, 4});
  const ValueId y = b.conv(x, 3, 3, 1);
  const ValueId grid = b.constant("grid", {1, 3, 4, 4});
  const auto steps = fuse(b.finish({b.node("Add", {y, grid}, {1, 3, 4, 4})}));
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].biases.empty());
  CHECK(steps[1].kind == StepKind::other);
}

TEST_CASE("hard swish written out becomes a table of the convolution") {
  Builder b;
  const ValueId x = b.input("x", {1, 2, 4, 4});
  const ValueId y = b.conv(x, 3, 1, 0);
  const auto steps = fuse(b.finish({hard_swish(b, y)}));
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].nodes == Nodes{0, 1, 2, 3, 4});
  REQUIRE(steps[0].function.has_value());
  CHECK_FALSE(steps[0].scale_clamp.has_value());
  // x = 1: 1 * 4 / 6; x = -4: 0; x = 5: 5
  CHECK(evaluate(b.graph, *steps[0].function, 1.0) == doctest::Approx(4.0 / 6.0));
  CHECK(evaluate(b.graph, *steps[0].function, -4.0) == 0.0);
  CHECK(evaluate(b.graph, *steps[0].function, 5.0) == 5.0);
}

TEST_CASE("a table whose operand is read elsewhere stands alone") {
  Builder b;
  const ValueId x = b.input("x", {1, 2, 4, 4});
  const ValueId y = b.conv(x, 2, 1, 0);
  const ValueId swish = hard_swish(b, y);
  const ValueId pool = b.node("GlobalAveragePool", {y}, {1, 2, 1, 1});
  const auto steps = fuse(b.finish({swish, pool}));
  REQUIRE(steps.size() == 3);
  CHECK(steps[0].nodes == Nodes{0});
  CHECK(steps[1].kind == StepKind::function);
  CHECK(steps[1].nodes == Nodes{1, 2, 3, 4});
  CHECK(steps[1].in == y);
}

TEST_CASE("the later convolution takes the residual and the Relu behind") {
  Builder b;
  const ValueId x = b.input("x", {1, 2, 4, 4});
  const ValueId main = b.conv(x, 3, 3, 1);
  const ValueId shortcut = b.conv(x, 3, 1, 0);
  const ValueId sum = b.node("Add", {main, shortcut}, {1, 3, 4, 4});
  const ValueId out = b.node("Relu", {sum}, {1, 3, 4, 4});
  const auto steps = fuse(b.finish({out}));
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].nodes == Nodes{0});
  CHECK(steps[1].nodes == Nodes{1, 2, 3});
  CHECK(steps[1].residual == main);
  CHECK(steps[1].scale_clamp->low == 0.0F);
}

TEST_CASE("Relu of a sum of two activations is a function of the sum") {
  Builder b;
  const ValueId x = b.input("x", {1, 8});
  const ValueId y = b.input("y", {1, 8});
  const ValueId sum = b.node("Add", {x, y}, {1, 8});
  const auto steps = fuse(b.finish({b.node("Relu", {sum}, {1, 8})}));
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].kind == StepKind::other);
  CHECK(steps[1].kind == StepKind::function);
  CHECK(steps[1].in == sum);
}

TEST_CASE("a factor behind a product of activations joins it, a table does not") {
  Builder b;
  const ValueId x = b.input("x", {2, 4, 8});
  const ValueId y = b.input("y", {2, 8, 4});
  const ValueId product = b.node("MatMul", {x, y}, {2, 4, 4});
  const ValueId scaled = b.node("Div", {product, b.scalar(4.0F)}, {2, 4, 4});
  const auto steps = fuse(b.finish({scaled}));
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].scale_clamp->scale == 0.25F);
  Builder c;
  const ValueId p = c.node("MatMul", {c.input("x", {2, 4, 8}), c.input("y", {2, 8, 4})}, {2, 4, 4});
  CHECK(fuse(c.finish({c.node("Sigmoid", {p}, {2, 4, 4})})).size() == 2);
}

TEST_CASE("bounds compose in order") {
  Builder b;
  const ValueId x = b.input("x", {4});
  const ValueId doubled = b.node("Mul", {b.scalar(2.0F), x}, {4});
  const ValueId clip = b.node("Clip", {doubled, b.scalar(-1.0F), b.scalar(6.0F)}, {4});
  const ValueId out = b.node("Min", {clip, b.scalar(5.0F)}, {4});
  const auto steps = fuse(b.finish({out}));
  REQUIRE(steps.size() == 1);
  const auto f = as_scale_clamp(b.graph, *steps[0].function);
  REQUIRE(f.has_value());
  CHECK(f->scale == 2.0F);
  CHECK(f->low == -1.0F);
  CHECK(f->high == 5.0F);
}

TEST_CASE("GELU written out") {
  Builder b;
  const ValueId x = b.input("x", {4});
  const ValueId d = b.node("Div", {x, b.scalar(std::sqrt(2.0F))}, {4});
  const ValueId e = b.node("Erf", {d}, {4});
  const ValueId one = b.node("Add", {e, b.scalar(1.0F)}, {4});
  const ValueId m = b.node("Mul", {x, one}, {4});
  const auto steps = fuse(b.finish({b.node("Mul", {m, b.scalar(0.5F)}, {4})}));
  REQUIRE(steps.size() == 1);
  CHECK(evaluate(b.graph, *steps[0].function, 1.0) == doctest::Approx(0.8413447));  // Phi(1)
}
