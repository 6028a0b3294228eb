// SPDX-License-Identifier: Apache-2.0
//
// Conv and MatMul, each expectation by hand from models/numerics/README.md.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/workloads/reference/one_layer.h"
#include "workloads/reference/layers.h"

using namespace steppe;
using namespace steppe::test;
using reference::store;

namespace {

/// A layer of one channel and one weight 0 whose sum is `bias`: what is behind the sum alone.
Int8s finish(std::int32_t bias, float multiplier, std::int32_t zero = 0, net::Clamp clamp = {}) {
  OneLayer net;
  net::Conv conv;
  conv.in = net.input({1, 1, 1, 1});
  conv.out = net.output({1, 1, 1, 1}, {1.0F, zero});
  conv.weights = weights({0});
  conv.bias = constant<std::int32_t>({bias});
  conv.multiplier = constant<float>({multiplier});
  conv.clamp = clamp;
  return net.run(conv, {{0}});
}

}  // namespace

TEST_CASE("store rounds half to even, then adds the zero point, then saturates") {
  CHECK(store(0.5F, 0) == 0);
  CHECK(store(1.5F, 0) == 2);
  CHECK(store(2.5F, 0) == 2);
  CHECK(store(-0.5F, 0) == 0);
  CHECK(store(-1.5F, 0) == -2);
  CHECK(store(-2.5F, 0) == -2);
  CHECK(store(0.5F, 1) == 1);  // rint(0.5) + 1, not rint(1.5)
  CHECK(store(1.5F, -1) == 1);
  CHECK(store(126.5F, 0) == 126);
  CHECK(store(127.5F, 0) == 127);  // 128 saturates
  CHECK(store(200.0F, -100) == 100);
  CHECK(store(-128.5F, 0) == -128);
  CHECK(store(-129.0F, 0) == -128);
  CHECK(store(1e30F, -128) == 127);
  CHECK(store(-1e30F, 127) == -128);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(store(infinity, 0) == 127);
  CHECK(store(-infinity, 0) == -128);
  CHECK(store(std::nanf(""), 5) == -128);
  CHECK(store(std::nanf(""), 5, -7, 9) == -7);
  CHECK(store(-3.0F, 0, 0, 127) == 0);  // ReLU
  CHECK(store(10.0F, 4, 4, 10) == 10);  // Clip
}

TEST_CASE("QLinearConv, worked by hand") {
  // x: scale 0.5, zero 2. w: scale 0.25, zero 0. y: scale 1, zero -1. Kernel 1x2 w = [3, -1], bias
  // 4 in units of 0.5 * 0.25 = 0.125. ONNX: y = rint(0.125 / 1 * (sum (x - 2) w + 4)) - 1, padding
  // is x = 2. On x = [4, 6] with one padding pixel on either side:
  //   [2 4]: 0 * 3 + 2 * -1 + 4 =  2, 0.25 -> 0, -1
  //   [4 6]: 2 * 3 + 4 * -1 + 4 =  6, 0.75 -> 1,  0
  //   [6 2]: 4 * 3 + 0 * -1 + 4 = 16, 2.00 -> 2,  1
  // The network's bias has the input's zero point folded in: 4 - 2 * (3 - 1) = 0.
  OneLayer net;
  net::Conv conv;
  conv.in = net.input({1, 1, 2, 1}, {0.5F, 2});
  conv.out = net.output({1, 1, 3, 1}, {1.0F, -1});
  conv.weights = weights({3, -1});
  conv.bias = constant<std::int32_t>({0});
  conv.multiplier = constant<float>({0.125F});
  conv.kernel_w = 2;
  conv.pad_left = 1;
  CHECK(net.run(conv, {{4, 6}}) == Int8s{-1, 0, 1});
}

TEST_CASE("strides, dilation and the order of weights") {
  // 4x5 pixels of one channel, value 10 * row + column; kernel 2x2 with rows 2 apart, columns 3
  // apart; w = [1, 2; 3, 4]. Output row y starts at input row y, output column x at column x.
  //   (0,0): 0 + 2 * 3 + 3 * 20 + 4 * 23 = 158; each further row adds 10 * 10, each column 10.
  // Multiplier 0.25: 39.5 -> 40 (even), 168 / 4 = 42, 258 / 4 = 64.5 -> 64, 268 / 4 = 67.
  OneLayer net;
  net::Conv conv;
  conv.in = net.input({1, 4, 5, 1});
  conv.out = net.output({1, 2, 2, 1});
  conv.weights = weights({1, 2, 3, 4});
  conv.bias = constant<std::int32_t>({0});
  conv.multiplier = constant<float>({0.25F});
  conv.kernel_h = conv.kernel_w = 2;
  conv.dilation_h = 2;
  conv.dilation_w = 3;
  const Int8s in{0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 20, 21, 22, 23, 24, 30, 31, 32, 33, 34};
  CHECK(net.run(conv, {in}) == Int8s{40, 42, 64, 67});

  // The same kernel without dilation at stride 2 in rows, 3 in columns:
  //   (0,0): 0 + 2 * 1 + 3 * 10 + 4 * 11 = 76; column + 3 adds 30, row + 2 adds 200.
  //   76 / 4 = 19, 106 / 4 = 26.5 -> 26, 276 / 4 = 69, 306 / 4 = 76.5 -> 76.
  conv.dilation_h = conv.dilation_w = 1;
  conv.stride_h = 2;
  conv.stride_w = 3;
  CHECK(net.run(conv, {in}) == Int8s{19, 26, 69, 76});
}

TEST_CASE("groups keep their channels apart, output channels have their own scale") {
  // 4 channels in 2 groups, 2 output channels a group.
  // Group 0 sees [1, 2]: [1 1] -> 3, [1 -1] -> -1. Group 1 sees [3, 4]: [2 0] -> 6, [0 2] -> 8.
  // Plus biases 0, 1, 2, 3: 3, 0, 8, 11; times 1, 2, 0.5, 3: 3, 0, 4, 33.
  OneLayer net;
  net::Conv conv;
  conv.in = net.input({1, 1, 1, 4});
  conv.out = net.output({1, 1, 1, 4});
  conv.weights = weights({1, 1, 1, -1, 2, 0, 0, 2});
  conv.bias = constant<std::int32_t>({0, 1, 2, 3});
  conv.multiplier = constant<float>({1, 2, 0.5F, 3});
  conv.groups = 2;
  CHECK(net.run(conv, {{1, 2, 3, 4}}) == Int8s{3, 0, 4, 33});
}

TEST_CASE("sums wrap modulo 2^32") {
  // 2^31 - 1 + 1 * 1 = -2^31; times 2^-25 = -64.
  OneLayer net;
  net::Conv conv;
  conv.in = net.input({1, 1, 1, 1});
  conv.out = net.output({1, 1, 1, 1});
  conv.weights = weights({1});
  conv.bias = constant<std::int32_t>({std::numeric_limits<std::int32_t>::max()});
  conv.multiplier = constant<float>({0x1p-25F});
  CHECK(net.run(conv, {{1}}) == Int8s{-64});
  CHECK(net.run(conv, {{0}}) == Int8s{64});
}

TEST_CASE("sums become fp32 before they are scaled") {
  // 2.5 * 2^26 + 1: fp32 there counts in steps of 16, so it is 2.5 * 2^26 and the half rounds to 2.
  // Without that step it would be a little more than 2.5 and give 3.
  CHECK(finish(167772161, 0x1p-26F) == Int8s{2});
  CHECK(finish(167772160 + 16, 0x1p-26F) == Int8s{3});
}

TEST_CASE("results saturate at int8 and at the bounds given") {
  CHECK(finish(1000, 1) == Int8s{127});
  CHECK(finish(-1000, 1) == Int8s{-128});
  CHECK(finish(-5, 1, 3, {.low = 3, .high = 127}) == Int8s{3});    // ReLU at zero point 3
  CHECK(finish(50, 1, 3, {.low = 3, .high = 9}) == Int8s{9});      // ReLU6
  CHECK(finish(5, 0.5F, 3, {.low = 3, .high = 127}) == Int8s{5});  // 2.5 -> 2, + 3
}

TEST_CASE("the residual is added in fp32, each step rounded") {
  OneLayer net;
  net::Conv conv;
  conv.in = net.input({1, 1, 1, 1});
  conv.residual = net.input({1, 1, 1, 1}, {1.0F, 1});
  conv.out = net.output({1, 1, 1, 1}, {1.0F, -10});
  conv.weights = weights({1});
  conv.bias = constant<std::int32_t>({0});
  conv.multiplier = constant<float>({0.5F});
  conv.residual_scale = 0.25F;
  // 3 * 0.5 + (5 - 1) * 0.25 = 2.5 -> 2, - 10.
  CHECK(net.run(conv, {{3}, {5}}) == Int8s{-8});
  // 24 * fl(1/3) = 8.00000024 rounds to 8; 8 + (-14 - 1) * 0.5 = 0.5 -> 0, - 10. A fused
  // multiply-add would keep 0.50000024 and give 1 - 10.
  conv.multiplier = constant<float>({1.0F / 3.0F});
  conv.residual_scale = 0.5F;
  CHECK(net.run(conv, {{24}, {-14}}) == Int8s{-10});
}

TEST_CASE("the table is applied last") {
  OneLayer net;
  net::Conv conv;
  conv.in = net.input({1, 1, 3, 1});
  conv.out = net.output({1, 1, 3, 1}, {1.0F, 7});  // the table's business
  conv.sum_zero = 1;
  conv.weights = weights({2});
  conv.bias = constant<std::int32_t>({0});
  conv.multiplier = constant<float>({1});
  conv.clamp = {.low = -100, .high = 100};
  Int8s table(256);
  table[static_cast<std::size_t>(-100 + 128)] = 11;
  table[static_cast<std::size_t>(1 + 128)] = 22;
  table[static_cast<std::size_t>(100 + 128)] = 33;
  conv.lut = constant(table);
  // 2 * -60 + 1 is bounded to -100, 0 + 1 is 1, 2 * 60 + 1 is bounded to 100.
  CHECK(net.run(conv, {{-60, 0, 60}}) == Int8s{11, 22, 33});
}

TEST_CASE("each image and row of a convolution is its own") {
  OneLayer net;
  net::Conv conv;
  conv.in = net.input({2, 2, 1, 1});
  conv.out = net.output({2, 2, 1, 1});
  conv.weights = weights({1, 10, 100});
  conv.bias = constant<std::int32_t>({0});
  conv.multiplier = constant<float>({1});
  conv.kernel_h = 3;
  conv.pad_top = 1;
  // Rows (1, 0) and (0, 1): a window sees the row above times 1, its own times 10, the one below
  // times 100, and never the other image.
  CHECK(net.run(conv, {{1, 0, 0, 1}}) == Int8s{10, 1, 100, 10});
}

TEST_CASE("products of two activations, image by image") {
  // Image 0: a = [1 2 3; 4 5 6], b rows [1 0 -1], [2 1 0]: [-2 4; -2 13].
  // Image 1: a = [1 1 1; 0 0 1], b rows [1 2 3], [-4 -5 -6]: [6 -15; 3 -6].
  // Times 0.5, zero 1: -1 2 -1 6.5 -> 6; 3 -7.5 -> -8, 1.5 -> 2, -3; plus 1 each.
  OneLayer net;
  net::MatMul product;
  product.a = net.input({2, 2, 1, 3});
  product.b = net.input({2, 2, 1, 3});
  product.out = net.output({2, 2, 1, 2}, {1.0F, 1});
  product.multiplier = 0.5F;
  const std::vector<Int8s> in{{1, 2, 3, 4, 5, 6, 1, 1, 1, 0, 0, 1},
                              {1, 0, -1, 2, 1, 0, 1, 2, 3, -4, -5, -6}};
  CHECK(net.run(product, in) == Int8s{0, 3, 0, 7, 4, -7, 3, -2});
  product.clamp = {.low = -2, .high = 4};
  CHECK(net.run(product, in) == Int8s{0, 3, 0, 4, 4, -2, 3, -2});
}
