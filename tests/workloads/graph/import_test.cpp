// SPDX-License-Identifier: Apache-2.0
#include "workloads/graph/import.h"

#include <doctest/doctest.h>

#include "models/base/error.h"
#include "onnx_model.h"
#include "workloads/graph/float_executor.h"

using namespace steppe;
using namespace steppe::graph;
using test::Dims;
using test::Model;
using test::set;

namespace {

using Reals = std::vector<float>;

/// The first output for the only input.
Reals run(const Graph& graph, const Reals& x) {
  FloatExecutor executor(graph);
  executor.run({{graph.value(graph.inputs.at(0)).name, x}});
  return executor.value(graph.outputs.at(0));
}

Dims shape(const Graph& graph) { return graph.value(graph.outputs.at(0)).shape; }

std::vector<std::string> operators(const Graph& graph) {
  std::vector<std::string> result;
  for (const Node& node : graph.nodes) result.push_back(node.op);
  return result;
}

using Operators = std::vector<std::string>;

void check_fails(const Model& model, const char* part, const ImportOptions& options = {}) {
  CHECK_THROWS_WITH_AS(model.import(options), doctest::Contains(part), ModelError);
}

}  // namespace

TEST_CASE("Gemm becomes MatMul and Add, its factors go into the constants") {
  Model m;
  m.input("x", {1, 2}).output("y");
  m.reals("w", {3, 2}, {1, 2, 3, 4, 5, 6}).reals("c", {3}, {10, 20, 30});
  set(set(set(m.node("Gemm", {"x", "w", "c"}, {"y"}), "transB", std::int64_t{1}), "alpha", 2.0F),
      "beta", 0.5F);
  const Graph graph = m.import();
  CHECK(operators(graph) == Operators{"MatMul", "Add"});
  // 2 * (1 * 1 + 10 * 2) + 5 = 47; 2 * (3 + 40) + 10 = 96; 2 * (5 + 60) + 15 = 145
  CHECK(run(graph, {1, 10}) == Reals{47, 96, 145});
}

TEST_CASE("a normalisation becomes part of the convolution in front") {
  Model m;
  m.input("x", {1, 1, 1, 2}).output("y");
  m.reals("w", {2, 1, 1, 1}, {3, 5}).reals("b", {2}, {1, 2});
  m.reals("s", {2}, {2, 1}).reals("t", {2}, {0.5F, 0}).reals("mean", {2}, {1, 2});
  m.reals("var", {2}, {3, 0});
  m.node("Conv", {"x", "w", "b"}, {"z"});
  set(m.node("BatchNormalization", {"z", "s", "t", "mean", "var"}, {"y"}), "epsilon", 1.0F);
  const Graph graph = m.import();
  CHECK(operators(graph) == Operators{"Conv"});
  CHECK(graph.nodes[0].name == "n_z");
  CHECK(graph.value(graph.outputs[0]).name == "y");
  // Channel 0: (3 x + 1 - 1) * 2 / sqrt(3 + 1) + 0.5 = 3 x + 0.5; channel 1: 5 x + 2 - 2 = 5 x.
  CHECK(run(graph, {1, -2}) == Reals{3.5F, -5.5F, 5, -10});
}

TEST_CASE("a normalisation whose operand is read elsewhere stays a factor and a sum") {
  Model m;
  m.input("x", {1, 1, 1, 2}).output("y").output("z");
  m.reals("w", {1, 1, 1, 1}, {3}).reals("one", {1}, {1}).reals("zero", {1}, {0});
  m.node("Conv", {"x", "w"}, {"z"});
  set(m.node("BatchNormalization", {"z", "one", "zero", "one", "one"}, {"y"}), "epsilon", 3.0F);
  const Graph graph = m.import();
  CHECK(operators(graph) == Operators{"Conv", "Mul", "Add"});
  CHECK(run(graph, {1, 3}) == Reals{1, 4});  // (3 x - 1) / sqrt(1 + 3)
}

TEST_CASE("auto_pad SAME_UPPER pads the end more, SAME_LOWER the start") {
  for (const bool lower : {false, true}) {
    Model m;
    m.input("x", {1, 1, 1, 4}).output("y").reals("w", {1, 1, 1, 2}, {1, 10});
    set(m.node("Conv", {"x", "w"}, {"y"}), "auto_pad", lower ? "SAME_LOWER" : "SAME_UPPER");
    const Graph graph = m.import();
    CHECK(graph.nodes[0].integers("pads") == (lower ? Dims{0, 1, 0, 0} : Dims{0, 0, 0, 1}));
    CHECK(run(graph, {1, 2, 3, 4}) == (lower ? Reals{10, 21, 32, 43} : Reals{21, 32, 43, 4}));
  }
}

TEST_CASE("a pool that rounds up has one window more") {
  Model m;
  m.input("x", {1, 1, 1, 4}).output("y");
  auto& node = set(m.node("MaxPool", {"x"}, {"y"}), "kernel_shape", Dims{1, 3});
  set(set(node, "strides", Dims{1, 2}), "ceil_mode", std::int64_t{1});
  CHECK(run(m.import(), {4, 3, 2, 1}) == Reals{4, 2});  // floor((4 - 3) / 2) + 1 would be 1
}

TEST_CASE("Softmax of operator set 12 is over all axes from its own on") {
  for (const std::int64_t opset : {12, 13}) {
    Model m(opset);
    m.input("x", {1, 2, 2}).output("y");
    set(m.node("Softmax", {"x"}, {"y"}), "axis", std::int64_t{1});
    const Graph graph = m.import();
    CHECK(shape(graph) == Dims{1, 2, 2});
    const float part = opset == 12 ? 0.25F : 0.5F;
    CHECK(run(graph, {0, 0, 0, 0}) == Reals(4, part));
  }
}

TEST_CASE("bounds of Clip: attributes, operands, absent") {
  Model old(10);
  old.input("x", {3}).output("y");
  set(set(old.node("Clip", {"x"}, {"y"}), "min", 0.0F), "max", 6.0F);
  CHECK(run(old.import(), {-1, 3, 9}) == Reals{0, 3, 6});
  Model m(11);
  m.input("x", {3}).output("y").reals("top", {}, {6});
  m.node("Clip", {"x", "", "top"}, {"y"});
  const Graph graph = m.import();
  CHECK(graph.nodes[0].inputs[1] == no_value);
  CHECK(run(graph, {-1, 3, 9}) == Reals{-1, 3, 6});
}

TEST_CASE("axes as attributes and as operands give the same graph") {
  Model old(11);
  old.input("x", {4, 3}).output("y");
  set(set(set(old.node("Slice", {"x", "s", "e", "a"}, {"z"}), "unused", std::int64_t{0}), "also",
          std::int64_t{0}),
      "more", std::int64_t{0});
  old.integers("s", {1}, {-3}).integers("e", {1}, {1000}).integers("a", {1}, {0});
  set(old.node("Unsqueeze", {"z"}, {"y"}), "axes", Dims{0});
  Model m(13);
  m.input("x", {4, 3}).output("y");
  m.integers("s", {1}, {-3}).integers("e", {1}, {1000}).integers("a", {1}, {0});
  m.node("Slice", {"x", "s", "e", "a"}, {"z"});
  m.node("Unsqueeze", {"z", "a"}, {"y"});
  Reals x(12);
  for (std::size_t i = 0; i < 12; ++i) x[i] = static_cast<float>(i);
  CHECK(shape(m.import()) == Dims{1, 3, 3});
  CHECK(run(m.import(), x) == Reals{3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(run(old.import(), x) == run(m.import(), x));
}

TEST_CASE("arithmetic on shapes vanishes") {
  Model m;
  m.input("x", {2, 3, 4}).output("y");
  m.integers("zero", {}, {0}).integers("minus", {1}, {-1}).integers("first", {1}, {0});
  m.node("Shape", {"x"}, {"s"});
  m.node("Gather", {"s", "zero"}, {"n"});
  m.node("Unsqueeze", {"n", "first"}, {"n1"});
  m.node("Concat", {"n1", "minus"}, {"target"}).mutable_attribute();
  set(*m.proto.mutable_graph()->mutable_node(3), "axis", std::int64_t{0});
  m.node("Reshape", {"x", "target"}, {"y"});
  const Graph graph = m.import();
  CHECK(operators(graph) == Operators{"Reshape"});
  CHECK(shape(graph) == Dims{2, 12});
}

TEST_CASE("a written-out layer normalisation is one node") {
  Model m;
  m.input("x", {1, 2, 4}).output("y");
  m.reals("two", {}, {2}).reals("eps", {}, {0}).reals("g", {4}, {1, 1, 1, 2});
  m.reals("b", {4}, {0, 0, 0, 10});
  set(m.node("ReduceMean", {"x"}, {"mean"}), "axes", Dims{-1});
  m.node("Sub", {"x", "mean"}, {"d"});
  m.node("Pow", {"d", "two"}, {"d2"});
  set(m.node("ReduceMean", {"d2"}, {"v"}), "axes", Dims{-1});
  m.node("Add", {"v", "eps"}, {"v1"});
  m.node("Sqrt", {"v1"}, {"sd"});
  m.node("Div", {"d", "sd"}, {"n"});
  m.node("Mul", {"n", "g"}, {"ng"});
  m.node("Add", {"ng", "b"}, {"y"});
  const Graph graph = m.import();
  CHECK(operators(graph) == Operators{"LayerNormalization"});
  CHECK(graph.nodes[0].integer("axis") == 2);
  // (1, 1, 3, 3) has mean 2 and deviation 1; (0, 0, 0, 4) has mean 1 and deviation sqrt(3).
  const Reals y = run(graph, {1, 1, 3, 3, 0, 0, 0, 4});
  CHECK(y[0] == -1.0F);
  CHECK(y[3] == 12.0F);
  CHECK(y[4] == doctest::Approx(-0.57735));
  CHECK(y[7] == doctest::Approx(2 * 1.7320508 + 10));
}

TEST_CASE("zeros around an image become pads of the convolution") {
  Model m;
  m.input("x", {1, 1, 1, 2}).output("y").integers("p", {8}, {0, 0, 0, 1, 0, 0, 0, 2});
  m.reals("w", {1, 1, 1, 2}, {1, 10});
  m.node("Pad", {"x", "p"}, {"z"});
  m.node("Conv", {"z", "w"}, {"y"});
  const Graph graph = m.import();
  CHECK(operators(graph) == Operators{"Conv"});
  CHECK(run(graph, {1, 2}) == Reals{10, 21, 2, 0});
}

TEST_CASE("nearest neighbours by whole factors") {
  Model m;
  m.input("x", {1, 1, 1, 2}).output("y").reals("s", {4}, {1, 1, 2, 3}).reals("none", {0}, {});
  auto& node = m.node("Resize", {"x", "none", "s"}, {"y"});
  set(set(node, "coordinate_transformation_mode", "asymmetric"), "nearest_mode", "floor");
  CHECK(run(m.import(), {1, 2}) == Reals{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2});
}

TEST_CASE("a constant matrix in front of a product is turned") {
  Model m;
  m.input("x", {2, 1}).output("y").reals("w", {2, 2}, {1, 2, 3, 4});
  m.node("MatMul", {"w", "x"}, {"y"});
  const Graph graph = m.import();
  CHECK(operators(graph) == Operators{"Transpose", "MatMul", "Transpose"});
  CHECK(run(graph, {1, 10}) == Reals{21, 43});
}

TEST_CASE("open extents are bound by name or by place") {
  Model m;
  m.input("x", {-1, 2, -1}).output("y");
  m.node("Relu", {"x"}, {"y"});
  ImportOptions options;
  options.bindings = {{"d0", 3}, {"x.2", 5}};
  CHECK(shape(m.import(options)) == Dims{3, 2, 5});
  CHECK_THROWS_WITH_AS(m.import(), doctest::Contains("bind d0=N or x.0=N"), ConfigError);
  options.bindings["x.1"] = 4;
  CHECK_THROWS_WITH_AS(m.import(options), doctest::Contains("'x.1' is 2"), ConfigError);
  options.bindings = {{"d0", 3}, {"d2", 5}, {"d3", 5}};
  CHECK_THROWS_WITH_AS(m.import(options), doctest::Contains("no open extent 'd3'"), ConfigError);
  options.bindings = {{"d0", 0}, {"d2", 5}};
  CHECK_THROWS_WITH_AS(m.import(options), doctest::Contains("cannot be 0"), ConfigError);
}

TEST_CASE("names of inputs and outputs stay, copies are made where one value has two") {
  Model m;
  m.input("x", {2}).output("y").output("z").output("x2");
  m.node("Relu", {"x"}, {"y"});
  m.node("Identity", {"y"}, {"z"});
  m.node("Identity", {"x"}, {"x2"});
  const Graph graph = m.import();
  REQUIRE(graph.outputs.size() == 3);
  CHECK(graph.value(graph.outputs[0]).name == "y");
  CHECK(graph.value(graph.outputs[1]).name == "z");
  CHECK(graph.value(graph.outputs[2]).name == "x2");
}

TEST_CASE("nodes out of order are sorted, those that nothing needs are not looked at") {
  Model m;
  m.input("x", {2}).output("y");
  m.node("Neg", {"z"}, {"y"});
  m.node("Relu", {"x"}, {"z"});
  m.node("NoSuchOperator", {"x"}, {"unread"});
  CHECK(run(m.import(), {-1, 2}) == Reals{0, -2});
}

TEST_CASE("random weights replace stubs, and trained ones where that is asked for") {
  Model m;
  m.input("x", {1, 64}).output("y").reals("stub", {64, 64}, Reals(4096, 0.02F));
  Reals trained(64 * 2, 0.5F);
  trained[0] = 1.0F;
  m.reals("trained", {64, 2}, trained);
  m.node("MatMul", {"x", "stub"}, {"h"});
  m.node("MatMul", {"h", "trained"}, {"y"});
  ImportOptions options;
  options.random_weights_seed = 3;
  const auto weights = [](const Graph& g, std::size_t i) {
    return *g.value(g.nodes[i].inputs[1]).fp32;
  };
  const Graph graph = m.import(options);
  CHECK(weights(graph, 1) == trained);
  double square = 0.0;
  for (const float w : weights(graph, 0)) square += double{w} * double{w};
  CHECK(square / 4096 == doctest::Approx(2.0 / 64).epsilon(0.1));  // He et al. 2015
  CHECK(weights(m.import(options), 0) == weights(graph, 0));
  options.randomise_all = true;
  CHECK(weights(m.import(options), 1) != trained);
}

TEST_CASE("what is wrong is named") {
  Model unknown;
  unknown.input("x", {2}).output("y");
  unknown.node("Sofmax", {"x"}, {"y"});
  check_fails(unknown, "node 'n_y': the operator 'Sofmax' is not supported (nearest: Softmax)");
  Model missing;
  missing.input("x", {2}).output("y");
  missing.node("Add", {"x", "nowhere"}, {"y"});
  check_fails(missing, "reads 'nowhere', which nothing makes");
  Model cycle;
  cycle.input("x", {2}).output("y");
  cycle.node("Add", {"x", "y"}, {"z"});
  cycle.node("Relu", {"z"}, {"y"});
  check_fails(cycle, "cycle");
  Model twice;
  twice.input("x", {2}).output("y");
  twice.node("Relu", {"x"}, {"y"});
  twice.node("Neg", {"x"}, {"y"});
  check_fails(twice, "made twice");
  Model shapes;
  shapes.input("x", {2, 3}).output("y").reals("w", {4, 5}, Reals(20, 1));
  shapes.node("MatMul", {"x", "w"}, {"y"});
  check_fails(shapes, "[2,3] and [4,5]");
  Model sizes;
  sizes.input("x", {2}).output("y").reals("c", {3}, {1, 2});
  sizes.node("Add", {"x", "c"}, {"y"});
  check_fails(sizes, "tensor 'c' of [3] has 2 elements");
  Model old(5);
  old.input("x", {2}).output("y");
  old.node("Relu", {"x"}, {"y"});
  check_fails(old, "operator set 5");
}

TEST_CASE("outputs that are not what the file declares, and operands of another type") {
  const auto declare = [](Model& model, const Dims& dims, int type) {
    auto* output = model.proto.mutable_graph()->mutable_output(0);
    auto* tensor = output->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    tensor->mutable_shape();
    for (const std::int64_t n : dims) tensor->mutable_shape()->add_dim()->set_dim_value(n);
  };
  for (const Dims& dims : {Dims{2, 3}, Dims{2, 4}, Dims{6}}) {
    Model model;
    model.input("x", {2, 3}).output("y").node("Relu", {"x"}, {"y"});
    declare(model, dims, onnx::TensorProto::FLOAT);
    if (dims == Dims{2, 3}) {
      CHECK_NOTHROW(model.import());
    } else {
      CHECK_THROWS_WITH_AS(model.import(), doctest::Contains("its node makes [2,3] of fp32"),
                           ModelError);
    }
  }
  Model compares;
  compares.input("x", {2}).output("y").node("Less", {"x", "x"}, {"y"});
  declare(compares, {2}, onnx::TensorProto::FLOAT);
  CHECK_THROWS_WITH_AS(compares.import(), doctest::Contains("[2] of fp32 by the file"), ModelError);
  for (const std::string op : {"And", "Where", "Not"}) {
    Model model;
    const test::Names operands(op == "And" ? 2 : op == "Where" ? 3 : 1, "x");
    model.input("x", {2}).output("y").node(op, operands, {"y"});
    CHECK_THROWS_WITH_AS(model.import(), doctest::Contains(("(" + op + ")").c_str()), ModelError);
  }
}

TEST_CASE("too few extents and too few axes are named") {
  Model transposed;
  transposed.input("x", {1, 1, 3, 3}).output("y").reals("w", {1, 2, 3, 3}, Reals(18, 1));
  set(transposed.node("ConvTranspose", {"x", "w"}, {"y"}), "output_shape", Dims{10});
  for (const bool exact_types : {false, true}) {  // the card's and the host's operator
    ImportOptions options;
    options.exact_types = exact_types;
    check_fails(transposed, "output_shape", options);
  }
  Model gather;
  gather.input("x", {2, 3}).output("y").integers("i", {1}, {0});
  set(gather.node("GatherND", {"x", "i"}, {"y"}), "batch_dims", std::int64_t{1});
  check_fails(gather, "indices of [1]");
}

TEST_CASE("hostile extents are refused before anything is allocated") {
  Model dims;
  dims.input("x", {std::int64_t{1} << 40, std::int64_t{1} << 40}).output("y");
  dims.node("Relu", {"x"}, {"y"});
  check_fails(dims, "too large");
  Model fill;
  fill.input("x", {2}).output("y").integers("s", {2},
                                            {std::int64_t{1} << 20, std::int64_t{1} << 19});
  fill.node("ConstantOfShape", {"s"}, {"big"});
  fill.node("Add", {"x", "big"}, {"y"});
  check_fails(fill, "too large");
  Model negative;
  negative.input("x", {2}).output("y").integers("s", {1}, {-7});
  negative.node("Reshape", {"x", "s"}, {"y"});
  check_fails(negative, "no shape");
  Model pads;
  pads.input("x", {1, 1, 4, 4}).output("y").reals("w", {1, 1, 1, 1}, {1});
  const std::int64_t huge = std::int64_t{1} << 62;
  set(pads.node("Conv", {"x", "w"}, {"y"}), "pads", Dims{huge, huge, huge, huge});
  check_fails(pads, "pad");
  Model range;
  range.input("x", {2}).output("y").integers("a", {}, {0}).integers("b", {}, {huge});
  range.integers("one", {}, {1});
  range.node("Range", {"a", "b", "one"}, {"r"});
  range.node("Reshape", {"x", "r"}, {"y"});
  check_fails(range, "too long");
}

TEST_CASE("files that are not there or no models") {
  CHECK_THROWS_WITH_AS(import_onnx("nowhere/m.onnx"), doctest::Contains("nowhere/m.onnx"),
                       ConfigError);
  CHECK_THROWS_AS(import_onnx("/"), ConfigError);
  const test::TemporaryFile text("this is no model at all");
  CHECK_THROWS_WITH_AS(import_onnx(text.path()), doctest::Contains(".onnx"), ModelError);
  const test::TemporaryFile empty("");
  CHECK_THROWS_AS(import_onnx(empty.path()), ModelError);
}
