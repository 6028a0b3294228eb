// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>

#include "tests/integration/program.h"
#include "tests/workloads/graph/onnx_model.h"
#include "workloads/npy/npy.h"

using namespace steppe;
using namespace steppe::test;
using graph::test::Dims;
using graph::test::Model;
using graph::test::Names;

namespace {

/// "out" is `in` through QuantizeLinear and DequantizeLinear.
void pair(Model& m, const std::string& in, const std::string& out, float scale, int zero) {
  const std::string s = out + ".scale", z = out + ".zero";
  m.reals(s, {}, {scale});
  auto* tensor = m.proto.mutable_graph()->add_initializer();
  tensor->set_name(z);
  tensor->set_data_type(onnx::TensorProto::INT8);
  tensor->add_int32_data(zero);
  m.node("QuantizeLinear", {in, s, z}, {out + ".q"});
  m.node("DequantizeLinear", {out + ".q", s, z}, {out});
}

std::vector<float> ramp(std::size_t count, float step) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = step * (static_cast<float>(i * 7 % 23) - 11);
  return values;
}

/// Weights as exporters write them: int8 through DequantizeLinear.
void weights(Model& m, const std::string& name, const Dims& dims) {
  auto* tensor = m.proto.mutable_graph()->add_initializer();
  tensor->set_name(name + ".q");
  tensor->set_data_type(onnx::TensorProto::INT8);
  std::int64_t count = 1;
  for (const std::int64_t n : dims) {
    tensor->add_dims(n);
    count *= n;
  }
  for (std::int64_t i = 0; i < count; ++i)
    tensor->add_int32_data(static_cast<int>(i * 37 % 255) - 127);
  m.reals(name + ".scale", {}, {0.004F});
  auto* zero = m.proto.mutable_graph()->add_initializer();
  zero->set_name(name + ".zero");
  zero->set_data_type(onnx::TensorProto::INT8);
  zero->add_int32_data(0);
  m.node("DequantizeLinear", {name + ".q", name + ".scale", name + ".zero"}, {name});
}

void write_model(const std::string& path) {
  Model m;
  m.input("x", {1, 8, 6, 6}).output("y");
  pair(m, "x", "xd", 0.05F, 3);
  weights(m, "w", {32, 8, 3, 3});
  m.node("Conv", {"xd", "w"}, {"c"});
  m.node("Relu", {"c"}, {"r"});
  pair(m, "r", "rd", 0.06F, -128);
  weights(m, "v", {16, 32, 4, 4});
  m.node("Conv", {"rd", "v"}, {"y"});
  std::string bytes;
  m.proto.SerializeToString(&bytes);
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

TEST_CASE("a QDQ model runs on the host bit by bit, or on the engines by its own scales") {
  Scratch scratch;
  const std::string onnx = scratch / "m.onnx";
  write_model(onnx);
  npy::Array input{.type = npy::Type::fp32, .shape = {2, 8, 6, 6}};
  input.reals = ramp(576, 0.4F);
  std::ofstream(scratch / "x.npy", std::ios::binary) << npy::format(input);
  std::vector<npy::Array> outputs;
  for (const std::string where : {"host", "card"}) {
    const Outcome compile =
        run_steppe("compile " + onnx + " -o " + scratch / "m --sparsity 1 --quantised " + where +
                   " --calibrate x=" + scratch / "x.npy" + " --reference " +
                   scratch / "reference --input x=" + scratch / "x.npy");
    INFO(compile.output);
    REQUIRE(compile.exit_code == 0);
    CHECK((compile.output.find("host CPU") != std::string::npos ||
           compile.output.find("on the host") != std::string::npos) == (where == "host"));
    const Outcome run =
        run_steppe("run " + scratch / "m --input x=" + scratch / "x.npy --golden y=" +
                   scratch / "reference/y.npy --out " + scratch / "out");
    INFO(run.output);
    CHECK(run.exit_code == 0);
    outputs.push_back(npy::read(scratch / "out/outputs/y.npy"));
  }
  // The engines round each sum of the first product as the definition does, but for its fp32
  // factor; the last result is int8 on the card, and a number on the host.
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < outputs[0].reals.size(); ++i) {
    signal += std::pow(double{outputs[0].reals[i]}, 2);
    noise += std::pow(double{outputs[0].reals[i]} - double{outputs[1].reals[i]}, 2);
  }
  CHECK(signal > 100 * noise);

  CHECK(run_steppe("compile " + digits("digits.onnx") + " -o " + scratch / "d --quantised card")
            .output.find("undo each other") != std::string::npos);
  CHECK(run_steppe("compile " + onnx + " -o " + scratch / "d --quantised chip").exit_code == 2);
}
