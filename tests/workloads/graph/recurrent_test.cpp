// SPDX-License-Identifier: Apache-2.0
//
// What conversions put together from canonical operators against the operators' own definitions in
// ../operators.
#include <doctest/doctest.h>

#include <map>
#include <random>

#include "models/base/error.h"
#include "onnx_model.h"
#include "workloads/graph/float_executor.h"
#include "workloads/operators/host.h"

using namespace steppe;
using namespace steppe::graph;
using test::Dims;
using test::Model;
using test::Names;

namespace {

using Reals = std::vector<float>;

struct Operand {
  std::string name;
  Dims dims;
  bool input = false;  ///< of the model; else a constant
};

/// Draws operands, runs the model and the operator of the same attributes, and compares all results
/// that both have.
struct Comparison {
  std::mt19937 random{11};
  std::map<std::string, Attribute> attributes;

  void operator()(const std::string& op, const std::vector<Operand>& operands,
                  const Names& outputs) {
    Model model(14);
    std::map<std::string, Reals> inputs;
    std::vector<Tensor> tensors;
    tensors.reserve(operands.size());
    std::vector<const Tensor*> given;
    Names names;
    for (const Operand& operand : operands) {
      names.push_back(operand.name);
      given.push_back(nullptr);
      if (operand.name.empty()) continue;
      std::int64_t size = 1;
      for (const std::int64_t extent : operand.dims) size *= extent;
      Reals elements(static_cast<std::size_t>(size));
      for (float& x : elements) x = static_cast<float>(random() % 201) / 100 - 1;
      tensors.push_back(make_tensor(DataType::fp32, operand.dims,
                                    std::vector<double>(elements.begin(), elements.end())));
      given.back() = &tensors.back();
      if (operand.input) {
        model.input(operand.name, operand.dims);
        inputs[operand.name] = elements;
      } else {
        model.reals(operand.name, operand.dims, elements);
      }
    }
    onnx::NodeProto& node = model.node(op, names, outputs);
    Node direct;
    direct.op = host_prefix + op;
    direct.attributes = attributes;
    for (const auto& [key, value] : attributes) {
      if (const auto* number = std::get_if<std::int64_t>(&value)) test::set(node, key, *number);
      if (const auto* number = std::get_if<float>(&value)) test::set(node, key, *number);
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
        test::set(node, key, *list);
      }
      const auto* text = std::get_if<std::string>(&value);
      if (text == nullptr) continue;
      if (key != "activations") {
        test::set(node, key, text->c_str());
        continue;
      }
      auto& list = test::attribute(node, key);
      list.set_type(onnx::AttributeProto::STRINGS);
      for (const std::string& name : listed(*text)) list.add_strings(name);
    }
    for (const std::string& name : outputs) model.output(name);
    const Graph graph = model.import();
    for (const Node& each : graph.nodes) CHECK_FALSE(each.op.starts_with(host_prefix));
    FloatExecutor executor(graph);
    executor.run(inputs);
    const std::vector<Tensor> expected = run_host(direct, given);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Tensor got = executor.tensor(graph.outputs.at(i));
      REQUIRE(got.shape == expected.at(i).shape);
      for (std::size_t k = 0; k < got.fp32.size(); ++k) {
        CHECK(got.fp32[k] == doctest::Approx(expected[i].fp32[k]).epsilon(1e-5).scale(1.0));
      }
    }
  }
};

struct Kind {
  std::string op;
  std::int64_t gates;
  std::string activations;  ///< others than the default ones, of a direction
};

}  // namespace

TEST_CASE("recurrent operators, step by step") {
  const Names results{"y", "h", "c"};
  for (const Kind& kind : {Kind{"RNN", 1, "Relu"}, Kind{"GRU", 3, "Tanh,Relu"},
                           Kind{"LSTM", 4, "Sigmoid,Softplus,Relu"}}) {
    for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
      for (const int variant : {0, 1, 2, 3}) {
        INFO(kind.op, " ", direction, ", variant ", variant);
        const std::int64_t d = direction == "bidirectional" ? 2 : 1;
        constexpr std::int64_t steps = 5, batch = 2, in = 3, hidden = 4;
        const bool batch_first = variant == 1;
        const bool bare = variant == 2;
        Comparison compare;
        compare.attributes = {{"hidden_size", hidden}, {"direction", direction}};
        if (batch_first) compare.attributes["layout"] = std::int64_t{1};
        if (kind.op == "GRU" && variant % 2 == 1) {
          compare.attributes["linear_before_reset"] = std::int64_t{1};
        }
        if (variant == 3) {
          compare.attributes["activations"] =
              d == 2 ? kind.activations + "," + kind.activations : kind.activations;
          compare.attributes["clip"] = 0.8F;
        }
        const std::int64_t rows = kind.gates * hidden;
        const Dims state = batch_first ? Dims{batch, d, hidden} : Dims{d, batch, hidden};
        std::vector<Operand> operands{
            {"x", batch_first ? Dims{batch, steps, in} : Dims{steps, batch, in}, true},
            {"w", {d, rows, in}},
            {"r", {d, rows, hidden}}};
        if (!bare) {
          operands.push_back({"b", {d, 2 * rows}});
          operands.push_back({"", {}});
          operands.push_back({"h0", state, true});
          if (kind.op == "LSTM") operands.push_back({"c0", state, true});
        }
        Names outputs = results;
        if (kind.op != "LSTM") outputs.pop_back();
        compare(kind.op, operands, outputs);
      }
    }
  }
}

TEST_CASE("what of a recurrent operator stays on the host says why") {
  Model model(14);
  model.input("x", {300, 1, 2}).reals("w", {1, 3, 2}, Reals(6, 0.5F));
  model.reals("r", {1, 3, 3}, Reals(9, 0.5F));
  test::set(model.node("RNN", {"x", "w", "r"}, {"y"}), "hidden_size", std::int64_t{3});
  const Graph graph = model.output("y").import();
  REQUIRE(graph.nodes.size() == 1);
  CHECK(graph.nodes[0].op == "host.RNN");
  CHECK(graph.nodes[0].refusal == "300 steps; up to 256 are unrolled");
}

TEST_CASE("a kernel longer than an instruction's field is the sum of its parts") {
  Comparison compare;
  compare.attributes = {{"kernel_shape", Dims{300}},
                        {"strides", Dims{7}},
                        {"dilations", Dims{2}},
                        {"pads", Dims{11, 3}},
                        {"group", std::int64_t{2}}};
  compare("Conv", {{"x", {2, 4, 900}, true}, {"w", {6, 2, 300}}, {"b", {6}}}, {"y"});
  compare.attributes = {{"kernel_shape", Dims{2, 520}}, {"pads", Dims{0, 0, 1, 8}}};
  compare("Conv", {{"x", {1, 1, 3, 530}, true}, {"w", {1, 1, 2, 520}}}, {"y"});
}
