// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fstream>

#include "tests/integration/program.h"

using namespace steppe::test;

namespace {

const std::string model = digits("digits.onnx");
const std::string samples = " --calibrate image=" + digits("calibration.npy");

/// `calibrate` with the options writes t.yaml; `compile` reads it, the card runs the package and
/// its outputs equal the reference executor's. Returns what `calibrate` printed.
std::string calibrate_and_run(Scratch& scratch, const std::string& options) {
  const Outcome calibrate =
      run_steppe("calibrate " + model + samples + " -o " + scratch / "t.yaml " + options);
  INFO(calibrate.output);
  REQUIRE(calibrate.exit_code == 0);
  compile_and_compare(scratch, "--calibration " + scratch / "t.yaml", "calibration.npy");
  return calibrate.output;
}

}  // namespace

TEST_CASE("a calibration table sets the ranges that compile uses") {
  Scratch scratch;
  const std::string printed = calibrate_and_run(scratch, "--calibration mse");
  CHECK(printed.find("/classify/Gemm") != std::string::npos);
  CHECK(printed.find("dB  output") != std::string::npos);

  // Without a table the same samples give the same package as a table of their ranges.
  REQUIRE(run_steppe("compile " + model + samples + " -o " + scratch / "direct --calibration mse")
              .exit_code == 0);
  CHECK(read_file(scratch / "direct") == read_file(scratch / "m"));

  // An edited range shows in the package.
  std::string table = read_file(scratch / "t.yaml");
  const std::size_t line = table.find("\"logits\": [");
  REQUIRE(line != std::string::npos);
  table.replace(line, table.find(']', line) - line, "\"logits\": [-1, 1");
  std::ofstream(scratch / "t.yaml") << table;
  REQUIRE(run_steppe("compile " + model + " -o " + scratch / "edited --calibration " +
                     scratch / "t.yaml")
              .exit_code == 0);
  CHECK(read_file(scratch / "edited") != read_file(scratch / "m"));
}

TEST_CASE("asymmetric activations: told by the table, and equal to the reference") {
  Scratch scratch;
  calibrate_and_run(scratch, "--activations asymmetric");
  CHECK(read_file(scratch / "t.yaml").find("activations: asymmetric") != std::string::npos);
  const std::string from_table = read_file(scratch / "m");
  REQUIRE(run_steppe("compile " + model + samples + " -o " + scratch / "direct" +
                     " --activations asymmetric")
              .exit_code == 0);
  CHECK(read_file(scratch / "direct") == from_table);
  REQUIRE(run_steppe("compile " + model + samples + " -o " + scratch / "direct").exit_code == 0);
  CHECK(read_file(scratch / "direct") != from_table);
}

TEST_CASE("scales moved out of normalisations: the table says so and wants the samples again") {
  Scratch scratch;
  REQUIRE(run_steppe("calibrate " + model + samples + " -o " + scratch / "t.yaml --smooth 0.5")
              .exit_code == 0);
  CHECK(read_file(scratch / "t.yaml").find("smooth: 0.5") != std::string::npos);
  const std::string table = " --calibration " + scratch / "t.yaml";
  REQUIRE(run_steppe("compile " + model + samples + " -o " + scratch / "m" + table).exit_code == 0);
  REQUIRE(run_steppe("compile " + model + samples + " -o " + scratch / "direct --smooth 0.5")
              .exit_code == 0);
  CHECK(read_file(scratch / "direct") == read_file(scratch / "m"));
  REQUIRE(run_steppe("compile " + model + samples + " -o " + scratch / "plain").exit_code == 0);
  CHECK(read_file(scratch / "plain") != read_file(scratch / "m"));
  const Outcome without = run_steppe("compile " + model + " -o " + scratch / "n" + table);
  CHECK(without.exit_code == 2);
  CHECK(without.output.find("--calibrate") != std::string::npos);
}

TEST_CASE("sensitive layers stay in bf16 until the outputs are good enough") {
  Scratch scratch;
  const std::string printed = calibrate_and_run(scratch, "--mixed auto:38");
  CHECK(printed.find(" bf16 ") != std::string::npos);
  CHECK(printed.find(" int8 ") != std::string::npos);
  CHECK(printed.find("38 asked for") != std::string::npos);
}

TEST_CASE("wrong use of calibration ends with its reason") {
  Scratch scratch;
  const auto expect = [&](const std::string& arguments, int code, const std::string& text) {
    const Outcome outcome = run_steppe(arguments);
    INFO(arguments, "\n", outcome.output);
    CHECK(outcome.exit_code == code);
    CHECK(outcome.output.find(text) != std::string::npos);
  };
  const std::string out = " -o " + scratch / "x ";
  expect("calibrate " + model, 2, "output");
  expect("calibrate " + model + out + "--calibration max", 2, "percentile:P");
  expect("calibrate " + model + out + "--calibration none.yaml", 2, "none.yaml");
  expect("calibrate " + model + out + "--mixed 30", 2, "auto:DB");
  expect("calibrate " + model + out + "--precision bf16", 2, "int8");
  expect("calibrate " + model + out + "--smooth 1.5", 2, "from 0 to 1");
  expect("calibrate " + model + out + "--activations none", 2, "asymmetric");
  expect("calibrate zoo:gemm-1024" + out, 3, "--weights random:SEED");
  std::ofstream(scratch / "t.yaml") << "ranges:\n  image: [0, 1]\n";
  expect("compile " + model + out + "--calibration " + scratch / "t.yaml", 3, "no range for value");
  expect("compile " + model + out + samples + " --calibration " + scratch / "t.yaml", 2,
         "--calibrate");
  std::ofstream(scratch / "t.yaml") << "ranges:\n  image: [0, 1]\nin_bf16: [nowhere]\n";
  expect("compile " + model + out + "--calibration " + scratch / "t.yaml", 3, "'nowhere'");
  CHECK(!std::filesystem::exists(scratch / "x"));
  // More than bf16 can give is a verdict, not an error: the table is there.
  expect("calibrate " + model + out + "--mixed auto:200", 1, "200 asked for");
  CHECK(std::filesystem::exists(scratch / "x"));
}
