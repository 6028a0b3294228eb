// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/layout.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "builder.h"
#include "models/base/error.h"

using namespace steppe;
using namespace steppe::passes;
using graph::ValueId;
using test::Builder;
using test::Dims;

namespace {

net::Net laid_out(const graph::Graph& graph) {
  net::Net net = lay_out(graph, fuse(graph)).net;
  net::check(net);
  return net;
}

template <typename Op>
std::ptrdiff_t count(const net::Net& net) {
  return std::count_if(net.layers.begin(), net.layers.end(), [](const net::Layer& layer) {
    return std::holds_alternative<Op>(layer.op);
  });
}
template <typename Op>
const Op& op(const net::Net& net, std::size_t i) {
  return std::get<Op>(net.layers.at(i).op);
}
net::Shape out_shape(const net::Net& net, std::size_t i) {
  return net.tensor(net::output_of(net.layers.at(i))).shape;
}

}  // namespace

TEST_CASE("a convolution reads and writes NHWC, and the ports transpose") {
  Builder b;
  const net::Net net = laid_out(b.finish({b.conv(b.input("x", {1, 2, 6, 5}), 3, 3, 1)}));
  REQUIRE(net.layers.size() == 1);
  CHECK(net.tensor(net.inputs[0].tensor).shape == net::Shape{1, 6, 5, 2});
  CHECK(net.inputs[0].to_card == Order{0, 2, 3, 1});
  CHECK(net.outputs[0].to_card == Order{0, 2, 3, 1});
  CHECK(net.outputs[0].dims == Extents{1, 3, 6, 5});
  CHECK(net.layers[0].nodes == std::vector<std::string>{"Conv0"});
  CHECK(op<net::Conv>(net, 0).weights.size == 3 * 3 * 3 * 2);
}

TEST_CASE("an input transposed to NCHW for a convolution is taken as it is") {
  Builder b;
  const ValueId x = b.input("x", {1, 6, 5, 2});
  const net::Net net = laid_out(b.finish({b.conv(b.transpose(x, {0, 3, 1, 2}), 3, 3, 1)}));
  CHECK(net.layers.size() == 1);
  CHECK(net.inputs[0].to_card == Order{0, 1, 2, 3});
}

TEST_CASE("detection heads: transpose and reshape are free, the concatenation copies once") {
  Builder b;
  const ValueId x = b.input("x", {1, 8, 4, 4});
  const auto head = [&](std::int64_t channels) {
    const ValueId y = b.transpose(b.conv(x, channels, 1, 0), {0, 2, 3, 1});
    return b.reshape(y, {1, 16 * channels / 2, 2});
  };
  const ValueId first = head(4);
  const ValueId second = head(6);
  const ValueId all = b.node("Concat", {first, second}, {1, 80, 2}, {{"axis", std::int64_t{1}}});
  const ValueId out = b.node("Softmax", {all}, {1, 80, 2}, {{"axis", std::int64_t{2}}});
  const net::Net net = laid_out(b.finish({out}));
  REQUIRE(net.layers.size() == 4);  // two convolutions, a copy, a softmax
  CHECK(op<net::Permute>(net, 2).parts.size() == 2);
  CHECK(op<net::Permute>(net, 2).parts[1].out_start == 64);
  CHECK(out_shape(net, 3) == net::Shape{1, 80, 1, 2});
  CHECK(net.outputs[0].to_card == Order{0, 1, 2});
}

TEST_CASE("slices of a concatenation copy only what is read") {
  Builder b;
  const ValueId x = b.input("x", {1, 8, 4});
  const ValueId y = b.input("y", {1, 2, 4});
  const ValueId all = b.node("Concat", {x, y}, {1, 10, 4}, {{"axis", std::int64_t{1}}});
  const ValueId cut =
      b.node("Slice", {all}, {1, 10, 2},
             {{"starts", Dims{2}}, {"ends", Dims{4}}, {"axes", Dims{2}}, {"steps", Dims{1}}});
  const net::Net net = laid_out(b.finish({b.node("Exp", {cut}, {1, 10, 2})}));
  REQUIRE(net.layers.size() == 2);
  const net::Permute& copy = op<net::Permute>(net, 0);
  REQUIRE(copy.parts.size() == 2);
  CHECK(copy.parts[0].in_start == 2);
  CHECK(copy.parts[0].in_step[3] == 4);
  CHECK(copy.parts[0].size[3] == 8);
  CHECK(copy.parts[1].out_start == 16);
}

TEST_CASE("a slice along the concatenated axis reads its piece in place") {
  Builder b;
  const ValueId x = b.input("x", {1, 8, 4});
  const ValueId y = b.input("y", {1, 2, 4});
  const ValueId all = b.node("Concat", {x, y}, {1, 10, 4}, {{"axis", std::int64_t{1}}});
  const ValueId cut =
      b.node("Slice", {all}, {1, 2, 4},
             {{"starts", Dims{-2}}, {"ends", Dims{10}}, {"axes", Dims{1}}, {"steps", Dims{1}}});
  const net::Net net = laid_out(b.finish({b.node("Exp", {cut}, {1, 2, 4})}));
  REQUIRE(net.layers.size() == 1);
  CHECK(op<net::Lut>(net, 0).in == net.inputs[1].tensor);
}

TEST_CASE("flattening in front of a product becomes a kernel over the image") {
  Builder b;
  const ValueId y = b.conv(b.input("x", {1, 2, 4, 4}), 3, 3, 1);
  const ValueId flat = b.reshape(y, {1, 48});
  const ValueId w = b.constant("w", {48, 10});
  const ValueId out = b.node("MatMul", {flat, w}, {1, 10});
  graph::Graph& graph = b.finish({out});
  const Layout layout = lay_out(graph, fuse(graph));
  net::check(layout.net);
  REQUIRE(layout.net.layers.size() == 2);
  const net::Conv& dense = op<net::Conv>(layout.net, 1);
  CHECK(dense.kernel_h == 4);
  CHECK(dense.kernel_w == 4);
  CHECK(out_shape(layout.net, 1) == net::Shape{1, 1, 1, 10});
  // ONNX row of the weights: channel * 16 + position; the engine runs position, then channel.
  CHECK(layout.sources[1].weights == Axis{{10, 1}, {16, 10}, {3, 160}});
}

TEST_CASE("global average and flatten in front of a product are free") {
  Builder b;
  const ValueId y = b.conv(b.input("x", {2, 2, 4, 4}), 8, 3, 1);
  const ValueId pool = b.node("GlobalAveragePool", {y}, {2, 8, 1, 1});
  const ValueId flat = b.reshape(pool, {2, 8});
  const ValueId w = b.constant("w", {10, 8});
  const ValueId out = b.node(
      "Gemm", {flat, w, b.constant("b", {10})}, {2, 10},
      {{"transA", std::int64_t{0}}, {"transB", std::int64_t{1}}, {"alpha", 1.0F}, {"beta", 1.0F}});
  const net::Net net = laid_out(b.finish({out}));
  REQUIRE(net.layers.size() == 3);
  CHECK(op<net::Pool>(net, 1).kernel_w == 4);
  CHECK(out_shape(net, 1) == net::Shape{2, 1, 1, 8});
  CHECK(out_shape(net, 2) == net::Shape{2, 1, 1, 10});
}

TEST_CASE("channel gate of an image repeats over its pixels") {
  Builder b;
  const ValueId y = b.conv(b.input("x", {1, 2, 4, 4}), 8, 3, 1);
  const ValueId pool = b.node("GlobalAveragePool", {y}, {1, 8, 1, 1});
  const ValueId gate = b.node("Sigmoid", {b.conv(pool, 8, 1, 0)}, {1, 8, 1, 1});
  const net::Net net = laid_out(b.finish({b.node("Mul", {gate, y}, {1, 8, 4, 4})}));
  REQUIRE(net.layers.size() == 4);
  const net::Map& mul = op<net::Map>(net, 3);
  CHECK(mul.operands[0].shape == net::Shape{1, 1, 1, 8});
  CHECK(mul.operands[1].tensor == net::output_of(net.layers[0]));
  CHECK(op<net::Conv>(net, 2).lut.size == 256);
}

TEST_CASE("constant operands are laid out like the tensor") {
  Builder b;
  const ValueId y = b.conv(b.input("x", {1, 2, 2, 3}), 4, 1, 0);
  const ValueId grid = b.constant("grid", {4, 2, 3});
  graph::Graph& graph = b.finish({b.node("Add", {grid, y}, {1, 4, 2, 3})});
  const Layout layout = lay_out(graph, fuse(graph));
  net::check(layout.net);
  CHECK(op<net::Map>(layout.net, 1).operands[0].shape == net::Shape{1, 2, 3, 4});
  // channels (step 2 * 3 in ONNX) innermost, behind the 6 positions
  const Axis& steps = layout.sources[1].operands.at(0).steps;
  CHECK(extent(steps) == 24);
  CHECK(steps.back() == Factor{4, 6});
}

TEST_CASE("a constant may be any operand") {
  Builder b;
  const ValueId y = b.input("y", {1, 4});
  const ValueId first = b.constant("k", {1, 4});
  const net::Net net = laid_out(b.finish({b.node("Sub", {first, y}, {1, 4})}));
  const net::Map& sub = op<net::Map>(net, 0);
  CHECK(sub.function == vector_functions::sub_);
  CHECK(sub.operands[0].constant.size == 4);
  CHECK(sub.operands[1].tensor == net.inputs[0].tensor);
}

TEST_CASE("a column operand repeats over the channels where it lies") {
  Builder b;
  const ValueId x = b.input("x", {2, 5, 8});
  const ValueId y = b.input("y", {2, 5, 1});
  const net::Net net = laid_out(b.finish({b.node("Sub", {x, y}, {2, 5, 8})}));
  REQUIRE(net.layers.size() == 1);
  CHECK(op<net::Map>(net, 0).operands[1].shape == net::Shape{2, 5, 1, 1});
}

TEST_CASE("attention of several heads") {
  Builder b;
  const ValueId x = b.input("x", {1, 6, 8});
  const auto heads = [&](const char* name, Dims perm) {
    const ValueId p = b.node("MatMul", {x, b.constant(name, {8, 8})}, {1, 6, 8});
    return b.transpose(b.reshape(p, {1, 6, 2, 4}), std::move(perm));
  };
  const ValueId q = heads("q", {0, 2, 1, 3});
  const ValueId k = heads("k", {0, 2, 3, 1});  // transposed: [1, 2, 4, 6]
  const ValueId v = heads("v", {0, 2, 1, 3});
  const ValueId scores = b.node("MatMul", {q, k}, {1, 2, 6, 6});
  const ValueId scaled = b.node("Mul", {scores, b.scalar(0.5F)}, {1, 2, 6, 6});
  const ValueId weights = b.node("Softmax", {scaled}, {1, 2, 6, 6}, {{"axis", std::int64_t{3}}});
  const ValueId mixed = b.node("MatMul", {weights, v}, {1, 2, 6, 4});
  const ValueId joined = b.reshape(b.transpose(mixed, {0, 2, 1, 3}), {1, 6, 8});
  const ValueId out = b.node("MatMul", {joined, b.constant("o", {8, 8})}, {1, 6, 8});
  const ValueId sum = b.node("Add", {x, out}, {1, 6, 8});
  const net::Net net = laid_out(b.finish({sum}));
  CHECK(count<net::Conv>(net) == 4);
  CHECK(count<net::MatMul>(net) == 2);
  CHECK(count<net::Softmax>(net) == 1);
  CHECK(count<net::Permute>(net) == 4);  // heads of q, k and v apart, and together again
  CHECK(net.layers.size() == 11);
  const auto& last = op<net::Conv>(net, 10);
  CHECK(last.residual == net.inputs[0].tensor);
  CHECK(out_shape(net, 10) == net::Shape{1, 6, 1, 8});
}

TEST_CASE("one head needs no copy for its keys") {
  Builder b;
  const ValueId x = b.input("x", {2, 6, 8});
  const ValueId q = b.node("MatMul", {x, b.constant("q", {8, 4})}, {2, 6, 4});
  const ValueId k = b.node("MatMul", {x, b.constant("k", {8, 4})}, {2, 6, 4});
  const ValueId scores = b.node("MatMul", {q, b.transpose(k, {0, 2, 1})}, {2, 6, 6});
  const net::Net net = laid_out(b.finish({scores}));
  CHECK(net.layers.size() == 3);
  CHECK(op<net::MatMul>(net, 2).b == net::output_of(net.layers[1]));
}

TEST_CASE("an image becomes a sequence by one copy, shared by all readers") {
  Builder b;
  const ValueId y = b.conv(b.input("x", {1, 2, 4, 4}), 8, 3, 1);
  const ValueId seq = b.transpose(b.reshape(y, {1, 8, 16}), {0, 2, 1});
  const ValueId norm =
      b.node("LayerNormalization", {seq, b.constant("g", {8}), b.constant("s", {8})}, {1, 16, 8},
             {{"axis", std::int64_t{2}}, {"epsilon", 1e-5F}});
  const ValueId up = b.node("MatMul", {norm, b.constant("u", {8, 8})}, {1, 16, 8});
  const ValueId sum = b.node("Add", {seq, up}, {1, 16, 8});
  const ValueId mean =
      b.node("ReduceMean", {sum}, {1, 8}, {{"axes", Dims{1}}, {"keepdims", std::int64_t{0}}});
  const net::Net net = laid_out(b.finish({mean}));
  CHECK(count<net::Permute>(net) == 1);
  CHECK(net.layers.size() == 5);
  CHECK(op<net::Conv>(net, 3).residual == net::output_of(net.layers[1]));
  CHECK(op<net::Pool>(net, 4).kernel_h == 16);
  CHECK(out_shape(net, 4) == net::Shape{1, 1, 1, 8});
}

TEST_CASE("names are unique and come from the graph") {
  Builder b;
  const ValueId x = b.input("x", {1, 4});
  const ValueId y = b.node("Exp", {x}, {1, 4});
  const ValueId z = b.node("Softmax", {y}, {1, 4}, {{"axis", std::int64_t{1}}});
  b.graph.nodes[1].name = b.graph.nodes[0].name;
  const net::Net net = laid_out(b.finish({z}));
  CHECK(net.layers[0].name == "Exp0");
  CHECK(net.layers[1].name == "Exp0.2");
  CHECK(net.tensor(net.outputs[0].tensor).name == "Softmax1:0");
}

TEST_CASE("what the card has not is named") {
  const auto message = [](const graph::Graph& graph) -> std::string {
    try {
      lay_out(graph, fuse(graph));
    } catch (const ModelError& error) {
      return error.what();
    }
    return "";
  };
  Builder b;
  const ValueId x = b.input("x", {1, 4});
  const std::string unknown = message(b.finish({b.node("NonZero", {x}, {1, 4})}));
  CHECK(unknown.find("node 'NonZero0' (NonZero)") != std::string::npos);
  CHECK(unknown.find("Conv, MatMul") != std::string::npos);
  Builder d;
  const ValueId e = d.constant("e", {1, 4});
  const ValueId z = d.input("z", {1, 4});
  const ValueId cat = d.node("Concat", {e, z}, {2, 4}, {{"axis", std::int64_t{0}}});
  CHECK(message(d.finish({cat})).find("constant 'e'") != std::string::npos);
}
