// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/integration/program.h"

using namespace steppe::test;

namespace {

/// Compiles the shipped model and returns the package; reference outputs lie in scratch/reference.
std::string compile_digits(const Scratch& scratch, const std::string& target) {
  const std::string package = scratch / ("digits-" + target + ".shards");
  const Outcome outcome =
      run_steppe("compile " + digits("digits.onnx") + " -o " + package + " --target " + target +
                 " --partition pipeline --clusters 4 --sparsity 16 --calibrate image=" +
                 digits("calibration.npy") + " --reference " + scratch / "reference" +
                 " --input image=" + digits("images.npy"));
  INFO(outcome.output);
  REQUIRE(outcome.exit_code == 0);
  return package;
}

std::string run_arguments(const Scratch& scratch, const std::string& package,
                          const std::string& platform, const std::string& out) {
  return "run " + package + " --platform " + platform + " --input image=" + digits("images.npy") +
         " --golden logits=" + scratch / "reference/logits.npy" + " --labels " +
         digits("labels.npy") + " --out " + scratch / out;
}

}  // namespace

TEST_CASE("digits: every output of the three-chip cards equals the reference bit for bit") {
  Scratch scratch;
  for (const std::string platform : {"s30", "s30l"}) {
    const std::string package = compile_digits(scratch, platform);
    const Outcome run = run_steppe(run_arguments(scratch, package, platform, "out-" + platform));
    INFO(run.output);
    CHECK(run.exit_code == 0);
    const auto summary = read_json(scratch / ("out-" + platform + "/summary.json"));
    CHECK(summary["status"] == "pass");
    CHECK(summary["samples"] == 360);
    CHECK(summary["simulated_seconds"].get<double>() > 0);
    CHECK(summary["accuracy"].get<double>() >= 0.97);
  }
}

TEST_CASE(
    "digits: N:32 and unstructured weights equal the reference, with one time in both modes") {
  Scratch scratch;
  for (const std::string sparsity : {"5:32", "unstructured:0.15"}) {
    const std::string common = " --target s30 --sparsity " + sparsity;
    const Outcome compile =
        run_steppe("compile " + digits("digits.onnx") + " -o " + scratch / "p" + common +
                   " --calibrate image=" + digits("calibration.npy") + " --reference " +
                   scratch / "reference" + " --input image=" + digits("images.npy"));
    INFO(compile.output);
    REQUIRE(compile.exit_code == 0);
    const Outcome functional =
        run_steppe(run_arguments(scratch, scratch / "p", "s30", "functional") + " --threads 3");
    INFO(functional.output);
    CHECK(functional.exit_code == 0);
    const Outcome timing = run_steppe("run " + scratch / "p" +
                                      " --mode timing --samples 360 --out " + scratch / "timing");
    INFO(timing.output);
    CHECK(timing.exit_code == 0);
    CHECK(read_json(scratch / "timing/summary.json")["simulated_cycles"] ==
          read_json(scratch / "functional/summary.json")["simulated_cycles"]);
  }
}

TEST_CASE("digits: the time of every queue is accounted for, each part with its cause") {
  Scratch scratch;
  const std::string package = compile_digits(scratch, "s30");
  const Outcome run =
      run_steppe("run " + package + " --samples 20 --queues --resources --out " + scratch / "out");
  INFO(run.output);
  REQUIRE(run.exit_code == 0);
  CHECK(run.output.find("card.chip2.cluster3.vector.queue") != std::string::npos);
  CHECK(run.output.find("achieved / peak") != std::string::npos);
  const auto summary = read_json(scratch / "out/summary.json");
  const auto& queues = summary["queues"];
  // No resource gave more than it has, and the bound is the one that gave most of it.
  const auto& roofline = summary["roofline"];
  for (const auto& [resource, share] : roofline["demands"].items()) {
    CAPTURE(resource);
    CHECK(share.get<double>() <= 1.0);
    CHECK(share.get<double>() <= roofline["reached"].get<double>());
  }
  CHECK(summary["energy"]["joules"].get<double>() > 0);
  CHECK(queues.size() == 3 * (4 * 4 + 2));
  for (const auto& queue : queues) {
    CAPTURE(queue["queue"]);
    double sum = 0;
    for (const auto& [name, share] : queue.items()) {
      if (name != "queue") sum += share.get<double>();
    }
    CHECK(sum == doctest::Approx(1.0).epsilon(1e-9));
  }
}

TEST_CASE("digits: a wrong expectation fails with exit code 1 and names the element") {
  Scratch scratch;
  const std::string package = compile_digits(scratch, "s30");
  std::string bytes = read_file(scratch / "reference/logits.npy");
  bytes[bytes.size() - 2] = static_cast<char>(bytes[bytes.size() - 2] ^ 0x10);
  std::FILE* file = std::fopen((scratch / "wrong.npy").c_str(), "wb");
  REQUIRE(file != nullptr);
  std::fwrite(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
  const Outcome run =
      run_steppe("run " + package + " --input image=" + digits("images.npy") +
                 " --golden logits=" + scratch / "wrong.npy" + " --out " + scratch / "out");
  CHECK(run.exit_code == 1);
  CHECK(run.output.find("[359,9]") != std::string::npos);  // the last element of [360, 10]
  CHECK(read_json(scratch / "out/summary.json")["status"] == "fail");
}

TEST_CASE("digits: two runs leave the same bytes, and both modes the same cycles") {
  Scratch scratch;
  const std::string package = compile_digits(scratch, "s30");
  const auto run = [&](const std::string& mode, const std::string& out) {
    const Outcome outcome =
        run_steppe("run " + package + " --input image=" + digits("images.npy") + " --mode " + mode +
                   " --trace " + scratch / out + ".trace --out " + scratch / out);
    INFO(outcome.output);
    REQUIRE(outcome.exit_code == 0);
  };
  run("functional", "first");
  run("functional", "second");
  run("timing", "timing");
  CHECK(read_folder(scratch / "first") == read_folder(scratch / "second"));
  CHECK(read_file(scratch / "first.trace") == read_file(scratch / "second.trace"));
  const auto functional = read_json(scratch / "first/summary.json");
  const auto timing = read_json(scratch / "timing/summary.json");
  CHECK(functional["simulated_seconds"] == timing["simulated_seconds"]);
  CHECK(read_json(scratch / "first/stats.json") == read_json(scratch / "timing/stats.json"));
}

TEST_CASE("digits: all three chips work") {
  Scratch scratch;
  const std::string package = compile_digits(scratch, "s30");
  REQUIRE(run_steppe(run_arguments(scratch, package, "s30", "out")).exit_code == 0);
  const auto stats = read_json(scratch / "out/stats.json");
  for (const char* chip : {"card.chip0", "card.chip1", "card.chip2"}) {
    double busy = 0;
    for (const char* queue : {".cluster0.tensor.queue.busy", ".cluster0.vector.queue.busy"}) {
      busy += stats.at(std::string(chip) + queue)["value"].get<double>();
    }
    CHECK(busy > 0);
  }
}

TEST_CASE("digits: the configuration that a run leaves gives the same run") {
  Scratch scratch;
  const std::string package = compile_digits(scratch, "s30");
  const std::string inputs = " --input image=" + digits("images.npy");
  REQUIRE(run_steppe("run " + package + inputs + " --set card.chip.dram.bandwidth=50GB/s" +
                     " --set card.chip1.noc.hop_latency=33ns --out " + scratch / "first")
              .exit_code == 0);
  const Outcome again = run_steppe("run " + package + inputs + " --platform " +
                                   scratch / "first/config.yaml" + " --out " + scratch / "second");
  INFO(again.output);
  REQUIRE(again.exit_code == 0);
  CHECK(read_file(scratch / "first/stats.json") == read_file(scratch / "second/stats.json"));
}

TEST_CASE("GPT-J 6B: one decode step in timing mode is bound by the reading of its weights") {
  Scratch scratch;
  const Outcome compile = run_steppe("compile zoo:gptj-6b -o " + scratch / "gptj.shards" +
                                     " --target s30 --sparsity 16 --timing-only");
  INFO(compile.output);
  REQUIRE(compile.exit_code == 0);
  CHECK(std::filesystem::file_size(scratch / "gptj.shards") < 50'000'000);
  const Outcome run = run_steppe("run " + scratch / "gptj.shards" + " --mode timing --samples 1" +
                                 " --out " + scratch / "out");
  INFO(run.output);
  REQUIRE(run.exit_code == 0);
  const auto summary = read_json(scratch / "out/summary.json");
  // Weights of 28 layers of 4 h^2 + 8 h^2 (h = 4096) and the 50,400 x 4096 head, in records of 2
  // values and 10 index bits for each block of 32: 5,844,713,472 / 32 * 3.25 = 594 MB, at 82 GB/s
  // from each of three chips' DRAM: no step takes less than 2.4 ms; twice that would be odd.
  const double seconds = summary["seconds_per_inference"].get<double>();
  CHECK(seconds > 2.4e-3);
  CHECK(seconds < 5e-3);
}
