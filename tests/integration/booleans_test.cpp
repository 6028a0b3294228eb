// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <onnx/onnx_pb.h>

#include <fstream>
#include <vector>

#include "tests/integration/program.h"
#include "tests/workloads/graph/onnx_model.h"
#include "workloads/npy/npy.h"

using namespace steppe;
using namespace steppe::test;
using graph::test::Model;

namespace {

std::vector<float> ramp(std::size_t count, float size) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = size * (static_cast<float>(i * 37 % 101) / 50 - 1);
  }
  return values;
}

/// Scores, which of them are above 0.1, these alone, and the place of the largest.
void write_model(const std::string& path) {
  Model model(14);
  model.input("x", {4, 48}).reals("w", {48, 32}, ramp(1536, 0.3F)).reals("limit", {}, {0.1F});
  model.reals("zero", {}, {0.0F});
  model.node("MatMul", {"x", "w"}, {"s"});
  model.node("Greater", {"s", "limit"}, {"above"});
  model.node("Where", {"above", "s", "zero"}, {"kept"});
  graph::test::set(model.node("ArgMax", {"kept"}, {"best"}), "axis", std::int64_t{1});
  model.output("best").output("above");
  std::ofstream(path, std::ios::binary) << model.bytes();
}

}  // namespace

TEST_CASE("models whose outputs are indices and booleans: calibrated, pruned, compiled, run") {
  Scratch scratch;
  const std::string onnx = scratch / "m.onnx";
  write_model(onnx);
  npy::Array input{.type = npy::Type::fp32, .shape = {16, 48}};
  input.reals = ramp(768, 1.0F);
  std::ofstream(scratch / "x.npy", std::ios::binary) << npy::format(input);
  const std::string samples = " --calibrate x=" + scratch / "x.npy";
  const Outcome calibrated =
      run_steppe("calibrate " + onnx + " -o " + scratch / "c.yaml" + samples);
  INFO(calibrated.output);
  CHECK(calibrated.exit_code == 0);
  CHECK(calibrated.output.find("Reduce") != std::string::npos);
  CHECK(calibrated.output.find("nan") == std::string::npos);
  const Outcome pruned =
      run_steppe("prune " + onnx + " -o " + scratch / "p.yaml --budget 20%" + samples);
  INFO(pruned.output);
  CHECK(pruned.exit_code == 0);
  for (const std::string precision : {"int8", "bf16", "fp32"}) {
    const Outcome compile =
        run_steppe("compile " + onnx + " -o " + scratch / "m --sparsity 1 --precision " +
                   precision + (precision == "int8" ? samples : "") + " --reference " +
                   scratch / "reference --input x=" + scratch / "x.npy");
    INFO(compile.output);
    REQUIRE(compile.exit_code == 0);
    CHECK(compile.output.find("host") == std::string::npos);
    const Outcome run = run_steppe(
        "run " + scratch / "m --input x=" + scratch / "x.npy --golden best=" +
        scratch / "reference/best.npy --golden above=" + scratch / "reference/above.npy --out " +
        scratch / "out");
    INFO(run.output);
    CHECK(run.exit_code == 0);
    const npy::Array best = npy::read(scratch / "out/outputs/best.npy");
    CHECK(best.type == npy::Type::int64);
    CHECK(npy::read(scratch / "out/outputs/above.npy").type == npy::Type::boolean);
    if (precision != "int8") {
      CHECK(best.integers == npy::read(scratch / "reference/best.float.npy").integers);
    }
  }
}
