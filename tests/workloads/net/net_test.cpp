// SPDX-License-Identifier: Apache-2.0
#include "workloads/net/net.h"

#include <doctest/doctest.h>

#include "models/base/error.h"

using namespace steppe;
using namespace steppe::net;

namespace {

template <typename T>
Constant<T> constant(std::size_t size, T value) {
  return {size, std::make_shared<std::vector<T>>(size, value)};
}

/// x[1,4,4,2] -> conv 3x3 -> y[1,4,4,3]; x and y are input and output.
Net small_net() {
  Net net;
  net.name = "small";
  net.tensors = {{.name = "x", .shape = {1, 4, 4, 2}}, {.name = "y", .shape = {1, 4, 4, 3}}};
  Conv conv;
  conv.in = 0;
  conv.out = 1;
  conv.kernel_h = conv.kernel_w = 3;
  conv.pad_top = conv.pad_left = 1;
  conv.weights.size = 3 * 9 * 2;
  conv.weights.int8 = std::make_shared<std::vector<std::int8_t>>(conv.weights.size, 1);
  conv.bias = constant<std::int32_t>(3, 0);
  conv.multiplier = constant<float>(3, 1.0F);
  net.layers.push_back({"conv", {"conv"}, conv});
  net.inputs = {{"x", 0, {1, 2, 4, 4}, {0, 2, 3, 1}}};
  net.outputs = {{"y", 1, {1, 3, 4, 4}, {0, 2, 3, 1}}};
  return net;
}
Conv& conv_of(Net& net) { return std::get<Conv>(net.layers[0].op); }

/// `small_net` with a layer behind it that reads y and writes a tensor of `shape`.
template <typename Op>
Net followed_by(Op op, Shape shape) {
  Net net = small_net();
  net.tensors.push_back({.name = "z", .shape = shape});
  op.out = 2;
  net.layers.push_back({"second", {}, op});
  return net;
}

void check_throws(const Net& net, const char* part) {
  try {
    check(net);
    FAIL("no error; expected one with: ", part);
  } catch (const ModelError& error) {
    CHECK_MESSAGE(std::string(error.what()).find(part) != std::string::npos, error.what());
  }
}

}  // namespace

TEST_CASE("inputs, output and MACs of a convolution") {
  Net net = small_net();
  CHECK_NOTHROW(check(net));
  conv_of(net).residual = 0;
  CHECK(inputs_of(net.layers[0]) == std::vector<TensorId>{0});  // named twice, listed once
  CHECK(output_of(net.layers[0]) == 1);
  CHECK(dense_macs(net, net.layers[0]) == 16 * 3 * 9 * 2);  // 48 outputs of K = 18
}

TEST_CASE("MACs of a product and of a layer without any") {
  Net net;
  net.tensors = {{.name = "a", .shape = {2, 5, 1, 7}},
                 {.name = "b", .shape = {2, 3, 1, 7}},
                 {.name = "c", .shape = {2, 5, 1, 3}},
                 {.name = "d", .shape = {2, 5, 1, 3}}};
  MatMul product;
  product.a = 0;
  product.b = 1;
  product.out = 2;
  net.layers = {{"product", {}, product}, {"softmax", {}, Softmax{2, 3}}};
  net.inputs = {{"a", 0, {2, 5, 7}, {0, 1, 2}}, {"b", 1, {2, 3, 7}, {0, 1, 2}}};
  net.outputs = {{"d", 3, {2, 5, 3}, {0, 1, 2}}};
  CHECK_NOTHROW(check(net));
  CHECK(dense_macs(net, net.layers[0]) == 2 * 5 * 3 * 7);
  CHECK(dense_macs(net, net.layers[1]) == 0);
  net.tensors[1].quant.zero = 3;
  check_throws(net, "zero points must be 0");
  net.tensors[1].quant.zero = 0;
  net.tensors[1].shape.h = 4;
  net.inputs[1].dims = {2, 4, 7};
  check_throws(net, "does not give 2x5x1x3");
}

TEST_CASE("tensors and ports") {
  Net net = small_net();
  net.tensors[1].quant.scale = 0.0F;
  check_throws(net, "tensor 'y'");
  net = small_net();
  net.tensors[0].shape.w = 0;
  check_throws(net, "extent of 0");
  net = small_net();
  net.inputs[0].dims = {1, 2, 4, 5};
  check_throws(net, "input 'x': has 40 elements");
  net = small_net();
  net.outputs[0].to_card = {0, 2, 2, 1};
  check_throws(net, "no permutation");
  net = small_net();
  net.inputs.clear();
  check_throws(net, "layer 'conv': reads tensor 'x' before");
  net = small_net();
  net.layers.clear();
  check_throws(net, "output 'y' is written by no layer");
}

TEST_CASE("references") {
  Net net = small_net();
  net.layers.push_back(net.layers[0]);
  check_throws(net, "shares its name");
  net.layers[1].name = "again";
  check_throws(net, "layer 'again': writes tensor 'y'");
  net = small_net();
  conv_of(net).out = 9;
  check_throws(net, "writes tensor 9");
  net = small_net();
  conv_of(net).in = no_tensor;
  check_throws(net, "has no input");
}

TEST_CASE("convolution") {
  Net net = small_net();
  conv_of(net).weights.size = 53;
  check_throws(net, "weights: 53 elements, 54 are needed");
  net = small_net();
  conv_of(net).bias = constant<std::int32_t>(2, 0);
  check_throws(net, "bias: 2 elements, 3 are needed");
  net = small_net();
  conv_of(net).groups = 2;
  check_throws(net, "2 groups");
  net = small_net();
  conv_of(net).clamp = {3, 2};
  check_throws(net, "clamp [3, 2]");
  net = small_net();
  conv_of(net).pad_top = 3;
  check_throws(net, "rows: padding 3");
  net = small_net();
  conv_of(net).stride_w = 2;  // the fourth window would start at pixel 6 of 4 + 1
  check_throws(net, "pixels: output 4");
  net = small_net();
  conv_of(net).residual = 0;
  check_throws(net, "residual against output");
  net = small_net();
  conv_of(net).lut = constant<std::int8_t>(255, 0);
  check_throws(net, "lut: 255 elements");
  net = small_net();
  conv_of(net).sparsity = net::balanced(2);  // 16 of a block may stay, 18 are there
  check_throws(net, "block at 0 holds 18 weights");
}

TEST_CASE("element-wise second operands") {
  Map op;
  op.function = vector_functions::add_;
  op.operands = {{.tensor = 1, .shape = {1, 4, 4, 3}},
                 {.constant = constant<float>(3, 2.0F), .shape = {1, 1, 1, 3}}};
  CHECK_NOTHROW(check(followed_by(op, {1, 4, 4, 3})));
  Operand& second = op.operands[1];
  second = {.constant = constant<float>(1, 2.0F), .shape = {1, 1, 1, 1}};
  CHECK_NOTHROW(check(followed_by(op, {1, 4, 4, 3})));
  second = {.constant = constant<float>(16, 2.0F), .shape = {1, 4, 4, 1}};
  CHECK_NOTHROW(check(followed_by(op, {1, 4, 4, 3})));
  second.shape = {1, 2, 4, 1};
  check_throws(followed_by(op, {1, 4, 4, 3}), "does not repeat");
  second = {.constant = constant<float>(1, 2.0F), .shape = {1, 4, 1, 3}};
  check_throws(followed_by(op, {1, 4, 4, 3}), "operand: 1 elements, 12 are needed");
  op.operands.pop_back();
  check_throws(followed_by(op, {1, 4, 4, 3}), "add takes 2 operands, not 1");
}

TEST_CASE("pool, lut and norm") {
  Pool pool;
  pool.in = 1;
  pool.kernel_h = pool.kernel_w = pool.stride_h = pool.stride_w = 2;
  CHECK_NOTHROW(check(followed_by(pool, {1, 2, 2, 3})));
  check_throws(followed_by(pool, {1, 2, 2, 4}), "channels");
  Net net = followed_by(pool, {1, 2, 2, 3});
  net.tensors[2].quant.scale = 0.5F;
  check_throws(net, "'y' and 'z' must have one quantisation");
  Lut lut;
  lut.in = 1;
  check_throws(followed_by(lut, {1, 4, 4, 3}), "table: 0 elements");
  LayerNorm norm;
  norm.in = 1;
  norm.gain = constant<float>(3, 1.0F);
  norm.shift = constant<float>(2, 0.0F);
  check_throws(followed_by(norm, {1, 4, 4, 3}), "shift: 2 elements");
}

TEST_CASE("permute writes every element once") {
  PermutePart part;  // channels to the front: 1x4x4x3 -> 1x3x4x4
  part.in = 1;
  part.size = {1, 1, 3, 4, 4};
  part.in_step = {0, 0, 1, 12, 3};
  part.out_step = {0, 0, 16, 4, 1};
  Permute op;
  op.parts = {part};
  const Shape shape{1, 3, 4, 4};
  CHECK_NOTHROW(check(followed_by(op, shape)));
  op.parts[0].size[2] = 2;
  check_throws(followed_by(op, shape), "write 32 of 48");
  op.parts[0] = part;
  op.parts[0].out_step[2] = 15;
  check_throws(followed_by(op, shape), "writes element 15 twice");
  op.parts[0] = part;
  op.parts[0].in_start = 1;
  check_throws(followed_by(op, shape), "reaches elements 1 to 48");
}

TEST_CASE("permute in long runs: words of 64 elements are marked as elements are") {
  // Each element of the input four times, in runs of 48: 192 elements, three words.
  Permute op;
  for (std::int64_t i = 0; i < 4; ++i) {
    op.parts.push_back({.in = 1,
                        .out_start = 48 * i,
                        .size = {1, 1, 1, 1, 48},
                        .in_step = {0, 0, 0, 0, 1},
                        .out_step = {0, 0, 0, 0, 1}});
  }
  const Shape shape{1, 4, 4, 12};
  CHECK_NOTHROW(check(followed_by(op, shape)));
  op.parts[2].out_start = 95;  // the last of the run before, in the middle of the second word
  check_throws(followed_by(op, shape), "writes element 95 twice");
  op.parts[2].out_start = 96;
  op.parts[3].out_start = 97;
  check_throws(followed_by(op, shape), "writes element 97 twice");
}

TEST_CASE("cache stores") {
  Net net = small_net();
  net.tensors.push_back({.name = "cache", .shape = {1, 8, 4, 3}, .resident_in_dram = true});
  net.layers.push_back({"store", {}, CacheStore{1, 2, 48, 12}});  // rows 4 to 7 of 8
  CHECK_NOTHROW(check(net));
  std::get<CacheStore>(net.layers[1].op).offset = 49;
  check_throws(net, "reaches element 97");
  std::get<CacheStore>(net.layers[1].op) = {1, 2, 0, 11};
  check_throws(net, "overlap");
  net.tensors[2].resident_in_dram = false;
  check_throws(net, "not resident");
}
