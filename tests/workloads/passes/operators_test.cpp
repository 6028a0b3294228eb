// SPDX-License-Identifier: Apache-2.0
//
// Operators as layers of the card against what ../operators and the kernels of the graph say of
// them: other arithmetic in other element orders.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/base/error.h"
#include "workloads/graph/builder.h"
#include "workloads/graph/float_executor.h"
#include "workloads/operators/tensor.h"
#include "workloads/passes/calibrate.h"
#include "workloads/passes/lower.h"
#include "workloads/passes/place.h"
#include "workloads/reference/executor.h"

using namespace steppe;
using namespace steppe::passes;
using graph::Builder;
using graph::DataType;
using graph::Shape;
using graph::ValueId;

namespace {

graph::Attributes over(const Shape& axes, bool keep) {
  return {{"axes", axes}, {"keepdims", std::int64_t{keep}}};
}
graph::Attributes along(std::int64_t axis, bool keep) {
  return {{"axis", axis}, {"keepdims", std::int64_t{keep}}, {"select_last_index", std::int64_t{0}}};
}

struct Results {
  std::vector<double> card, expected;
};

/// The first output of a graph by the reference executor, as the card stores it, and by the
/// graph's own executor.
Results run(Builder& b, ValueId output, net::Type precision = net::Type::fp32) {
  b.graph().outputs = {output};
  const graph::Graph& graph = b.graph();
  graph::check(graph);
  LowerOptions options{.precision = precision};
  CHECK_FALSE(place(graph, options).hosted());
  const Sample sample = random_sample(graph, 7);
  options.samples = {sample};
  const net::Net net = lower(graph, options);
  graph::FloatExecutor executor(graph);
  executor.run(sample);
  std::vector<std::vector<float>> inputs;
  for (const net::Port& port : net.inputs) inputs.push_back(sample.at(port.name));
  const std::vector<float> card = reference::Executor(net).run(inputs).at(0);
  return {{card.begin(), card.end()}, graph::reals(executor.tensor(output))};
}

/// Within some units of fp32's last place of the largest element.
void compare(Builder& b, ValueId output) {
  const Results results = run(b, output);
  REQUIRE(results.card.size() == results.expected.size());
  double largest = 1e-6;
  for (const double y : results.expected) largest = std::max(largest, std::abs(y));
  for (std::size_t i = 0; i < results.card.size(); ++i) {
    CHECK(results.card[i] == doctest::Approx(results.expected[i]).epsilon(1e-5).scale(largest));
  }
}

}  // namespace

TEST_CASE("reductions over any axes") {
  for (const char* op :
       {"ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare", "ReduceL2"}) {
    for (const Shape& axes : {Shape{0}, Shape{1}, Shape{2}, Shape{3}, Shape{1, 2}, Shape{0, 3},
                              Shape{2, 3}, Shape{0, 1, 2, 3}}) {
      for (const bool keep : {true, false}) {
        INFO(std::string(op), " over ", graph::text(axes));
        Builder b("m");
        const ValueId x = b.input("x", DataType::fp32, {3, 4, 2, 5});
        compare(b, b.add(op, {x}, over(axes, keep)));
      }
    }
  }
}

TEST_CASE("a reduction of images that lie as pixels and channels") {
  Builder b("m");
  const ValueId x = b.input("x", DataType::fp32, {2, 6, 5, 4});
  const ValueId weights = b.constant("w", {6, 6, 1, 1}, std::vector<float>(36, 0.25F));
  const ValueId y = b.add("Conv", {x, weights},
                          {{"kernel_shape", Shape{1, 1}},
                           {"strides", Shape{1, 1}},
                           {"pads", Shape{0, 0, 0, 0}},
                           {"dilations", Shape{1, 1}},
                           {"group", std::int64_t{1}}});
  b.graph().outputs = {b.add("ReduceMax", {y}, over({1}, true))};
  const net::Net net = lower(b.graph(), {.precision = net::Type::fp32});
  REQUIRE(net.layers.size() >= 2);
  // The channels lie innermost already: nothing has to be moved.
  for (const net::Layer& layer : net.layers) {
    CHECK_FALSE(std::holds_alternative<net::Permute>(layer.op));
  }
}

TEST_CASE("the best of an axis is an index, whatever the precision") {
  for (const net::Type precision : {net::Type::fp32, net::Type::bf16, net::Type::int8}) {
    for (const std::int64_t axis : {0, 1}) {
      Builder b("m");
      const ValueId x = b.input("x", DataType::fp32, {3, 600});
      const ValueId best = b.add("ArgMax", {x}, along(axis, false));
      CHECK(b.value(best).type == DataType::int64);
      const Results results = run(b, best, precision);
      if (precision == net::Type::fp32) CHECK(results.card == results.expected);
      // Of 600 normal numbers one stands out, which bf16 and int8 leave the largest.
      if (axis == 1) {
        for (std::size_t i = 0; i < 3; ++i) {
          CHECK(results.card[i] == std::nearbyint(results.card[i]));
          CHECK(results.card[i] < 600);
        }
        if (precision == net::Type::bf16) CHECK(results.card == results.expected);
      }
    }
  }
}

TEST_CASE("of equals the first is the best; the last is the host's") {
  Builder b("m");
  const ValueId x = b.input("x", DataType::fp32, {2, 3});
  const ValueId same = b.add("Mul", {x, b.scalar(0.0F)});
  CHECK(run(b, b.add("ArgMin", {same}, along(1, true))).card == std::vector<double>{0, 0});
  graph::Attributes last = along(1, true);
  last["select_last_index"] = std::int64_t{1};
  b.graph().outputs = {b.add("ArgMax", {same}, last)};
  CHECK(place(b.graph(), {.precision = net::Type::fp32}).hosted());
}

TEST_CASE("comparisons and booleans are exact in every precision") {
  for (const net::Type precision : {net::Type::fp32, net::Type::bf16, net::Type::int8}) {
    for (const std::string op : {"Equal", "Less", "LessOrEqual"}) {
      if (op == "Equal" && precision == net::Type::int8) continue;  // the host's
      INFO(op, " in ", net::name_of(precision));
      Builder b("m");
      const ValueId x = b.add("Sign", {b.input("x", DataType::fp32, {4, 6})});
      const ValueId y = b.add("Sign", {b.input("y", DataType::fp32, {6})});
      const Results results = run(b, b.add(op, {x, y}), precision);
      CHECK(results.card == results.expected);
      CHECK(std::ranges::count(results.card, 1.0) > 0);
      CHECK(std::ranges::count(results.card, 0.0) > 0);
    }
    for (const char* op : {"And", "Or", "Xor"}) {
      INFO(std::string(op), " in ", net::name_of(precision));
      Builder b("m");
      const ValueId x = b.input("x", DataType::boolean, {5, 1, 4});
      const ValueId y = b.input("y", DataType::boolean, {3, 1});
      const ValueId z = b.add("Not", {b.add(op, {x, y})});
      const Results results = run(b, b.transpose(z, {2, 0, 1}), precision);
      CHECK(results.card == results.expected);
      CHECK(std::ranges::count(results.card, 1.0) > 0);
      CHECK(std::ranges::count(results.card, 0.0) > 0);
    }
  }
}

TEST_CASE("int8 does not judge what is equal") {
  Builder b("m");
  const ValueId y = b.add("Exp", {b.input("x", DataType::fp32, {4})});
  b.set_scope("equal");
  b.graph().outputs = {b.add("Equal", {y, b.scalar(1.0F)})};
  const Placement placement = place(b.graph(), {.precision = net::Type::int8});
  CHECK(placement.reasons.at("equal") == "int8 seldom keeps what is equal");
}

TEST_CASE("nodes that only lie beyond one of the host's are told apart") {
  Builder b("m");
  b.set_scope("first");
  const ValueId a = b.add("Exp", {b.input("x", DataType::fp32, {4, 40})});
  b.set_scope("middle");
  const ValueId cut = b.add_host("Trilu", {a}, {{"opset", std::int64_t{14}}}, 1).front();
  b.set_scope("last");
  const ValueId w = b.constant("w", {40, 40}, std::vector<float>(1600, 1.0F));
  b.graph().outputs = {b.add("MatMul", {cut, w})};
  const Placement placement = place(b.graph(), {.precision = net::Type::fp32});
  CHECK(placement.stranded == std::vector<std::string>{"first"});
  CHECK(placement.reasons.size() == 1);
}

TEST_CASE("what softmax alone reads is calibrated without masks, also those made at run time") {
  for (const float depth : {-10000.0F, -3.4028e38F, -std::numeric_limits<float>::infinity()}) {
    for (const bool runs : {false, true}) {
      INFO(depth, runs ? " by an input" : " by a constant");
      Builder b("m");
      const ValueId x = b.input("x", DataType::fp32, {4, 6});
      ValueId sum = graph::no_value;
      if (runs) {
        sum = b.add("Where", {b.input("kept", DataType::boolean, {4, 6}), x, b.scalar(depth)});
      } else {
        std::vector<float> mask(24, 0.0F);
        for (std::size_t i = 0; i < mask.size(); i += 4) mask[i] = depth;
        sum = b.add("Add", {x, b.constant("mask", {4, 6}, mask)});
      }
      const ValueId y = b.add("Softmax", {sum}, {{"axis", std::int64_t{1}}});
      const Results results = run(b, y, net::Type::int8);
      for (std::size_t i = 0; i < results.card.size(); ++i) {
        CHECK(std::abs(results.card[i] - results.expected[i]) < 0.03);
      }
    }
  }
}

TEST_CASE("integers have ranges, booleans are exact") {
  Builder b("m");
  const graph::Attributes real{{"to", std::int64_t{1}}};
  const ValueId count = b.input("count", DataType::int64, {2, 3});
  const ValueId kept = b.input("kept", DataType::boolean, {2, 3});
  b.graph().outputs = {b.add("Add", {b.add("Cast", {count}, real), b.add("Cast", {kept}, real)})};
  const Sample sample{{"count", {-1000, 0, 40, 500, 3, 999}}, {"kept", {1, 0, 1, 1, 0, 0}}};
  const auto ranges = calibrate(b.graph(), {sample}, {});
  CHECK(ranges[count].low == -1000);
  CHECK(ranges[count].high == 999);
  CHECK(ranges[kept].high == 0);  // scale 1: no steps between
}

TEST_CASE("a choice by booleans that run, and by constant ones; what is not chosen is not seen") {
  Builder b("m");
  const ValueId x = b.input("x", DataType::fp32, {2, 3, 4});
  const ValueId mask = b.input("mask", DataType::boolean, {3, 1});
  compare(b, b.add("Where", {mask, x, b.scalar(-5.0F)}));
  const ValueId fixed = b.integers("fixed", {4}, {1, 0, 0, 1}, DataType::boolean);
  const ValueId infinite = b.add("Div", {x, b.scalar(0.0F)});
  compare(b, b.add("Where", {fixed, b.scalar(2.0F), b.add("Where", {fixed, infinite, x})}));
  compare(b, b.add("Where", {mask, b.scalar(1.0F), b.scalar(3.0F)}));
}

TEST_CASE("a port of booleans or integers") {
  Builder b("m");
  const ValueId mask = b.input("mask", DataType::boolean, {2, 3});
  const ValueId count = b.input("count", DataType::int64, {2, 3});
  const graph::Attributes real{{"to", std::int64_t{1}}};
  const ValueId sum = b.add("Add", {b.add("Cast", {mask}, real), b.add("Cast", {count}, real)});
  const ValueId some = b.add("Less", {b.scalar(0.5F), sum});
  const Results results = run(b, some, net::Type::bf16);
  CHECK(results.card == results.expected);
  const net::Net net = lower(b.graph(), {.precision = net::Type::bf16});
  CHECK(net.inputs.at(0).user == net::UserType::boolean);
  CHECK(net.inputs.at(1).user == net::UserType::int64);
  CHECK(net.tensor(net.inputs[1].tensor).type == net::Type::fp32);
  CHECK(net.outputs.at(0).user == net::UserType::boolean);
}

TEST_CASE("functions of one value, rounding to even") {
  for (const char* op : {"Sin", "Cos", "Round", "Sign"}) {
    INFO(std::string(op));
    Builder b("m");
    const ValueId x = b.add("Mul", {b.input("x", DataType::fp32, {3, 40}), b.scalar(3.0F)});
    compare(b, b.add(op, {x}));
  }
  Builder b("m");
  const ValueId halves =
      b.add("Mul", {b.add("Sign", {b.input("x", DataType::fp32, {1, 9})}), b.scalar(2.5F)});
  for (const double y : run(b, b.add("Round", {halves})).card) CHECK(std::abs(y) == 2);
}

TEST_CASE("a number around an array") {
  for (const net::Type precision : {net::Type::fp32, net::Type::bf16, net::Type::int8}) {
    for (const Shape& pads : {Shape{0, 0, 1, 2, 0, 0, 3, 0}, Shape{1, 0, 0, 0, 0, 2, 0, 1}}) {
      Builder b("m");
      const ValueId x = b.input("x", DataType::fp32, {2, 3, 4, 5});
      const ValueId padded = b.add("Pad", {x}, {{"pads", pads}, {"value", 3.0F}});
      const Results results = run(b, b.add("Mul", {padded, b.scalar(-1.0F)}), precision);
      REQUIRE(results.card.size() == results.expected.size());
      for (std::size_t i = 0; i < results.card.size(); ++i) {
        CHECK(results.card[i] == doctest::Approx(results.expected[i]).epsilon(0.01).scale(3.0));
      }
    }
  }
}

TEST_CASE("views alone become a copy") {
  Builder b("m");
  const ValueId x = b.input("x", DataType::fp32, {2, 3, 4});
  compare(b, b.reshape(x, {6, 4}));
  compare(b, b.transpose(x, {2, 0, 1}));
  // The same beside work, an input that is an output, too.
  const ValueId view = b.reshape(x, {24});
  const ValueId work = b.add("Exp", {x});
  b.graph().outputs = {work, view};
  const net::Net net = lower(b.graph(), {.precision = net::Type::fp32});
  const Sample sample = random_sample(b.graph(), 1);
  CHECK(reference::Executor(net).run({sample.at("x")}).at(1) == sample.at("x"));
  // Two outputs of one tensor.
  b.graph().outputs = {b.reshape(work, {4, 6}), work};
  const net::Net twice = lower(b.graph(), {.precision = net::Type::fp32});
  CHECK(twice.outputs.at(0).tensor != twice.outputs.at(1).tensor);
}

TEST_CASE("extents beyond an instruction's fields are the host's, or are taken otherwise") {
  const auto refusal = [](std::int64_t kernel, std::int64_t stride, std::int64_t dilation) {
    Builder b("m");
    b.set_scope("conv");
    const auto taps = static_cast<std::size_t>(kernel);
    const ValueId weights = b.constant("w", {1, 1, kernel}, std::vector<float>(taps, 1.0F));
    b.graph().outputs = {b.add("Conv", {b.input("x", DataType::fp32, {1, 1, 2000}), weights},
                               {{"kernel_shape", Shape{kernel}},
                                {"strides", Shape{stride}},
                                {"pads", Shape{0, 0}},
                                {"dilations", Shape{dilation}},
                                {"group", std::int64_t{1}}})};
    const Placement placement = place(b.graph(), {.precision = net::Type::int8});
    return placement.hosted() ? placement.reasons.at("conv") : std::string();
  };
  CHECK(refusal(255, 255, 1).empty());
  CHECK(refusal(256, 1, 1) == "kernel_h of 256; an instruction holds 255");
  CHECK(refusal(3, 256, 1) == "stride_h of 256; an instruction holds 255");
  CHECK(refusal(3, 1, 300) == "dilation_h of 300; an instruction holds 255");
  Builder b("m");
  compare(b,
          b.add("ReduceMean", {b.input("x", DataType::fp32, {2, 300, 250})}, over({1, 2}, true)));
}

TEST_CASE("operands of types that an operator does not take") {
  Builder b("m");
  const ValueId x = b.input("x", DataType::fp32, {2});
  const ValueId mask = b.input("mask", DataType::boolean, {2});
  CHECK_THROWS_WITH_AS(b.add("And", {x, mask}), doctest::Contains("'x' has the wrong element type"),
                       ModelError);
  CHECK_THROWS_WITH_AS(b.add("Exp", {mask}),
                       doctest::Contains("'mask' holds booleans that are known only when"),
                       ModelError);
  CHECK_THROWS_WITH_AS(b.add("Where", {x, x, x}), doctest::Contains("wrong element type"),
                       ModelError);
  CHECK_THROWS_WITH_AS(b.add("Where", {mask, x}), doctest::Contains("operands"), ModelError);
  CHECK_THROWS_WITH_AS(b.add("Concat", {x, mask}, {{"axis", std::int64_t{0}}}),
                       doctest::Contains("another element type"), ModelError);
  CHECK_THROWS_AS(b.add("ArgMax", {x}, along(1, false)), ModelError);
  CHECK_THROWS_WITH_AS(b.add("Cast", {mask}, {{"to", std::int64_t{7}}}),
                       doctest::Contains("into fp32 alone"), ModelError);
}
