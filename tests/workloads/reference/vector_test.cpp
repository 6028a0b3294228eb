// SPDX-License-Identifier: Apache-2.0
//
// The layers of the vector unit, each expectation by hand from models/numerics/README.md.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/workloads/reference/one_layer.h"

using namespace steppe;
using namespace steppe::test;
using vector_functions::Function;

namespace {

constexpr net::Shape pixel(std::uint32_t channels) { return {1, 1, 1, channels}; }

/// a: scale 0.5, zero 1; b: scale 0.25, zero -1; result: scale 0.125, zero 2.
Int8s arithmetic(Function function, const Int8s& a, const Int8s& b, net::Clamp clamp = {}) {
  OneLayer net;
  net::Map layer;
  layer.function = function;
  const auto count = static_cast<std::uint32_t>(a.size());
  layer.operands = {{.tensor = net.input(pixel(count), {0.5F, 1}), .shape = pixel(count)},
                    {.tensor = net.input(pixel(count), {0.25F, -1}), .shape = pixel(count)}};
  layer.out = net.output(pixel(count), {0.125F, 2});
  layer.clamp = clamp;
  return net.run(layer, {a, b});
}

Int8s pool(net::Pool layer, net::Shape in, net::Quant in_quant, net::Shape out,
           net::Quant out_quant, const Int8s& values) {
  OneLayer net;
  layer.in = net.input(in, in_quant);
  layer.out = net.output(out, out_quant);
  return net.run(layer, {values});
}

Int8s softmax(const Int8s& values, float in_scale, net::Quant out) {
  OneLayer net;
  net::Softmax layer;
  const auto count = static_cast<std::uint32_t>(values.size());
  layer.in = net.input(pixel(count), {in_scale, 0});
  layer.out = net.output(pixel(count), out);
  return net.run(layer, {values});
}

}  // namespace

TEST_CASE("arithmetic of two tensors") {
  // a = 3: (3 - 1) * 0.5 = 1. b = 5: (5 + 1) * 0.25 = 1.5. Results times 8, plus 2.
  CHECK(arithmetic(vector_functions::add_, {3}, {5}) == Int8s{22});  //  2.5 * 8 = 20
  CHECK(arithmetic(vector_functions::sub_, {3}, {5}) == Int8s{-2});  // -0.5 * 8 = -4
  CHECK(arithmetic(vector_functions::mul_, {3}, {5}) == Int8s{14});  //  1.5 * 8 = 12
  CHECK(arithmetic(vector_functions::div_, {3}, {5}) == Int8s{7});   //  0.6667 * 8 = 5.33 -> 5
  CHECK(arithmetic(vector_functions::max_, {3}, {5}) == Int8s{14});  //  1.5 * 8
  CHECK(arithmetic(vector_functions::min_, {3}, {5}) == Int8s{10});  //  1 * 8
}

TEST_CASE("arithmetic saturates, at bounds of its own if given") {
  // a = 127: 63, b = 127: 32; 95 * 8 is beyond int8.
  CHECK(arithmetic(vector_functions::add_, {127}, {127}) == Int8s{127});
  CHECK(arithmetic(vector_functions::add_, {-128}, {-128}) == Int8s{-128});
  CHECK(arithmetic(vector_functions::add_, {3, 1}, {5, -9}, {.low = 2, .high = 20}) ==
        Int8s{20, 2});
}

TEST_CASE("division by zero gives the bounds, zero by zero the lower one") {
  // a - 1 = 2, -2, 0 over b + 1 = 0: +inf, -inf, NaN.
  CHECK(arithmetic(vector_functions::div_, {3, -1, 1}, {-1, -1, -1}) == Int8s{127, -128, -128});
}

TEST_CASE("the second operand repeats along leading extents") {
  const net::Shape shape{2, 2, 1, 2};
  const Int8s a{0, 1, 2, 3, 4, 5, 6, 7};
  const auto run = [&](net::Shape b_shape, const Int8s& b) {
    OneLayer net;
    net::Map layer;
    layer.function = vector_functions::add_;
    layer.operands = {{.tensor = net.input(shape), .shape = shape},
                      {.tensor = net.input(b_shape), .shape = b_shape}};
    layer.out = net.output(shape);
    return net.run(layer, {a, b});
  };
  CHECK(run({1, 1, 1, 2}, {10, 20}) == Int8s{10, 21, 12, 23, 14, 25, 16, 27});
  CHECK(run({1, 2, 1, 2}, {10, 20, 30, 40}) == Int8s{10, 21, 32, 43, 14, 25, 36, 47});
  CHECK(run({2, 1, 1, 2}, {10, 20, 30, 40}) == Int8s{10, 21, 12, 23, 34, 45, 36, 47});
  CHECK(run({1, 1, 1, 1}, {10}) == Int8s{10, 11, 12, 13, 14, 15, 16, 17});
}

TEST_CASE("an fp32 operand is taken as it is") {
  OneLayer net;
  net::Map layer;
  layer.function = vector_functions::mul_;
  layer.operands = {{.tensor = net.input(pixel(3), {0.5F, 1}), .shape = pixel(3)},
                    {.constant = constant<float>({0.1F, -2, 100}), .shape = pixel(3)}};
  layer.out = net.output(pixel(3), {0.05F, 0});
  // (5 - 1) * 0.5 = 2: 0.2 * 20 = 4; -4 * 20 = -80; 200 * 20 saturates.
  CHECK(net.run(layer, {{5, 5, 5}}) == Int8s{4, -80, 127});
}

TEST_CASE("a table replaces each byte") {
  OneLayer net;
  net::Lut layer;
  layer.in = net.input(pixel(4));
  layer.out = net.output(pixel(4));
  Int8s table(256);
  for (int q = -128; q < 128; ++q) {
    table[static_cast<std::size_t>(q + 128)] = static_cast<std::int8_t>(-1 - q);
  }
  layer.table = constant(table);
  CHECK(net.run(layer, {{-128, -1, 0, 127}}) == Int8s{127, 0, -1, -128});
}

TEST_CASE("maximum of what lies inside the input") {
  // 2x3 pixels; windows 2x2 at stride 1 with one row of padding above and one column to the left,
  // output 3x4: the corners see one pixel each.
  //    1  5 -3
  //   -7  2  4
  net::Pool layer{.kernel_h = 2, .kernel_w = 2, .pad_top = 1, .pad_left = 1};
  CHECK(pool(layer, {1, 2, 3, 1}, {}, {1, 3, 4, 1}, {}, {1, 5, -3, -7, 2, 4}) ==
        Int8s{1, 5, 5, -3, 1, 5, 5, 4, -7, 2, 4, 4});
  // Padding is no value: among negatives the largest negative wins.
  CHECK(pool(layer, {1, 1, 1, 1}, {}, {1, 1, 1, 1}, {}, {-100}) == Int8s{-100});
}

TEST_CASE("maximum keeps channels, images and strides apart") {
  net::Pool layer{.kernel_h = 1, .kernel_w = 2, .stride_w = 2};
  CHECK(pool(layer, {2, 1, 4, 2}, {}, {2, 1, 2, 2}, {},
             {1, 8, 2, 7, 3, 6, 4, 5, -1, -8, -2, -7, -3, -6, -4, -5}) ==
        Int8s{2, 8, 4, 6, -1, -7, -3, -5});
}

TEST_CASE("average over what lies inside, or over the whole window") {
  // Input scale 0.5, zero 10; output scale 0.25, zero -5: multiplier 2. Values less 10: 1, 2;
  // -3, 5. Windows 2x2 with padding above and left, 2x2 outputs.
  net::Pool layer{.average = true, .kernel_h = 2, .kernel_w = 2, .pad_top = 1, .pad_left = 1};
  const Int8s values{11, 12, 7, 15};
  // Inside: 1; (1 + 2) / 2; (1 - 3) / 2; 5 / 4. Times 2: 2, 3, -2, 2.5 -> 2. Less 5.
  CHECK(pool(layer, {1, 2, 2, 1}, {0.5F, 10}, {1, 2, 2, 1}, {0.25F, -5}, values) ==
        Int8s{-3, -2, -7, -3});
  // By 4 throughout: 0.5 -> 0, 1.5 -> 2, -1, 2.5 -> 2.
  layer.count_padding = true;
  CHECK(pool(layer, {1, 2, 2, 1}, {0.5F, 10}, {1, 2, 2, 1}, {0.25F, -5}, values) ==
        Int8s{-5, -3, -6, -3});
}

TEST_CASE("softmax of equal values is uniform") {
  // 1 / 4 * 256 = 64, less 128.
  CHECK(softmax({7, 7, 7, 7}, 0.1F, {1.0F / 256, -128}) == Int8s{-64, -64, -64, -64});
  CHECK(softmax({-5}, 0.1F, {1.0F / 256, -128}) == Int8s{127});  // 256 - 128 saturates
}

TEST_CASE("softmax of a step of ln 2 halves") {
  // exp(-ln 2) = 1/2: 2/3 and 1/3 of 256: 170.67 -> 171, 85.33 -> 85, less 128.
  CHECK(softmax({1, 0}, 0.69314718F, {1.0F / 256, -128}) == Int8s{43, -43});
  // The extremes: exp(-255) is 0 in fp32.
  CHECK(softmax({127, -128}, 1.0F, {1.0F / 256, 0}) == Int8s{127, 0});
}

TEST_CASE("softmax sums in rising order in fp32") {
  // exp(-17) = 4.1e-8 is less than half a step of fp32 at 1 (6e-8): behind a 1 each is lost and the
  // sum stays 1, so the largest is 101.5 -> 102 (even). Before the 1, 64 of them gather to 2.65e-6,
  // and 101.5 / 1.0000026 = 101.49973 -> 101.
  const float scale = 1.0F / 101.5F;
  REQUIRE(1.0F / scale == 101.5F);
  Int8s values(65, -17);
  values[0] = 0;
  CHECK(softmax(values, 1.0F, {scale, 0})[0] == 102);
  values[0] = -17;
  values[64] = 0;
  CHECK(softmax(values, 1.0F, {scale, 0})[64] == 101);
}

TEST_CASE("each row of a softmax is its own") {
  OneLayer net;
  net::Softmax layer;
  layer.in = net.input({1, 2, 1, 2}, {0.69314718F, 3});
  layer.out = net.output({1, 2, 1, 2}, {1.0F / 256, -128});
  CHECK(net.run(layer, {{1, 0, 100, 100}}) == Int8s{43, -43, 0, 0});
}

TEST_CASE("layer normalisation") {
  // d = 1, -1, 1, -1: A = 0, B = 4 * 4 - 0 = 16, mean 0, variance 16 / (4 * 4) = 1, so v = d.
  // Gains 1, 2, 3, 4, shifts 0, 0, 0.5, -0.5: 1, -2, 3.5, -4.5; over 0.5: 2, -4, 7, -9.
  OneLayer net;
  net::LayerNorm layer;
  layer.in = net.input(pixel(4));
  layer.out = net.output(pixel(4), {0.5F, 0});
  layer.gain = constant<float>({1, 2, 3, 4});
  layer.shift = constant<float>({0, 0, 0.5F, -0.5F});
  layer.epsilon = 0;
  CHECK(net.run(layer, {{1, -1, 1, -1}}) == Int8s{2, -4, 7, -9});
}

TEST_CASE("layer normalisation subtracts zero point and mean, and adds epsilon to the variance") {
  // Rows d = q - 1: (2, 4) with A = 6, B = 2 * 20 - 36 = 4, mean 3, variance 4 / 4 = 1;
  // (0, 0) with variance 0. Scale 2: variance 1 * 2 * 2 = 4; epsilon 12: r = 1 / sqrt(16) = 0.25.
  // v = (d - 3) * 2 * 0.25 = -0.5, 0.5; over 0.0625: -8, 8; zero 5: -3, 13. Second row: 5, 5.
  OneLayer net;
  net::LayerNorm layer;
  layer.in = net.input({1, 2, 1, 2}, {2.0F, 1});
  layer.out = net.output({1, 2, 1, 2}, {0.0625F, 5});
  layer.gain = constant<float>({1, 1});
  layer.shift = constant<float>({0, 0});
  layer.epsilon = 12;
  CHECK(net.run(layer, {{3, 5, 1, 1}}) == Int8s{-3, 13, 5, 5});
}

TEST_CASE("a constant row without epsilon divides zero by zero and gives the lower bound") {
  // variance 0, r = 1 / 0 = inf, 0 * inf = NaN.
  OneLayer net;
  net::LayerNorm layer;
  layer.in = net.input(pixel(2));
  layer.out = net.output(pixel(2));
  layer.gain = constant<float>({1, 1});
  layer.shift = constant<float>({0, 0});
  layer.epsilon = 0;
  CHECK(net.run(layer, {{9, 9}}) == Int8s{-128, -128});
}

TEST_CASE("permute transposes") {
  // 2 x 3 channels to 3 x 2.
  OneLayer net;
  net::PermutePart part;
  part.in = net.input({1, 2, 1, 3});
  part.size = {1, 1, 1, 3, 2};
  part.in_step = {0, 0, 0, 1, 3};
  part.out_step = {0, 0, 0, 2, 1};
  net::Permute layer;
  layer.out = net.output({1, 3, 1, 2});
  layer.parts = {part};
  CHECK(net.run(layer, {{1, 2, 3, 4, 5, 6}}) == Int8s{1, 4, 2, 5, 3, 6});
}

TEST_CASE("permute concatenates, slices backwards and repeats") {
  OneLayer net;
  net::PermutePart first;
  first.in = net.input(pixel(4));
  first.in_start = 3;  // elements 3 and 1
  first.size = {1, 1, 1, 1, 2};
  first.in_step = {0, 0, 0, 0, -2};
  first.out_step = {0, 0, 0, 0, 1};
  net::PermutePart second;
  second.in = net.input(pixel(2));
  second.in_start = 1;  // element 1 three times
  second.out_start = 2;
  second.size = {1, 1, 1, 1, 3};
  second.out_step = {0, 0, 0, 0, 1};
  net::Permute layer;
  layer.out = net.output(pixel(5));
  layer.parts = {first, second};
  CHECK(net.run(layer, {{1, 2, 3, 4}, {5, 6}}) == Int8s{4, 2, 6, 6, 6});
}
