// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/lower.h"

#include <doctest/doctest.h>

#include <cmath>

#include "builder.h"
#include "models/base/error.h"
#include "workloads/graph/float_executor.h"
#include "workloads/passes/quantise.h"
#include "workloads/reference/executor.h"

using namespace steppe;
using namespace steppe::passes;
using graph::ValueId;
using test::Builder;
using test::Dims;

namespace {

/// Signal over noise, dB, of the quantised network's first output against the float graph's.
double quality(const graph::Graph& graph, const net::Net& net, const Sample& sample) {
  graph::FloatExecutor executor(graph);
  executor.run(sample);
  std::vector<std::vector<float>> inputs;
  for (const ValueId id : graph.inputs) inputs.push_back(sample.at(graph.value(id).name));
  const std::vector<float> result = reference::Executor(net).run(inputs).at(0);
  const std::vector<float>& wanted = executor.value(graph.outputs[0]);
  REQUIRE(result.size() == wanted.size());
  double signal = 0.0;
  double noise = 1e-30;
  for (std::size_t i = 0; i < result.size(); ++i) {
    signal += double{wanted[i]} * double{wanted[i]};
    noise += std::pow(double{wanted[i]} - double{result[i]}, 2);
  }
  return 10.0 * std::log10(signal / noise);
}

double quality(const graph::Graph& graph, bool symmetric = true) {
  LowerOptions options;
  options.symmetric = symmetric;
  options.pruning.ratio = net::balanced(1);
  return quality(graph, lower(graph, options), random_sample(graph, options.seed));
}

template <typename T>
const std::vector<T>& data(const net::Constant<T>& constant) {
  REQUIRE(constant.has_data());
  return *constant.data;
}

}  // namespace

TEST_CASE("numbers of a dense layer worked out by hand") {
  Builder b;
  const ValueId x = b.input("x", {1, 2});
  const ValueId w = b.constant("w", {2, 2}, {1.27F, 0.5F, -0.64F, 0.0F});
  const ValueId y = b.node("MatMul", {x, w}, {1, 2});
  const ValueId out = b.node("Add", {y, b.constant("b", {2}, {0.1F, -0.2F})}, {1, 2});
  LowerOptions options;
  options.pruning.ratio = net::balanced(1);
  options.samples = {{{"x", {1.27F, -1.0F}}}};
  LowerReport report;
  const net::Net net = lower(b.finish({out}), options, &report);
  // x: 1.27 / 127 = 0.01. Column 0: largest 1.27, scale 0.01, 127 and -64; column 1: scale 0.5 /
  // 127.
  const auto& conv = std::get<net::Conv>(net.layers.at(0).op);
  CHECK(net.tensor(conv.in).quant.scale == doctest::Approx(0.01));
  CHECK(*conv.weights.int8 == std::vector<std::int8_t>{127, -64, 127, 0});
  // bias: 0.1 / (0.01 * 0.01) = 1000; -0.2 / (0.01 * 0.5 / 127) = -5080
  CHECK(data(conv.bias) == std::vector<std::int32_t>{1000, -5080});
  // out: 1.27^2 + 0.64 + 0.1 = 2.3529 and 0.635 - 0.2 = 0.435; scale 2.3529 / 127
  const double scale = 2.3529 / 127;
  CHECK(net.tensor(conv.out).quant.scale == doctest::Approx(scale));
  CHECK(data(conv.multiplier)[0] == doctest::Approx(0.01 * 0.01 / scale));
  CHECK(data(conv.multiplier)[1] == doctest::Approx(0.01 * 0.5 / 127 / scale));
  CHECK(report.layers.at(0).kind == "Conv");
  CHECK(report.layers.at(0).density == 0.75);
  CHECK(report.samples == 1);
}

TEST_CASE("Clip becomes bounds, a channel without weights gets scale 1") {
  Builder b;
  const ValueId x = b.input("x", {1, 1});
  const ValueId y = b.node("MatMul", {x, b.constant("w", {1, 2}, {1.0F, 0.0F})}, {1, 2});
  const ValueId out = b.node("Clip", {y, b.scalar(-0.5F), b.scalar(2.0F)}, {1, 2});
  LowerOptions options;
  options.pruning.ratio = net::balanced(1);
  options.samples = {{{"x", {4.0F}}}};
  const net::Net net = lower(b.finish({out}), options);
  const auto& conv = std::get<net::Conv>(net.layers.at(0).op);
  // largest result 2: scale 2 / 127; -0.5 is at -31.75, stored as -32
  CHECK(conv.clamp.low == -32);
  CHECK(conv.clamp.high == 127);
  CHECK(data(conv.multiplier)[1] == doctest::Approx(4.0 / 127 * 1.0 / (2.0 / 127)));
}

TEST_CASE("asymmetric: all steps from the lowest to the highest") {
  Builder b;
  const ValueId x = b.input("x", {1, 2});
  const ValueId w = b.constant("w", {2, 1}, {1.0F, 0.5F});
  const ValueId y =
      b.node("Clip", {b.node("MatMul", {x, w}, {1, 1}), b.scalar(0.0F), b.scalar(1.0F)}, {1, 1});
  LowerOptions options;
  options.pruning.ratio = net::balanced(1);
  options.symmetric = false;
  options.samples = {{{"x", {2.0F, -0.55F}}}};
  const net::Net net = lower(b.finish({y}), options);
  const auto& conv = std::get<net::Conv>(net.layers.at(0).op);
  // x: 2.55 / 255 = 0.01, -0.55 at -128: 0 at -73. y: 0 to 1, 0 at -128.
  CHECK(net.tensor(conv.in).quant.scale == doctest::Approx(0.01));
  CHECK(net.tensor(conv.in).quant.zero == -73);
  CHECK(net.tensor(conv.out).quant.scale == doctest::Approx(1.0 / 255));
  CHECK(net.tensor(conv.out).quant.zero == -128);
  CHECK(conv.clamp.low == -128);
  CHECK(conv.clamp.high == 127);
  // Weights 1 and 0.5 are 127 and 64; their sum times the zero point goes into the bias.
  CHECK(data(conv.bias) == std::vector<std::int32_t>{73 * (127 + 64)});
}

TEST_CASE("asymmetric: what a product of activations reads is symmetric") {
  Builder b;
  const ValueId x = b.node("Relu", {b.input("x", {1, 4, 4})}, {1, 4, 4});
  LowerOptions options;
  options.symmetric = false;
  const net::Net net = lower(b.finish({b.node("MatMul", {x, x}, {1, 4, 4})}), options);
  for (const net::Layer& layer : net.layers) {
    if (const auto* product = std::get_if<net::MatMul>(&layer.op)) {
      CHECK(net.tensor(product->a).quant.zero == 0);
      CHECK(net.tensor(product->out).quant.zero != 0);
    }
  }
}

TEST_CASE("a bias that would leave 31 bits raises its channel's scale") {
  Builder b;
  const ValueId x = b.input("x", {1, 1});
  const ValueId y = b.node("MatMul", {x, b.constant("w", {1, 1}, {1e-9F})}, {1, 1});
  const ValueId out = b.node("Add", {y, b.constant("b", {1}, {1.0F})}, {1, 1});
  LowerOptions options;
  options.samples = {{{"x", {1.27F}}}};
  const net::Net net = lower(b.finish({out}), options);
  const auto& conv = std::get<net::Conv>(net.layers.at(0).op);
  CHECK(std::abs(data(conv.bias)[0] - 0x1p30) < 1000);
  CHECK(double{data(conv.multiplier)[0]} * data(conv.bias)[0] == doctest::Approx(127.0));
}

TEST_CASE("one quantisation across copies and maximum pools") {
  Builder b;
  const ValueId x = b.input("x", {1, 4});
  const ValueId y = b.input("y", {1, 4});
  const ValueId out = b.node("Concat", {x, y}, {1, 8}, {{"axis", std::int64_t{1}}});
  LowerOptions options;
  options.samples = {{{"x", {1, -2, 0, 0}}, {"y", {0, 5.08F, 0, 0}}}};
  const net::Net net = lower(b.finish({out}), options);
  for (const net::Tensor& tensor : net.tensors) {
    CHECK(tensor.quant.scale == doctest::Approx(0.04));  // 5.08 / 127
    CHECK(tensor.quant.zero == 0);
  }
}

TEST_CASE("ranges: masks count as 16 below the largest score") {
  const std::vector<float> scores{1.0F, -3.0F, -1e9F};
  CHECK(range_of(scores, true).low == -15.0F);
  CHECK(range_of(scores, true).high == 1.0F);
  CHECK(range_of(scores, false).low == -1e9F);
}

TEST_CASE("softmax has scale 1 / 127") {
  Builder b;
  const ValueId x = b.input("x", {3, 8});
  const ValueId out = b.node("Softmax", {x}, {3, 8}, {{"axis", std::int64_t{1}}});
  const net::Net net = lower(b.finish({out}), {});
  CHECK(net.tensor(net.outputs[0].tensor).quant.scale == 1.0F / 127.0F);
}

TEST_CASE("sizes only: no data, no calibration") {
  Builder b;
  const ValueId y = b.conv(b.input("x", {1, 64, 8, 8}), 8, 3, 1);
  graph::Graph& graph = b.finish({b.node("Sigmoid", {y}, {1, 8, 8, 8})});
  for (graph::Value& value : graph.values) value.fp32 = nullptr;
  LowerReport report;
  const net::Net net = lower(graph, {}, &report);
  const auto& conv = std::get<net::Conv>(net.layers.at(0).op);
  CHECK_FALSE(conv.weights.has_data());
  CHECK(conv.weights.size == 8 * 9 * 64);
  CHECK(conv.lut.size == 256);
  CHECK(conv.sparsity == net::balanced(16));
  CHECK(report.samples == 0);
  CHECK(report.layers[0].density == 1.0 / 16);
}

TEST_CASE("the same network twice") {
  const auto weights = [] {
    Builder b;
    const net::Net net = lower(b.finish({b.conv(b.input("x", {1, 8, 6, 6}), 4, 3, 1)}), {});
    return data(std::get<net::Conv>(net.layers[0].op).multiplier);
  };
  CHECK(weights() == weights());
}

TEST_CASE("residual block, gate and classifier compute what the float graph does") {
  Builder b;
  const ValueId x = b.input("x", {1, 3, 9, 7});
  const ValueId first = b.node("Relu", {b.conv(x, 8, 3, 1)}, {1, 8, 9, 7});
  const ValueId sum = b.node("Add", {first, b.conv(first, 8, 3, 1)}, {1, 8, 9, 7});
  const ValueId act = b.node("Relu", {sum}, {1, 8, 9, 7});
  const ValueId pool = b.node("GlobalAveragePool", {act}, {1, 8, 1, 1});
  const ValueId gate = b.node("HardSigmoid", {b.conv(pool, 8, 1, 0)}, {1, 8, 1, 1},
                              {{"alpha", 0.2F}, {"beta", 0.5F}});
  const ValueId gated = b.node("Mul", {act, gate}, {1, 8, 9, 7});
  const ValueId flat = b.reshape(gated, {1, 504});
  const ValueId out = b.node("MatMul", {flat, b.constant("w", {504, 5})}, {1, 5});
  const graph::Graph graph = b.finish({out});
  CHECK(quality(graph) > 25.0);
  CHECK(quality(graph, false) > quality(graph));
}

TEST_CASE("attention computes what the float graph does") {
  Builder b;
  const ValueId x = b.input("x", {1, 8, 3, 2});
  const ValueId seq = b.transpose(b.reshape(b.conv(x, 8, 1, 0), {1, 8, 6}), {0, 2, 1});
  const auto heads = [&](const char* name, Dims perm) {
    const ValueId p = b.node("MatMul", {seq, b.constant(name, {8, 8})}, {1, 6, 8});
    return b.transpose(b.reshape(p, {1, 6, 2, 4}), std::move(perm));
  };
  const ValueId q = heads("q", {0, 2, 1, 3});
  const ValueId k = heads("k", {0, 2, 3, 1});
  const ValueId v = heads("v", {0, 2, 1, 3});
  const ValueId scores = b.node("MatMul", {q, k}, {1, 2, 6, 6});
  const ValueId scaled = b.node("Mul", {scores, b.scalar(0.1F)}, {1, 2, 6, 6});
  const ValueId weights = b.node("Softmax", {scaled}, {1, 2, 6, 6}, {{"axis", std::int64_t{3}}});
  const ValueId mixed = b.node("MatMul", {weights, v}, {1, 2, 6, 4});
  const ValueId joined = b.reshape(b.transpose(mixed, {0, 2, 1, 3}), {1, 6, 8});
  const ValueId sum = b.node("Add", {seq, joined}, {1, 6, 8});
  const ValueId norm =
      b.node("LayerNormalization", {sum, b.constant("g", {8}), b.constant("s", {8})}, {1, 6, 8},
             {{"axis", std::int64_t{2}}, {"epsilon", 1e-5F}});
  const ValueId image = b.reshape(b.transpose(norm, {0, 2, 1}), {1, 8, 3, 2});
  const graph::Graph graph = b.finish({b.conv(image, 4, 3, 1)});
  CHECK(quality(graph) > 20.0);
  CHECK(quality(graph, false) > 20.0);
}

TEST_CASE("a key-value cache") {
  Builder b;
  const ValueId x = b.input("x", {2, 1, 8});
  const ValueId cache = b.value("cache", {2, 16, 8});
  b.graph.values[cache].state = true;
  const ValueId stored = b.node("CacheStore", {x, cache}, {2, 16, 8},
                                {{"axis", std::int64_t{1}}, {"position", std::int64_t{3}}});
  const ValueId scores = b.node("MatMul", {x, b.transpose(stored, {0, 2, 1})}, {2, 1, 16});
  LowerOptions options;
  options.timing_only = true;
  const net::Net net = lower(b.finish({scores}), options);
  REQUIRE(net.layers.size() == 3);  // x is [2, 1, 8] for the product and two rows for the store
  const auto& store = std::get<net::CacheStore>(net.layers[1].op);
  CHECK(store.offset == 3 * 8);
  CHECK(store.row_pitch == 16 * 8);
  CHECK(net.tensor(store.cache).resident_in_dram);
  CHECK(std::get<net::MatMul>(net.layers[2].op).b == store.cache);
}
