// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fstream>

#include "tests/integration/program.h"

using namespace steppe::test;

namespace {

const std::string model = digits("digits.onnx");
const std::string samples = " --calibrate image=" + digits("calibration.npy");

std::string compile_and_run(const Scratch& scratch, const std::string& options) {
  return compile_and_compare(scratch, samples + " " + options, "calibration.npy");
}

}  // namespace

TEST_CASE("prune: what each layer loses, both methods, ratios under a budget") {
  Scratch scratch;
  const Outcome prune = run_steppe("prune " + model + samples + " --budget 10dB --pruning obs -o " +
                                   scratch / "p.yaml");
  INFO(prune.output);
  REQUIRE(prune.exit_code == 0);
  CHECK(prune.output.find("answers like the float model's, 128 samples") != std::string::npos);
  CHECK(prune.output.find("/block1/Conv") != std::string::npos);
  // The model is trained to 16x: it costs nothing, and the budget lets some layers go further.
  const std::string table = read_file(scratch / "p.yaml");
  CHECK(table.find("\": 16") != std::string::npos);
  CHECK(table.find("\": 32") != std::string::npos);
  CHECK(table.find("\": 8") == std::string::npos);
  compile_and_run(scratch, "--pruning obs --sparsity " + scratch / "p.yaml");
}

TEST_CASE("a table says its method; another one is refused") {
  Scratch scratch;
  const std::string table = scratch / "p.yaml";
  std::ofstream(table) << "method: obs\nlayers: {\"/up/MatMul\": 32}";
  const std::string compile =
      "compile " + model + samples + " -o " + scratch / "m --sparsity " + table;
  REQUIRE(run_steppe(compile).exit_code == 0);
  const std::string by_table = read_file(scratch / "m");
  REQUIRE(run_steppe(compile + " --pruning obs").exit_code == 0);
  CHECK(read_file(scratch / "m") == by_table);
  const Outcome other = run_steppe(compile + " --pruning magnitude");
  CHECK(other.exit_code == 2);
  CHECK(other.output.find("was made for obs") != std::string::npos);
  std::ofstream(table) << "layers: {\"/up/MatMul\": 32}";
  REQUIRE(run_steppe(compile + " --pruning magnitude").exit_code == 0);
  CHECK(read_file(scratch / "m") != by_table);
}

TEST_CASE("inputs that are no numbers are refused with their file") {
  Scratch scratch;
  // digits' calibration images with a NaN for the first pixel.
  std::string bytes = read_file(digits("calibration.npy"));
  const std::size_t data = bytes.find('\n') + 1;
  bytes.replace(data, 4, std::string("\x00\x00\xc0\x7f", 4));
  std::ofstream(scratch / "nan.npy", std::ios::binary) << bytes;
  const Outcome outcome = run_steppe("compile " + model + " -o " +
                                     scratch / "m --calibrate image=" + scratch / "nan.npy");
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.output.find("nan.npy: run 0: input 'image'") != std::string::npos);
}

TEST_CASE("a budget that cannot be kept writes no table") {
  Scratch scratch;
  const Outcome prune =
      run_steppe("prune " + model + samples + " --budget 90dB -o " + scratch / "p.yaml");
  CHECK(prune.exit_code == 1);
  CHECK(!std::filesystem::exists(scratch / "p.yaml"));
}

TEST_CASE("weights as they are need no ratio") {
  Scratch scratch;
  compile_and_run(scratch, "--sparsity 16");
  const std::string at_16 = read_file(scratch / "m");
  // 16x weights: asked for less, kept as they are in the same encoding.
  for (const std::string ratio : {"keep", "4"}) {
    compile_and_run(scratch, "--sparsity " + ratio);
    CHECK(read_file(scratch / "m") == at_16);
  }
  compile_and_run(scratch, "--sparsity 1");
  CHECK(read_file(scratch / "m") != at_16);
}

TEST_CASE("pruning tables and options that are wrong") {
  Scratch scratch;
  const auto expect = [&](const std::string& arguments, int code, const std::string& part) {
    const Outcome outcome = run_steppe(arguments);
    INFO(arguments, "\n", outcome.output);
    CHECK(outcome.exit_code == code);
    CHECK(outcome.output.find(part) != std::string::npos);
  };
  const auto table = [&](const std::string& text) {
    std::ofstream(scratch / "p.yaml") << text;
    return "compile " + model + " -o " + scratch / "m --sparsity " + scratch / "p.yaml";
  };
  expect(table("layers: {\"/block1/Conv\": 3}"), 2, "p.yaml:1: the ratio of '/block1/Conv', 3");
  expect(table("layers: {\"/block1/Conv\": [4]}"), 2, "one word");
  expect(table("layers: {\"/stem/Conv\": 4}"), 3, "no layer '/stem/Conv' to prune");
  expect(table("method: best\nlayers: {\"/up/MatMul\": 4}"), 2, "p.yaml:1: method 'best'");
  expect(table("layers: {\"/up/MatMul\": 4, \"/up/MatMul\": 2}"), 2, "is there twice");
  expect(table("layers: 4"), 2, "map from layers to ratios");
  expect(table("ratios: {a: 4}"), 2, "no entry 'ratios'");
  expect(table("model: digits"), 2, "holds no layers");
  expect(table("{["), 2, "p.yaml:1");
  expect("compile " + model + " -o " + scratch / "m --sparsity nowhere.yaml", 2, "nowhere.yaml");
  expect("compile " + model + " -o " + scratch / "m --pruning best", 2, "magnitude or obs");
  expect("prune " + model + " --sparsity 4", 2, "all ratios");
  expect("prune " + model + " --budget 1%", 2, "go together");
  expect("prune " + model + " --budget 1 -o " + scratch / "p.yaml", 2, "percent");
  expect("prune " + model + " --budget 101% -o " + scratch / "p.yaml", 2, "percent");
  expect("prune " + model + " --budget 1% -o " + scratch / "p.yaml", 2, "less than one answer");
  expect("prune " + model + " --budget 9dB -o " + scratch / "p.txt", 2, "FILE.yaml");
  expect("prune " + model + " --labels " + digits("labels.npy"), 2, "those of --input");
  expect("prune zoo:gptj-6b", 3, "has no elements");
}
