// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fstream>

#include "tests/integration/program.h"
#include "workloads/npy/npy.h"

using namespace steppe;
using namespace steppe::test;

namespace {

/// Compiles the shipped model for the target, runs it on the held-out images and compares it bit by
/// bit with the reference executor. Returns what `compile` printed.
std::string compile_and_run(Scratch& scratch, const std::string& target,
                            const std::string& options) {
  const std::string printed = compile_and_compare(
      scratch,
      "--target " + target + " --calibrate image=" + digits("calibration.npy") + " " + options,
      "images.npy", "--labels " + digits("labels.npy"));
  CHECK(read_json(scratch / "out/summary.json")["accuracy"].get<double>() > 0.98);
  return printed;
}

void expect_refused(const std::string& options, int code, const std::string& part) {
  Scratch scratch;
  const Outcome outcome =
      run_steppe("compile " + digits("digits.onnx") + " -o " + scratch / "m " + options);
  INFO(options, "\n", outcome.output);
  CHECK(outcome.exit_code == code);
  CHECK(outcome.output.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("products shared by all chips, and by stages of some, equal the reference") {
  Scratch scratch;
  CHECK(compile_and_run(scratch, "s30", "--partition tensor").find("1 stage of 3 chips") !=
        std::string::npos);
  CHECK(compile_and_run(scratch, "s40", "--partition mixed:2").find("2 stages of 2 chips") !=
        std::string::npos);
  compile_and_run(scratch, "s30l", "--partition tensor --clusters 3 --sparsity unstructured:0.1");
}

TEST_CASE("chips side by side take the runs in turn: as fast together as each alone") {
  Scratch scratch;
  const auto throughput = [&] {
    return read_json(scratch / "out/summary.json")["samples_per_second"].get<double>();
  };
  compile_and_run(scratch, "antoum", "--partition data --sparsity unstructured:0.1");
  const double one = throughput();
  CHECK(compile_and_run(scratch, "s30", "--partition data --sparsity unstructured:0.1")
            .find("3 copies, runs in turn") != std::string::npos);
  CHECK(throughput() > 2 * one);
  for (const char* chip : {"card.chip0", "card.chip1", "card.chip2"}) {
    const auto stats = read_json(scratch / "out/stats.json");
    CHECK(stats.at(std::string(chip) + ".cluster0.tensor.queue.busy")["value"].get<double>() > 0);
  }
}

TEST_CASE("over the cards of a server, in parts and in copies of several chips") {
  Scratch scratch;
  CHECK(compile_and_run(scratch, "s10x2", "--partition tensor").find("1 stage of 4 chips") !=
        std::string::npos);
  CHECK(compile_and_run(scratch, "s10x2", "--partition pipeline").find("4 stages of 1 chip") !=
        std::string::npos);
  const auto stats = read_json(scratch / "out/stats.json");
  CHECK(stats.at("card0.pcie.upstream.bytes")["value"].get<double>() > 0);
  CHECK(stats.at("card1.chip1.cluster0.tensor.queue.busy")["value"].get<double>() > 0);
  CHECK(compile_and_run(scratch, "s10x1x2", "--partition mixed:2").find("2 stages of 2 chips") !=
        std::string::npos);
  const auto network = read_json(scratch / "out/stats.json");
  CHECK(network.at("server0.nic.upstream.bytes")["value"].get<double>() > 0);
  CHECK(compile_and_run(scratch, "s10x2", "--partition tensor --copies 2")
            .find("1 stage of 2 chips, 1 cluster of each; 2 copies") != std::string::npos);
}

TEST_CASE("copies of a decoder, each with a cache of its own, on one chip or on several") {
  Scratch scratch;
  npy::Array steps{.type = npy::Type::fp32, .shape = {12, 64}};
  for (int i = 0; i < 12 * 64; ++i) steps.reals.push_back(static_cast<float>(i * 37 % 64) / 32 - 1);
  std::ofstream(scratch / "x.npy", std::ios::binary) << npy::format(steps);
  const auto tokens_per_second = [&](const std::string& options) {
    const Outcome compile = run_steppe("compile zoo:gptj-tiny --weights random:1 --target s40 " +
                                       options + " -o " + scratch / "m --reference " +
                                       scratch / "ref --input hidden=" + scratch / "x.npy");
    INFO(compile.output);
    REQUIRE(compile.exit_code == 0);
    const Outcome run =
        run_steppe("run " + scratch / "m --input hidden=" + scratch / "x.npy --golden logits=" +
                   scratch / "ref/logits.npy --out " + scratch / "out");
    INFO(run.output);
    CHECK(run.exit_code == 0);
    return read_json(scratch / "out/summary.json")["samples_per_second"].get<double>();
  };
  const double one = tokens_per_second("--partition tensor --copies 1");
  const double two = tokens_per_second("--partition tensor --copies 2");
  CHECK(two > 1.5 * one);
  CHECK(tokens_per_second("--partition data") > 1.5 * two);
}

TEST_CASE("the cost model shares the weights of a decoder over the chips") {
  // 594 MB of weights at 82 GB/s: one step after the other, a pipeline reads with one chip at a
  // time.
  Scratch scratch;
  double seconds[2];
  for (const int i : {0, 1}) {
    const Outcome compile =
        run_steppe("compile zoo:gptj-6b -o " + scratch / "m" +
                   " --timing-only --target s30 --partition " + (i == 0 ? "pipeline" : "auto"));
    INFO(compile.output);
    REQUIRE(compile.exit_code == 0);
    const Outcome run =
        run_steppe("run " + scratch / "m" + " --mode timing --samples 1 --out " + scratch / "out");
    REQUIRE(run.exit_code == 0);
    seconds[i] = read_json(scratch / "out/summary.json")["seconds_per_inference"].get<double>();
  }
  CHECK(seconds[1] < 0.5 * seconds[0]);
}

TEST_CASE("what the cost model chooses is near the best of all choices") {
  Scratch scratch;
  const auto samples_per_second = [&](const std::string& model, const std::string& options) {
    const Outcome compile = run_steppe("compile " + model + " -o " + scratch / "m" +
                                       " --target s30 --timing-only " + options);
    INFO(compile.output);
    if (!options.empty() && compile.exit_code == 3) return 0.0;  // it does not fit the SRAM
    REQUIRE(compile.exit_code == 0);
    REQUIRE(
        run_steppe("run " + scratch / "m" + " --mode timing --samples 192 --out " + scratch / "out")
            .exit_code == 0);
    return read_json(scratch / "out/summary.json")["samples_per_second"].get<double>();
  };
  for (const std::string& model :
       {digits("digits.onnx"), std::string("zoo:resnet50 --batch 8"),
        std::string("zoo:bert-base-layer --context 128"), std::string("zoo:gptj-tiny")}) {
    const double chosen = samples_per_second(model, "");
    for (const char* options : {"--partition pipeline", "--partition tensor", "--clusters 1",
                                "--clusters 4", "--partition tensor --clusters 1"}) {
      INFO(model, " ", std::string(options));
      CHECK(chosen > 0.9 * samples_per_second(model, options));
    }
  }
}

TEST_CASE("partitions that cannot be") {
  expect_refused("--partition rows", 2, "mixed:N");
  expect_refused("--partition mixed:0", 2, "mixed:N");
  expect_refused("--target s30 --partition mixed:4", 2, "there are 3 chips");
  expect_refused("--target s30 --clusters 5", 2, "a chip has 4");
  expect_refused("--clusters 0", 2, "--clusters 0");
  expect_refused("--copies 0", 2, "--copies 0");
  expect_refused("--target s30 --copies 4", 2, "the target has 3 chips");
  expect_refused("--target s40 --copies 2 --partition mixed:3", 2, "2 chips for each copy");
  expect_refused("--copies some", 2, "--copies some");
}
