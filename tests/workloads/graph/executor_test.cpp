// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "models/base/error.h"
#include "workloads/graph/builder.h"
#include "workloads/graph/float_executor.h"

using namespace steppe;
using namespace steppe::graph;

namespace {

using Reals = std::vector<float>;

/// A graph of one node on one input.
struct Single {
  Builder b{"test"};
  ValueId x;

  explicit Single(Shape shape) : x(b.input("x", DataType::fp32, std::move(shape))) {
    b.set_scope("node");
  }
  Reals run(ValueId out, const Reals& in) {
    b.graph().outputs = {out};
    FloatExecutor executor(b.graph());
    executor.run({{"x", in}});
    return executor.value(out);
  }
};

Reals counting(std::size_t n) {
  Reals x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i + 1);
  return x;
}

Attributes window(Shape kernel, Shape strides, Shape pads, Shape dilations) {
  return {{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}, {"dilations", dilations}};
}

}  // namespace

TEST_CASE("a convolution worked out by hand") {
  Single s({1, 1, 3, 3});
  const ValueId w = s.b.constant("w", {1, 1, 2, 2}, {1, 2, 3, 4});
  const ValueId bias = s.b.constant("b", {1}, {0.5F});
  Attributes a = window({2, 2}, {1, 1}, {0, 0, 1, 1}, {1, 1});
  a["group"] = std::int64_t{1};
  // 1 2 3     top left: 1 + 2*2 + 3*4 + 4*5 = 37; right column: pads count as 0.
  // 4 5 6
  // 7 8 9
  CHECK(s.run(s.b.add("Conv", {s.x, w, bias}, a), counting(9)) ==
        Reals{37.5F, 47.5F, 21.5F, 67.5F, 77.5F, 33.5F, 23.5F, 26.5F, 9.5F});
}

TEST_CASE("convolutions of every kind equal the sum over the window") {
  std::mt19937 random(5);
  const auto pick = [&](int low, int high) {
    return std::int64_t{low} + static_cast<std::int64_t>(random() % (high - low + 1));
  };
  for (int round = 0; round < 60; ++round) {
    const std::int64_t group = round % 3 == 0 ? pick(2, 4) : 1;
    const std::int64_t icg = round % 6 == 0 ? 1 : pick(1, 3);
    const std::int64_t ocg = round % 6 == 0 ? 1 : pick(1, 3);
    const std::int64_t n = pick(1, 2), h = pick(5, 9), w = pick(5, 9);
    const Shape k{pick(1, 3), pick(1, 3)}, st{pick(1, 2), pick(1, 3)}, d{pick(1, 2), pick(1, 2)};
    const Shape p{pick(0, 2), pick(0, 2), pick(0, 2), pick(0, 2)};
    Single s({n, group * icg, h, w});
    Reals weights(static_cast<std::size_t>(group * ocg * icg * k[0] * k[1]));
    for (float& v : weights) v = static_cast<float>(pick(-4, 4));
    Attributes a = window(k, st, p, d);
    a["group"] = group;
    const ValueId y =
        s.b.add("Conv", {s.x, s.b.constant("w", {group * ocg, icg, k[0], k[1]}, weights)}, a);
    Reals x(static_cast<std::size_t>(n * group * icg * h * w));
    for (float& v : x) v = static_cast<float>(pick(-9, 9));
    const Reals result = s.run(y, x);
    const Shape out = s.b.shape(y);
    std::size_t at = 0;
    for (std::int64_t i = 0; i < n * group * ocg; ++i) {
      const std::int64_t image = i / (group * ocg), oc = i % (group * ocg);
      for (std::int64_t oy = 0; oy < out[2]; ++oy) {
        for (std::int64_t ox = 0; ox < out[3]; ++ox) {
          float sum = 0.0F;  // of integers: exact in any order
          for (std::int64_t c = 0; c < icg; ++c) {
            for (std::int64_t ky = 0; ky < k[0]; ++ky) {
              for (std::int64_t kx = 0; kx < k[1]; ++kx) {
                const std::int64_t iy = oy * st[0] - p[0] + ky * d[0];
                const std::int64_t ix = ox * st[1] - p[1] + kx * d[1];
                if (iy < 0 || iy >= h || ix < 0 || ix >= w) continue;
                const std::int64_t ic = oc / ocg * icg + c;
                sum += x[static_cast<std::size_t>(((image * group * icg + ic) * h + iy) * w + ix)] *
                       weights[static_cast<std::size_t>(((oc * icg + c) * k[0] + ky) * k[1] + kx)];
              }
            }
          }
          REQUIRE(result[at++] == sum);
        }
      }
    }
  }
}

TEST_CASE("pools worked out by hand") {
  Single s({1, 1, 2, 3});
  Attributes a = window({2, 2}, {1, 2}, {1, 0, 0, 1}, {1, 1});
  // 1 2 3    rows above are pads: [1 2] [3 .]
  // 4 5 6    then [1 2 4 5] [3 . 6 .]
  CHECK(s.run(s.b.add("MaxPool", {s.x}, a), counting(6)) == Reals{2, 3, 5, 6});
  a["count_include_pad"] = std::int64_t{0};
  CHECK(s.run(s.b.add("AveragePool", {s.x}, a), counting(6)) == Reals{1.5F, 3, 3, 4.5F});
  a["count_include_pad"] = std::int64_t{1};
  CHECK(s.run(s.b.add("AveragePool", {s.x}, a), counting(6)) == Reals{0.75F, 0.75F, 3, 2.25F});
  CHECK(s.run(s.b.add("GlobalAveragePool", {s.x}), counting(6)) == Reals{3.5F});
}

TEST_CASE("products of matrices broadcast their leading axes") {
  Single s({2, 1, 1, 2});
  const ValueId w = s.b.constant("w", {3, 2, 1}, {1, 0, 0, 1, 1, 1});
  // rows (1, 2) and (3, 4) by columns (1, 0), (0, 1), (1, 1)
  const ValueId y = s.b.add("MatMul", {s.x, w});
  CHECK(s.b.shape(y) == Shape{2, 3, 1, 1});
  CHECK(s.run(y, counting(4)) == Reals{1, 2, 3, 3, 4, 7});
}

TEST_CASE("means and softmax along an inner axis") {
  Single s({2, 2, 2});
  const ValueId mean =
      s.b.add("ReduceMean", {s.x}, {{"axes", Shape{0, 2}}, {"keepdims", std::int64_t{0}}});
  CHECK(s.run(mean, counting(8)) == Reals{3.5F, 5.5F});  // (1 + 2 + 5 + 6) / 4, (3 + 4 + 7 + 8) / 4
  const ValueId soft = s.b.add("Softmax", {s.x}, {{"axis", std::int64_t{1}}});
  const Reals y = s.run(soft, {0, 0, std::log(3.0F), 0, 100, 0, 100, -200});
  CHECK(y[0] == doctest::Approx(0.25));
  CHECK(y[2] == doctest::Approx(0.75));
  CHECK(y[4] == doctest::Approx(0.5));
  CHECK(y[7] == doctest::Approx(0.0));
}

TEST_CASE("movements") {
  Single s({2, 3});
  CHECK(s.run(s.b.transpose(s.x, {1, 0}), counting(6)) == Reals{1, 4, 2, 5, 3, 6});
  CHECK(s.run(s.b.slice(s.x, 1, 1, 3), counting(6)) == Reals{2, 3, 5, 6});
  const Attributes falling{
      {"axes", Shape{1}}, {"starts", Shape{2}}, {"ends", Shape{-1}}, {"steps", Shape{-2}}};
  CHECK(s.run(s.b.add("Slice", {s.x}, falling), counting(6)) == Reals{3, 1, 6, 4});
  const ValueId twice = s.b.add("Concat", {s.x, s.x}, {{"axis", std::int64_t{1}}});
  CHECK(s.run(twice, counting(6)) == Reals{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  const ValueId padded = s.b.add("Pad", {s.x}, {{"pads", Shape{0, 1, 0, 0}}, {"value", 9.0F}});
  CHECK(s.run(padded, counting(6)) == Reals{9, 1, 2, 3, 9, 4, 5, 6});
  const ValueId rows = s.b.integers("rows", {2}, {1, -2});
  CHECK(s.run(s.b.add("Gather", {s.x, rows}, {{"axis", std::int64_t{0}}}), counting(6)) ==
        Reals{4, 5, 6, 1, 2, 3});
  const ValueId apart = s.b.reshape(s.x, {2, 3, 1});
  CHECK(s.run(s.b.add("Expand", {apart}, {}, {2, 3, 2}), counting(6)) ==
        Reals{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6});
}

TEST_CASE("functions at points that are known") {
  const std::map<std::string, std::pair<float, float>> points{{"Abs", {-2, 2}},
                                                              {"Ceil", {1.2F, 2}},
                                                              {"Erf", {0.5F, 0.5204999F}},
                                                              {"Exp", {1, 2.7182818F}},
                                                              {"Floor", {-1.2F, -2}},
                                                              {"Gelu", {1, 0.8413447F}},
                                                              {"HardSwish", {1, 2.0F / 3}},
                                                              {"Log", {2, 0.6931472F}},
                                                              {"Neg", {2, -2}},
                                                              {"Reciprocal", {4, 0.25F}},
                                                              {"Relu", {-1, 0}},
                                                              {"Sigmoid", {1, 0.7310586F}},
                                                              {"Softplus", {0, 0.6931472F}},
                                                              {"Sqrt", {9, 3}},
                                                              {"Tanh", {1, 0.7615942F}}};
  for (const auto& [op, point] : points) {
    Single s({1});
    CHECK_MESSAGE(s.run(s.b.add(op, {s.x}), {point.first})[0] == doctest::Approx(point.second), op);
  }
  Single s({2});
  CHECK(s.run(s.b.add("LeakyRelu", {s.x}, {{"alpha", 0.5F}}), {-2, 2}) == Reals{-1, 2});
  CHECK(s.run(s.b.add("HardSigmoid", {s.x}, {{"alpha", 0.25F}, {"beta", 0.5F}}), {1, 9}) ==
        Reals{0.75F, 1});
  CHECK(s.run(s.b.add("Elu", {s.x}, {{"alpha", 2.0F}}), {-1, 3})[0] ==
        doctest::Approx(2 * (std::exp(-1.0) - 1)));
  CHECK(s.run(s.b.add("Pow", {s.x, s.b.scalar(3)}), {2, -3}) == Reals{8, -27});
}

TEST_CASE("operations on constants leave constants") {
  Builder b("test");
  b.set_scope("sum");
  const ValueId sum =
      b.add("Add", {b.constant("a", {2, 1}, {1, 2}), b.constant("c", {2}, {10, 20})});
  CHECK(b.value(sum).constant);
  CHECK(*b.value(sum).fp32 == Reals{11, 21, 12, 22});
  CHECK(b.graph().nodes.empty());
  const ValueId sizes = b.add("Transpose", {b.constant("s", {2, 3})}, {{"perm", Shape{1, 0}}});
  CHECK(b.value(sizes).constant);
  CHECK(b.shape(sizes) == Shape{3, 2});
  CHECK_FALSE(b.known(sizes));
  const ValueId two = b.integers("two", {1}, {2});
  CHECK(*b.value(b.add("Mul", {two, two})).int64 == std::vector<std::int64_t>{4});
  const ValueId zero = b.integers("zero", {1}, {0});
  CHECK_THROWS_WITH_AS(b.add("Div", {two, zero}), doctest::Contains("division by zero"),
                       ModelError);
  CHECK_THROWS_WITH_AS(b.add("Add", {two, b.scalar(1)}), doctest::Contains("element type"),
                       ModelError);
}

TEST_CASE("a cache keeps what was stored") {
  Single s({1, 2});
  const ValueId cache = s.b.state("cache", {3, 2});
  const ValueId stored = s.b.add("CacheStore", {s.x, cache},
                                 {{"axis", std::int64_t{0}}, {"position", std::int64_t{1}}});
  s.b.graph().outputs = {stored};
  FloatExecutor executor(s.b.graph());
  executor.run({{"x", {1, 2}}});
  CHECK(executor.value(stored) == Reals{0, 0, 1, 2, 0, 0});
  executor.set_state(cache, {5, 5, 5, 5, 5, 5});
  executor.run({{"x", {3, 4}}});
  CHECK(executor.value(cache) == Reals{5, 5, 3, 4, 5, 5});
  executor.clear_states();
  CHECK(executor.value(cache) == Reals(6, 0.0F));
}

TEST_CASE("inputs that do not fit, constants without elements") {
  Single s({2});
  const ValueId y = s.b.add("Relu", {s.x});
  s.b.graph().outputs = {y};
  FloatExecutor executor(s.b.graph());
  CHECK_THROWS_WITH_AS(executor.run({}), doctest::Contains("'x'"), ModelError);
  CHECK_THROWS_WITH_AS(executor.run({{"x", {1}}}), doctest::Contains("[2] gets 1"), ModelError);
  CHECK_THROWS_WITH_AS(executor.run({{"x", {1, 2}}, {"z", {}}}), doctest::Contains("'z'"),
                       ModelError);
  Single sizes({2});
  sizes.b.graph().outputs = {sizes.b.add("Add", {sizes.x, sizes.b.constant("c", {2})})};
  CHECK_THROWS_WITH_AS(FloatExecutor{sizes.b.graph()}, doctest::Contains("'c' has no elements"),
                       ModelError);
}

TEST_CASE("a graph that breaks its promises is refused") {
  Single s({2});
  s.b.graph().outputs = {s.b.add("Relu", {s.x})};
  Graph graph = s.b.graph();
  graph.values[graph.nodes[0].outputs[0]].shape = {3};
  CHECK_THROWS_WITH_AS(check(graph), doctest::Contains("is [2] of fp32 but declared [3]"),
                       ModelError);
  graph = s.b.graph();
  graph.nodes[0].op = "Sofmax";
  CHECK_THROWS_WITH_AS(check(graph), doctest::Contains("did you mean Softmax"), ModelError);
  graph = s.b.graph();
  graph.nodes[0].inputs[0] = graph.nodes[0].outputs[0];
  CHECK_THROWS_WITH_AS(check(graph), doctest::Contains("not there yet"), ModelError);
  CHECK_THROWS_WITH_AS(static_cast<void>(graph.nodes[0].integer("axis")),
                       doctest::Contains("'axis' is missing"), ModelError);
}
