// SPDX-License-Identifier: Apache-2.0
#include "workloads/graph/serial.h"

#include <doctest/doctest.h>

#include <random>

#include "models/base/error.h"
#include "workloads/graph/builder.h"
#include "workloads/graph/cost.h"
#include "workloads/graph/float_executor.h"

using namespace steppe;
using namespace steppe::graph;

namespace {

/// Every kind of attribute and constant, canonical and host operators.
Graph mixed() {
  Builder b("mixed");
  const ValueId x = b.input("x", DataType::fp32, {2, 3});
  const ValueId i = b.input("i", DataType::int64, {2});
  b.set_scope("softmax");
  const ValueId soft = b.add("Softmax", {x}, {{"axis", std::int64_t{1}}});
  b.set_scope("elu");
  const ValueId elu = b.add("Elu", {soft}, {{"alpha", 0.5F}});
  b.set_scope("transpose");
  const ValueId turned = b.transpose(elu, {1, 0});
  b.set_scope("gather");
  const ValueId taken = b.add_host("Gather", {turned, i}, {{"axis", std::int64_t{0}}}, 1).front();
  b.set_scope("add");
  const ValueId sum = b.add("Add", {taken, b.constant("c", {2}, {1, 2})});
  b.set_scope("cast");
  const ValueId cast = b.add_host("Cast", {sum}, {{"to", std::int64_t{6}}}, 1).front();
  b.graph().outputs = {cast, sum};
  return b.graph();
}

std::map<std::string, Tensor> inputs() {
  Tensor x = zeros(DataType::fp32, {2, 3});
  x.fp32 = {1, 2, 3, -1, 0, 1};
  Tensor i = zeros(DataType::int64, {2});
  i.int64 = {2, 0};
  return {{"x", x}, {"i", i}};
}

}  // namespace

TEST_CASE("a graph comes back from its bytes and computes the same") {
  const Graph graph = mixed();
  const std::vector<std::uint8_t> bytes = serialise(graph);
  const Graph back = deserialise(bytes);
  CHECK(serialise(back) == bytes);
  FloatExecutor a(graph);
  FloatExecutor b(back);
  a.run_tensors(inputs());
  b.run_tensors(inputs());
  CHECK(a.tensor(graph.outputs[0]).int64 == b.tensor(back.outputs[0]).int64);
  CHECK(a.tensor(graph.outputs[1]).fp32 == b.tensor(back.outputs[1]).fp32);
}

TEST_CASE("30,000 damaged graphs: a graph that runs or a ModelError") {
  const std::vector<std::uint8_t> good = serialise(mixed());
  std::mt19937 random(1);
  int taken = 0;
  int ran = 0;
  for (int round = 0; round < 30000; ++round) {
    std::vector<std::uint8_t> bytes = good;
    for (std::uint32_t n = random() % 3 + 1; n > 0; --n) {
      const std::size_t at = random() % bytes.size();
      bytes[at] = random() % 2 == 0 ? static_cast<std::uint8_t>(random())
                                    : static_cast<std::uint8_t>(bytes[at] ^ (1U << random() % 8));
    }
    try {
      const Graph graph = deserialise(bytes);
      ++taken;
      std::uint64_t elements = 0;
      for (const Value& value : graph.values) elements = std::max(elements, value.elements());
      if (elements > 1000) continue;  // what is large is right, and slow
      FloatExecutor executor(graph);
      executor.run_tensors(inputs());
      ++ran;
    } catch (const ModelError&) {
    }
  }
  CHECK(taken > 1000);
  CHECK(ran > 1000);
}

TEST_CASE("the cost of nodes, by hand") {
  Builder b("m");
  const ValueId x = b.input("x", DataType::fp32, {4, 8});
  const ValueId w = b.constant("w", {8, 16}, std::vector<float>(128));
  const ValueId product = b.add("MatMul", {x, w});
  b.add_host("ArgMax", {product}, {{"opset", std::int64_t{13}}}, 1);
  const Graph& graph = b.graph();
  const Cost matmul = cost_of(graph, graph.nodes[0]);
  CHECK(matmul.operations == 2 * 4 * 16 * 8);
  CHECK(matmul.bytes == 4 * (32 + 128 + 64));
  const Cost argmax = cost_of(graph, graph.nodes[1]);  // [4, 16] fp32 to [1, 16] int64
  CHECK(argmax.operations == 64);
  CHECK(argmax.bytes == 4 * 64 + 8 * 16);
}
