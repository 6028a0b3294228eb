// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdio>
#include <random>

#include "tests/integration/program.h"

using namespace steppe::test;

namespace {

void expect(const std::string& arguments, int exit_code, const std::string& word) {
  const Outcome outcome = run_steppe(arguments);
  INFO(arguments);
  INFO(outcome.output);
  CHECK(outcome.exit_code == exit_code);
  CHECK(outcome.output.find(word) != std::string::npos);
}

void write_file(const std::string& path, const std::string& bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  REQUIRE(file != nullptr);
  REQUIRE(std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size());
  std::fclose(file);
}

std::string compile_digits(const Scratch& scratch) {
  const std::string package = scratch / "digits.shards";
  REQUIRE(run_steppe("compile " + digits("digits.onnx") + " -o " + package +
                     " --target s30 --calibrate image=" + digits("calibration.npy"))
              .exit_code == 0);
  return package;
}

}  // namespace

TEST_CASE("usage and configuration mistakes end with 2 and name what was meant") {
  Scratch scratch;
  const std::string package = compile_digits(scratch);
  expect("rnu", 2, "run");
  expect("run", 2, "PKG");
  expect("run " + package + " --platform s03", 2, "s30");
  expect("run " + package + " --mode fucntional", 2, "functional");
  expect("run " + package + " --set card.chip.dram.bandwith=1", 2, "bandwidth");
  expect("run " + package + " --set card.chip.dram.bandwidth=12abc", 2, "12abc");
  expect("run " + package + " --set card.chips=2.5", 2, "whole");
  expect("run " + package + " --inptu image=x.npy", 2, "input");
  expect("run " + package + " --input image=missing.npy", 2, "missing.npy");
  expect("run " + package + " --input imgae=" + digits("images.npy"), 2, "image");
  expect("run " + package + " --input image=" + digits("labels.npy"), 2, "shape");
  expect("run missing.shards", 2, "missing.shards");
  expect("compile missing.onnx -o " + scratch / "x", 2, "missing.onnx");
  expect("compile zoo:gptj -o " + scratch / "x", 2, "gptj-6b");
  expect("compile " + digits("digits.onnx") + " -o " + scratch / "x --target s31", 2, "s30");
  expect("compile " + digits("digits.onnx") + " -o " + scratch / "x --sparsity 3", 2, "sparsity");
  // Told before the work, not after it.
  expect("compile " + digits("digits.onnx") + " -o /proc/steppe/x", 2, "/proc/steppe");
  expect("compile " + digits("digits.onnx") + " -o /dev/null/x", 2, "Not a directory");
  for (const std::string wrong : {"0:32", "32:32", "x:32", "unstructured:0", "unstructured:1.5",
                                  "unstructured:", "unstructured:nan", "-2"}) {
    expect("compile " + digits("digits.onnx") + " -o " + scratch / "x --sparsity=" + wrong, 2,
           "sparsity");
  }
  CHECK(!std::filesystem::exists(scratch / "x"));
}

TEST_CASE("options that would do nothing are refused, not ignored") {
  Scratch scratch;
  const std::string package = compile_digits(scratch);
  const std::string onnx = "compile " + digits("digits.onnx") + " -o " + scratch / "x ";
  expect(onnx + "--batch 8", 2, "--bind");
  expect(onnx + "--context 8", 2, "--context");
  expect("compile zoo:gemm-1024 --bind N=1 -o " + scratch / "x", 2, "--batch");
  const std::string timing = "run " + package + " --mode timing ";
  expect(timing + "--labels " + digits("labels.npy"), 2, "--mode functional");
  expect(timing + "--golden logits=x.npy", 2, "--mode functional");
  expect("run " + package + " --samples 3 --input image=" + digits("images.npy"), 2, "--samples");
  CHECK(!std::filesystem::exists(scratch / "x"));
}

TEST_CASE("numbers are taken as they are or not at all") {
  Scratch scratch;
  const std::string package = compile_digits(scratch);
  for (const std::string wrong : {"-1", "1.5", "99999999999999999999", "3x", "0x3"}) {
    for (const std::string option : {"--samples", "--seed", "--threads"}) {
      expect("run " + package + " " + option + " " + wrong, 2, wrong);
    }
    expect("compile zoo:gemm-1024 -o " + scratch / "x --batch " + wrong, 2, wrong);
    expect("bench " + package + " --samples " + wrong, 2, wrong);
  }
  expect("compile zoo:gemm-1024 -o " + scratch / "x --batch 4294967297", 2, "at most");
  expect("run " + package + " --limit 0s", 2, "positive");
}

TEST_CASE("what is there and no regular file is not written over") {
  Scratch scratch;
  const std::string package = compile_digits(scratch);
  const std::string pipe = scratch / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  expect("compile " + digits("digits.onnx") + " -o " + pipe, 2, "no regular file");
  expect("run " + package + " --trace " + pipe, 2, "no regular file");
  CHECK(std::filesystem::is_fifo(pipe));
  // A link stays a link; what it points to is written.
  const std::string link = scratch / "link";
  std::filesystem::create_symlink("target.shards", link);
  CHECK(run_steppe("compile " + digits("digits.onnx") + " -o " + link).exit_code == 0);
  CHECK(std::filesystem::is_symlink(link));
  CHECK(std::filesystem::is_regular_file(scratch / "target.shards"));
}

TEST_CASE("inputs are read before the work, outputs of earlier runs do not stay") {
  Scratch scratch;
  const std::string package = compile_digits(scratch);
  expect("run " + package + " --labels missing.npy --out " + scratch / "out", 2, "missing.npy");
  expect("compile " + digits("digits.onnx") + " -o " + scratch / "x --reference " +
             scratch / "reference --labels missing.npy",
         2, "missing.npy");
  CHECK(!std::filesystem::exists(scratch / "x"));
  std::filesystem::create_directories(scratch / "out/outputs");
  write_file(scratch / "out/outputs/stale.npy", "old");
  write_file(scratch / "out/outputs/mine.txt", "mine");
  REQUIRE(run_steppe("run " + package + " --out " + scratch / "out").exit_code == 0);
  CHECK(!std::filesystem::exists(scratch / "out/outputs/stale.npy"));
  CHECK(std::filesystem::exists(scratch / "out/outputs/mine.txt"));
  CHECK(std::filesystem::exists(scratch / "out/outputs/logits.npy"));
}

TEST_CASE("a text without streams makes no package") {
  Scratch scratch;
  const std::string package = compile_digits(scratch);
  write_file(scratch / "empty.txt", "");
  const std::string rest = " --package " + package + " -o " + scratch / "x";
  expect("asm " + scratch / "empty.txt" + rest, 2, "no stream");
  expect("asm " + scratch.path().string() + rest, 2, scratch.path().string());
  CHECK(!std::filesystem::exists(scratch / "x"));
  if (std::filesystem::exists("/dev/full")) expect("params > /dev/full", 2, "");
}

TEST_CASE("a broken model ends with 3") {
  Scratch scratch;
  write_file(scratch / "text.onnx", "this is not a model");
  expect("compile " + scratch / "text.onnx -o " + scratch / "x --target s30", 3, "text.onnx");
  const std::string model = read_file(digits("digits.onnx"));
  write_file(scratch / "half.onnx", model.substr(0, model.size() / 2));
  expect("compile " + scratch / "half.onnx -o " + scratch / "x --target s30", 3, "half.onnx");
  // An operator that nobody knows: field 4 of a node (tag 0x22) holds its type.
  std::string unknown = model;
  const std::size_t at = unknown.find("\x22\x07Softmax");
  REQUIRE(at != std::string::npos);
  unknown.replace(at + 2, 7, "Softmix");
  write_file(scratch / "unknown.onnx", unknown);
  expect("compile " + scratch / "unknown.onnx -o " + scratch / "x --target s30", 3, "Softmix");
  CHECK(!std::filesystem::exists(scratch / "x"));
}

TEST_CASE("truncated and bit-flipped packages end with 3 and leave nothing behind") {
  Scratch scratch;
  const std::string package = read_file(compile_digits(scratch));
  std::mt19937 random(5);
  for (int round = 0; round < 40; ++round) {
    std::string broken = package;
    if (round % 2 == 0) {
      broken.resize(random() % broken.size());
    } else {
      broken[random() % broken.size()] ^= static_cast<char>(1U << (random() % 8));
    }
    write_file(scratch / "broken.shards", broken);
    expect("run " + scratch / "broken.shards --out " + scratch / "out", 3, "broken.shards");
    CHECK(!std::filesystem::exists(scratch / "out"));
  }
}
