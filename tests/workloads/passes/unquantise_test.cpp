// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/unquantise.h"

#include <doctest/doctest.h>

#include <cmath>

#include "builder.h"
#include "workloads/graph/float_executor.h"
#include "workloads/passes/lower.h"
#include "workloads/reference/executor.h"

using namespace steppe;
using namespace steppe::passes;
using graph::DataType;
using graph::ValueId;
using test::Builder;
using test::Dims;

namespace {

struct QdqBuilder : Builder {
  ValueId zero_point(std::int64_t zero, DataType type) {
    const ValueId id = value("zero" + std::to_string(graph.values.size()), {});
    graph.values[id].type = type;
    graph.values[id].constant = true;
    graph.values[id].int64 = std::make_shared<const std::vector<std::int64_t>>(1, zero);
    return id;
  }
  /// x through a pair, as exporters write it.
  ValueId pair(ValueId x, float scale, std::int64_t zero, DataType type, float back = 0) {
    const Dims shape = graph.value(x).shape;
    const ValueId q =
        node("host.QuantizeLinear", {x, scalar(scale), zero_point(zero, type)}, shape);
    graph.values[q].type = type;
    return node("host.DequantizeLinear",
                {q, scalar(back == 0 ? scale : back), zero_point(zero, type)}, shape);
  }
};

/// Two products with a Relu between, every activation through a pair.
graph::Graph model(QdqBuilder& b) {
  const ValueId x = b.pair(b.input("x", {4, 16}), 0.02F, 7, DataType::int8);
  const ValueId y = b.node("MatMul", {x, b.constant("w", {16, 32})}, {4, 32});
  const ValueId r = b.pair(b.node("Relu", {y}, {4, 32}), 0.03F, 0, DataType::uint8);
  return b.finish({b.node("MatMul", {r, b.constant("v", {32, 8})}, {4, 8})});
}

}  // namespace

TEST_CASE("pairs go, and say which numbers their int8 holds") {
  QdqBuilder b;
  graph::Graph graph = model(b);
  const std::map<std::string, Range> ranges = unquantise(graph);
  REQUIRE(graph.nodes.size() == 3);
  for (const graph::Node& node : graph.nodes) CHECK(!node.op.starts_with("host."));
  REQUIRE(ranges.size() == 2);
  // int8, zero point 7: (-128 - 7) * 0.02 to (127 - 7) * 0.02; uint8 from 0: 0 to 255 * 0.03.
  CHECK(ranges.at("x").low == doctest::Approx(-2.70));
  CHECK(ranges.at("x").high == doctest::Approx(2.40));
  CHECK(ranges.begin()->second.low == 0.0F);
}

TEST_CASE("the card's tensors have the model's scales and zero points, and compute what it says") {
  QdqBuilder b;
  const graph::Graph exact = model(b);
  graph::Graph graph = exact;
  LowerOptions options;
  options.pruning.ratio = net::balanced(1);
  options.symmetric = false;
  options.known = unquantise(graph);
  const net::Net net = lower(graph, options);
  const auto& first = std::get<net::Conv>(net.layers.at(0).op);
  CHECK(net.tensor(first.in).quant.scale == doctest::Approx(0.02));
  CHECK(net.tensor(first.in).quant.zero == 7);
  CHECK(net.tensor(first.out).quant.scale == doctest::Approx(0.03));
  CHECK(net.tensor(first.out).quant.zero == -128);

  const Sample sample = random_sample(graph, options.seed);
  graph::FloatExecutor host(exact);
  host.run(sample);
  const std::vector<float>& wanted = host.value(exact.outputs[0]);
  const std::vector<float> got = reference::Executor(net).run({sample.at("x")}).at(0);
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    signal += double{wanted[i]} * double{wanted[i]};
    noise += std::pow(double{wanted[i]} - double{got[i]}, 2);
  }
  CHECK(signal > 1000 * noise);  // int8 weights and one rounding of each sum
}

TEST_CASE("what does not undo, or leaves the model, stays") {
  {
    QdqBuilder b;
    graph::Graph graph = b.finish(
        {b.node("Relu", {b.pair(b.input("x", {4}), 0.02F, 0, DataType::int8, 0.04F)}, {4})});
    CHECK(unquantise(graph).empty());
    CHECK(graph.nodes.size() == 3);
  }
  {
    QdqBuilder b;
    graph::Graph graph =
        b.finish({b.pair(b.node("Relu", {b.input("x", {4})}, {4}), 0.02F, 0, DataType::int8)});
    CHECK(unquantise(graph).empty());
    CHECK(graph.nodes.size() == 3);
  }
}
