// SPDX-License-Identifier: Apache-2.0
//
// Layers of bf16, fp32 and int32 tensors, each expectation by hand from models/numerics/README.md.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "models/base/error.h"
#include "tests/workloads/reference/one_layer.h"

using namespace steppe;
using namespace steppe::test;
using net::Type;

namespace {

constexpr net::Shape pixel(std::uint32_t channels) { return {1, 1, 1, channels}; }
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

using Floats = std::vector<float>;

/// A net of one layer from one tensor to another; `set` fills in the layer.
template <typename Op>
reference::Values run(Op op, Type in, net::Shape in_shape, Type out, net::Shape out_shape,
                      const reference::Values& values) {
  net::Net network{.name = "one"};
  network.tensors = {{.name = "in", .shape = in_shape, .type = in},
                     {.name = "out", .shape = out_shape, .type = out}};
  const auto port = [&](const char* name, net::TensorId id, const net::Shape& s) {
    return net::Port{
        .name = name, .tensor = id, .dims = {s.n, s.h, s.w, s.c}, .to_card = {0, 1, 2, 3}};
  };
  network.inputs = {port("in", 0, in_shape)};
  network.outputs = {port("out", 1, out_shape)};
  network.layers = {{.name = "layer", .nodes = {}, .op = std::move(op)}};
  net::check(network);
  return reference::Executor(network).run_on_card({values}).at(0);
}

Floats map(vector_functions::Function function, const Floats& values, Type out = Type::fp32,
           net::Clamp clamp = {}) {
  const auto count = static_cast<std::uint32_t>(values.size());
  net::Map op{.function = function,
              .operands = {{.tensor = 0, .constant = {}, .shape = pixel(count)}},
              .out = 1,
              .clamp = clamp};
  return run(op, Type::fp32, pixel(count), out, pixel(count), {.real = values}).real;
}

Floats reduced(net::Reduction function, const Floats& values) {
  const auto count = static_cast<std::uint32_t>(values.size());
  return run(net::Reduce{function, 0, 1}, Type::fp32, pixel(count), Type::fp32, pixel(1),
             {.real = values})
      .real;
}

}  // namespace

TEST_CASE("a bf16 sum is rounded to fp32 after each product") {
  // 2^24 + 1 is no fp32: 16777216 + 1 stays, twice. Then - 2^24 leaves 0, not 2.
  net::Conv conv;
  conv.in = 0;
  conv.out = 1;
  conv.weights = {4, nullptr, std::make_shared<const Floats>(Floats{4096, 1, 1, -4096})};
  conv.bias_fp32 = constant<float>({0.5F});
  conv.multiplier = constant<float>({2.0F});
  const reference::Values in{.real = {4096, 1, 1, 4096}};
  // 0.5 + 2^24 = 2^24 (half an ulp of 1: tie to even); + 1 = tie to even again; so 0 in the end.
  CHECK(run(conv, Type::bf16, pixel(4), Type::fp32, pixel(1), in).real == Floats{0});
  conv.weights = {4, nullptr, std::make_shared<const Floats>(Floats{4096, 1, 0, -4096})};
  // From 0.5 and 1 alone: (0.5 + 1 * 3) * 2 = 7; a weight of 0 leaves NaN out.
  CHECK(run(conv, Type::bf16, pixel(4), Type::fp32, pixel(1), {.real = {0, 3, not_a_number, 0}})
            .real == Floats{7});
}

TEST_CASE("a bf16 result is bounded and rounded to even") {
  net::Conv conv;
  conv.in = 0;
  conv.out = 1;
  conv.weights = {3, nullptr, std::make_shared<const Floats>(Floats{1, 1, 1})};
  conv.bias_fp32 = constant<float>({0, 0, 0});
  conv.multiplier = constant<float>({1.00390625F, 1.01171875F, 4});  // 1 + 2^-8, 1 + 3 * 2^-8
  conv.clamp.highest = 3;
  // bf16 has steps of 2^-7 from 1 on: ties go to 1 and 1 + 2^-6; 4 is bounded.
  CHECK(run(conv, Type::bf16, pixel(1), Type::bf16, pixel(3), {.real = {1}}).real ==
        Floats{1, 1.015625F, 3});
}

TEST_CASE("map bounds fp32 and keeps NaN") {
  net::Clamp relu;
  relu.lowest = 0;
  const Floats result =
      map(vector_functions::copy_, {-2, 3, not_a_number, infinity}, Type::fp32, relu);
  CHECK(result[0] == 0);
  CHECK(result[1] == 3);
  CHECK(std::isnan(result[2]));
  CHECK(result[3] == infinity);
}

TEST_CASE("map converts between types") {
  net::Map copy{.operands = {{.tensor = 0, .constant = {}, .shape = pixel(3)}}, .out = 1};
  CHECK(run(copy, Type::int8, pixel(3), Type::fp32, pixel(3), {.int8 = {-128, 0, 127}}).real ==
        Floats{-128, 0, 127});
  CHECK(
      run(copy, Type::fp32, pixel(3), Type::int32, pixel(3), {.real = {2.5F, not_a_number, 3e10F}})
          .int32 == std::vector<std::int32_t>{2, -2147483647 - 1, 2147483647});
  CHECK(run(copy, Type::fp32, pixel(3), Type::int8, pixel(3), {.real = {0.5F, -1.5F, 300}}).int8 ==
        Int8s{0, -2, 127});
}

TEST_CASE("functions of map") {
  using namespace vector_functions;
  CHECK(map(abs_, {-2, 3}) == Floats{2, 3});
  CHECK(map(round_, {0.5F, 1.5F, -2.5F}) == Floats{0, 2, -2});
  CHECK(map(sign_, {-7, 0, 3}) == Floats{-1, 0, 1});
  CHECK(map(reciprocal_, {4, -0.5F}) == Floats{0.25F, -2});
  CHECK(map(exp_, {0, -infinity}) == Floats{1, 0});
  CHECK(map(not_, {0, 2}) == Floats{1, 0});
  CHECK(map(gelu_, {0, -infinity, infinity}) == Floats{0, 0, infinity});
  // erf(1) = 0.8427007929..., nearest fp32 0x3f57bb3e (tables of erf).
  CHECK(map(erf_, {1})[0] == 0.84270079F);
}

TEST_CASE("reductions of the channels") {
  using enum net::Reduction;
  const Floats x{3, -4, 2, -4};
  CHECK(reduced(sum, x) == Floats{-3});
  CHECK(reduced(mean, x) == Floats{-0.75F});
  CHECK(reduced(max, x) == Floats{3});
  CHECK(reduced(min, x) == Floats{-4});
  CHECK(reduced(product, x) == Floats{96});
  CHECK(reduced(squares, x) == Floats{45});
  CHECK(reduced(norm, {3, -4}) == Floats{5});
  const net::Reduce least{argmin, 0, 1};
  CHECK(run(least, Type::fp32, pixel(4), Type::int32, pixel(1), {.real = x}).int32 ==
        std::vector<std::int32_t>{1});  // the first of equals
  // int8, scale 1: the sum is exact, stored with saturation.
  const net::Reduce all{sum, 0, 1};
  CHECK(run(all, Type::int8, pixel(3), Type::int8, pixel(1), {.int8 = {100, 100, -50}}).int8 ==
        Int8s{127});
}

TEST_CASE("resize takes the nearest or interpolates") {
  net::Resize resize{.in = 0, .out = 1, .step_h = 1, .step_w = 0.5F};
  const reference::Values in{.real = {0, 4}};
  const auto resized = [&](bool half_pixel, bool linear) {
    resize.half_pixel = half_pixel;
    resize.linear = linear;
    return run(resize, Type::fp32, {1, 1, 2, 1}, Type::fp32, {1, 1, 4, 1}, in).real;
  };
  // Coordinates 0, 0.5, 1, 1.5: beyond the last pixel there is the last.
  CHECK(resized(false, true) == Floats{0, 2, 4, 4});
  CHECK(resized(false, false) == Floats{0, 0, 4, 4});  // half down: 0.5 -> 0, 1.5 -> 1
  // Coordinates -0.25, 0.25, 0.75, 1.25.
  CHECK(resized(true, true) == Floats{0, 1, 3, 4});
}

TEST_CASE("softmax and its logarithm of fp32") {
  net::Softmax softmax{.in = 0, .out = 1};
  const reference::Values in{.real = {5, 5}};
  CHECK(run(softmax, Type::fp32, pixel(2), Type::fp32, pixel(2), in).real == Floats{0.5F, 0.5F});
  softmax.log = true;
  // -ln 2 = -0.693147180...
  CHECK(run(softmax, Type::fp32, pixel(2), Type::fp32, pixel(2), in).real ==
        Floats{-0.69314718F, -0.69314718F});
}

TEST_CASE("layer norm of fp32") {
  net::LayerNorm norm{.in = 0, .out = 1};
  norm.gain = constant<float>({2, 2});
  norm.shift = constant<float>({1, 1});
  norm.epsilon = 0;
  // Mean 3, variance 4: (1 - 3) / 2 = -1, (5 - 3) / 2 = 1; times 2, plus 1.
  CHECK(run(norm, Type::fp32, pixel(2), Type::fp32, pixel(2), {.real = {1, 5}}).real ==
        Floats{-1, 3});
}

TEST_CASE("pools of fp32") {
  net::Pool pool{.in = 0, .out = 1, .kernel_w = 2};
  const reference::Values in{.real = {1, not_a_number, -3}};
  const Floats largest = run(pool, Type::fp32, {1, 1, 3, 1}, Type::fp32, {1, 1, 2, 1}, in).real;
  CHECK(largest == Floats{1, -3});  // NaN is left out
  pool.average = true;
  const Floats mean =
      run(pool, Type::fp32, {1, 1, 3, 1}, Type::fp32, {1, 1, 2, 1}, {.real = {1, 2, -3}}).real;
  CHECK(mean == Floats{1.5F, -0.5F});
}

TEST_CASE("types that a layer does not take are refused") {
  const auto refused = [](auto op, Type in, Type out) {
    CHECK_THROWS_AS(run(op, in, pixel(2), out, pixel(2), {.real = {1, 2}}), ModelError);
  };
  net::Map copy{.operands = {{.tensor = 0, .constant = {}, .shape = pixel(2)}}, .out = 1};
  net::Lut lut{.in = 0, .out = 1, .table = constant(Int8s(256))};
  refused(lut, Type::fp32, Type::int8);
  refused(net::Softmax{.in = 0, .out = 1}, Type::fp32, Type::int32);
  refused(net::Pool{.in = 0, .out = 1}, Type::bf16, Type::fp32);
  refused(net::Resize{.in = 0, .out = 1}, Type::int32, Type::int32);
  net::Conv conv{.in = 0, .out = 1};
  conv.weights = {4, nullptr, std::make_shared<const Floats>(4, 1.0F)};
  conv.bias_fp32 = constant<float>({0, 0});
  conv.multiplier = constant<float>({1, 1});
  refused(conv, Type::fp32, Type::fp32);
  conv.clamp.lowest = 0;
  refused(conv, Type::bf16, Type::fp32);  // an fp32 result is not bounded
}
