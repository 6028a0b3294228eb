// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/place.h"

#include <doctest/doctest.h>

#include "workloads/graph/builder.h"
#include "workloads/graph/float_executor.h"
#include "workloads/graph/shape.h"

using namespace steppe;
using namespace steppe::passes;
using graph::Builder;
using graph::DataType;
using graph::Graph;
using graph::ValueId;

namespace {

std::vector<std::string> node_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const graph::Node& node : graph.nodes) names.push_back(node.name);
  return names;
}
std::vector<std::string> names_of(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::string> names;
  for (const ValueId id : ids) names.push_back(graph.value(id).name);
  return names;
}
using Names = std::vector<std::string>;

ValueId add(Builder& b, const char* name, const char* op, std::vector<ValueId> inputs) {
  b.set_scope(name);
  return b.add(op, std::move(inputs));
}
ValueId add_host(Builder& b, const char* name, const char* op, std::vector<ValueId> inputs) {
  b.set_scope(name);
  return b.add_host(op, std::move(inputs), {{"opset", std::int64_t{13}}}, 1).front();
}

const LowerOptions fp32{.precision = net::Type::fp32};

}  // namespace

TEST_CASE("a model that the card runs has one part") {
  Builder b("m");
  const ValueId x = b.input("x", DataType::fp32, {2, 3});
  b.graph().outputs = {add(b, "e", "Exp", {x})};
  const Placement placement = place(b.graph(), fp32);
  CHECK_FALSE(placement.hosted());
  CHECK(node_names(placement.card) == Names{"e"});
  CHECK(placement.reasons.empty());
}

TEST_CASE("host operators stand before and after the card's part; values pass by it") {
  // x - Det (host) - exp - ArgMax (host); the model's output `kept` is the first host result.
  Builder b("m");
  const ValueId x = b.input("x", DataType::fp32, {3, 2, 2});
  const ValueId det = add_host(b, "det", "Det", {x});
  const ValueId e = add(b, "exp", "Exp", {det});
  const ValueId best = add_host(b, "best", "ArgMax", {e});
  b.graph().outputs = {best, det};
  const Placement placement = place(b.graph(), fp32);
  REQUIRE(placement.hosted());
  CHECK(node_names(placement.before) == Names{"det"});
  CHECK(node_names(placement.card) == Names{"exp"});
  CHECK(node_names(placement.after) == Names{"best"});
  const std::string det_name = b.value(det).name;
  const std::string exp_name = b.value(e).name;
  CHECK(names_of(placement.before, placement.before.inputs) == Names{"x"});
  CHECK(names_of(placement.before, placement.before.outputs) == Names{det_name});
  CHECK(names_of(placement.card, placement.card.inputs) == Names{det_name});
  CHECK(names_of(placement.card, placement.card.outputs) == Names{exp_name});
  CHECK(names_of(placement.after, placement.after.inputs) == Names{det_name, exp_name});
  CHECK(names_of(placement.after, placement.after.outputs) == Names{b.value(best).name, det_name});
  CHECK(placement.reasons.size() == 2);
  for (const Graph* part : {&placement.before, &placement.card, &placement.after}) {
    CHECK_NOTHROW(graph::check(*part));
  }
}

TEST_CASE("of two parts the card gets the one with more work") {
  // A product of 4 x 4 x 4 in front of the host's operator, one of 4 x 4 x 64 behind it.
  Builder b("m");
  const ValueId x = b.input("x", DataType::fp32, {4, 4});
  const ValueId small = b.constant("s", {4, 4}, std::vector<float>(16, 1.0F));
  const ValueId large = b.constant("l", {4, 64}, std::vector<float>(256, 1.0F));
  const ValueId first = add(b, "first", "MatMul", {x, small});
  const ValueId cut = add_host(b, "cut", "Trilu", {first});
  b.graph().outputs = {add(b, "second", "MatMul", {cut, large})};
  const Placement placement = place(b.graph(), fp32);
  CHECK(node_names(placement.before) == Names{"first", "cut"});
  CHECK(node_names(placement.card) == Names{"second"});
  CHECK(placement.after.nodes.empty());
}

TEST_CASE("a canonical operator without a layer goes to the host, with the layout's reason") {
  Builder b("m");
  const ValueId x = b.input("x", DataType::fp32, {1, 1, 5, 5});
  b.set_scope("pool");
  const ValueId pooled = b.add("MaxPool", {x},
                               {{"kernel_shape", graph::Shape{2, 2}},
                                {"strides", graph::Shape{1, 1}},
                                {"pads", graph::Shape{0, 0, 0, 0}},
                                {"dilations", graph::Shape{2, 2}}});
  b.graph().outputs = {add(b, "e", "Exp", {pooled})};
  const Placement placement = place(b.graph(), fp32);
  CHECK(node_names(placement.before) == Names{"pool"});
  CHECK(node_names(placement.card) == Names{"e"});
  REQUIRE(placement.reasons.contains("pool"));
  CHECK(placement.reasons.at("pool").find("dilation of 2") != std::string::npos);
}

TEST_CASE("views alone are for the card where it can do all of them, else for the host") {
  Builder b("m");
  const ValueId x = b.input("x", DataType::fp32, {2, 3, 4});
  b.graph().outputs = {b.reshape(x, {2, 12})};
  CHECK_FALSE(place(b.graph(), fp32).hosted());
  b.graph().outputs = {add_host(b, "cut", "Trilu", {b.reshape(x, {2, 12})})};
  const Placement placement = place(b.graph(), fp32);
  CHECK(placement.hosted());
  CHECK(placement.card.nodes.empty());
  CHECK(placement.reasons.size() >= 1);
}

TEST_CASE("a model without a node for the card, and one whose output is a constant") {
  Builder b("m");
  const ValueId x = b.input("x", DataType::int64, {3});
  const ValueId c = b.integers("c", {2}, {7, 8});
  b.graph().outputs = {add_host(b, "neg", "Neg", {x}), c};
  const Placement placement = place(b.graph(), fp32);
  CHECK(placement.hosted());
  CHECK(placement.card.nodes.empty());
  CHECK(node_names(placement.before) == Names{"neg"});
  CHECK(placement.after.outputs.size() == 2);
  graph::FloatExecutor after(placement.after);
  graph::Tensor three = graph::zeros(DataType::int64, {3});
  after.run_tensors({{names_of(placement.after, placement.after.inputs).at(0), three}});
  CHECK(after.tensor(placement.after.outputs[1]).int64 == std::vector<std::int64_t>{7, 8});
}
