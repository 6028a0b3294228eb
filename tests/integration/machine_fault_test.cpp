// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdio>

#include "tests/integration/program.h"

using namespace steppe::test;

namespace {

/// The shipped model with one change in the text of its streams.
std::string changed_package(const Scratch& scratch, const std::string& section,
                            const std::string& from, const std::string& to) {
  const std::string package = scratch / "digits.shards";
  REQUIRE(run_steppe("compile " + digits("digits.onnx") + " -o " + package +
                     " --target s30 --partition pipeline --clusters 4 --calibrate image=" +
                     digits("calibration.npy"))
              .exit_code == 0);
  std::string text = run_steppe("disasm " + package).output;
  const std::size_t begin = text.find("# stream: " + section);
  REQUIRE(begin != std::string::npos);
  const std::size_t at = text.find(from, begin);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  std::FILE* file = std::fopen((scratch / "changed.txt").c_str(), "wb");
  REQUIRE(file != nullptr);
  std::fwrite(text.data(), 1, text.size(), file);
  std::fclose(file);
  const Outcome assembled = run_steppe("asm " + scratch / "changed.txt --package " + package +
                                       " -o " + scratch / "changed.shards");
  INFO(assembled.output);
  REQUIRE(assembled.exit_code == 0);
  return scratch / "changed.shards";
}

void expect_fault(const Scratch& scratch, const std::string& package, const std::string& words) {
  for (const std::string mode : {"functional", "timing"}) {
    const Outcome run =
        run_steppe("run " + package + " --samples 3 --mode " + mode + " --out " + scratch / "out");
    INFO(run.output);
    CHECK(run.exit_code == 4);
    CHECK(run.output.find(words) != std::string::npos);
    CHECK(!std::filesystem::exists(scratch / "out"));
  }
}

}  // namespace

TEST_CASE("what disasm prints, asm makes into the same program") {
  Scratch scratch;
  const std::string package = changed_package(scratch, "run chip 0", "end", "end");
  CHECK(run_steppe("disasm " + package).output ==
        run_steppe("disasm " + scratch / "digits.shards").output);
  CHECK(run_steppe("check " + package).exit_code == 0);
}

TEST_CASE("an operand outside the cluster's SRAM ends with 4 and names layer and address") {
  Scratch scratch;
  expect_fault(
      scratch,
      changed_package(scratch, "run chip 0, cluster 0, tensor", "in=b0+0x100000800",
                      "in=b0+0x900000800"),
      "in layer '/stem/Conv' (node '/stem/Conv', '/Relu') at an address where nothing is or "
      "that the unit cannot reach: 0x900000800");
}

TEST_CASE("a wait that can never end is told with who waits for it") {
  Scratch scratch;
  // An instruction that waits for its own signal: the tokens add up, but nobody gives the first.
  const std::string package = changed_package(scratch, "run chip 0, cluster 1, tensor", "wait ",
                                              "wait 900 signal 900 wait ");
  expect_fault(scratch, package,
               "card.chip0.cluster1.tensor.queue waits at offset 0x0 of layer '/stem/Conv' for 1 "
               "token(s) of semaphore 900, which holds 0");
}

TEST_CASE("a semaphore that nobody signals is told before anything is run") {
  Scratch scratch;
  const std::string package =
      changed_package(scratch, "run chip 0, cluster 1, tensor", "wait ", "wait 900 wait ");
  for (const std::string command : {"check ", "run "}) {
    const Outcome judged = run_steppe(command + package);
    CHECK(judged.exit_code == 3);
    CHECK(judged.output.find("semaphore 900") != std::string::npos);
  }
}

TEST_CASE("a run that goes on and on is given up at the limit") {
  Scratch scratch;
  REQUIRE(run_steppe("compile " + digits("digits.onnx") + " -o " + scratch / "digits.shards")
              .exit_code == 0);
  const Outcome run = run_steppe(
      "run " + scratch / "digits.shards --samples 50 --limit 100us --out " + scratch / "out");
  INFO(run.output);
  CHECK(run.exit_code == 4);
  CHECK(run.output.find("--limit") != std::string::npos);
  CHECK(!std::filesystem::exists(scratch / "out"));
}
