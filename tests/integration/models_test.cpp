// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/integration/program.h"

using namespace steppe::test;

namespace {

/// Compiles a model of the optional collection and runs it on the card against the reference
/// executor.
void compile_and_run(const std::string& model, const std::string& compile_options,
                     const std::string& inputs, const std::vector<std::string>& outputs) {
  const std::string onnx = shared_model(model + ".onnx");
  if (onnx.empty()) {
    MESSAGE("skipped: the collection of real models is not here");
    return;
  }
  Scratch scratch;
  const Outcome compile =
      run_steppe("compile " + onnx + " -o " + scratch / "m.shards --target s30 " + compile_options +
                 " --reference " + scratch / "reference " + inputs);
  INFO(compile.output);
  REQUIRE(compile.exit_code == 0);
  std::string golden;
  for (const std::string& output : outputs) {
    std::string file = output;
    for (char& c : file) c = c == '/' ? '_' : c;
    golden += " --golden " + output + "=" + scratch / ("reference/" + file + ".npy");
  }
  const Outcome run =
      run_steppe("run " + scratch / "m.shards " + inputs + golden + " --out " + scratch / "out");
  INFO(run.output);
  CHECK(run.exit_code == 0);
}

}  // namespace

TEST_CASE("mnist compiles at 4x, runs, and equals the reference") {
  compile_and_run("mnist", "--sparsity 4", "--input Input3=" + shared_model("mnist/input_0.npy"),
                  {"Plus214_Output_0"});
}

TEST_CASE("ultraface compiles at 16x, runs, and equals the reference") {
  compile_and_run("ultraface_rfb320", "--sparsity 16",
                  "--input input=" + shared_model("ultraface_rfb320/input_0.npy"),
                  {"scores", "boxes"});
}

TEST_CASE("ppocr_mobile_cls compiles at 16x, runs, and equals the reference") {
  compile_and_run("ppocr_mobile_cls", "--sparsity 16 --bind x.0=1 --bind x.2=48 --bind x.3=192",
                  "--input x=" + shared_model("ppocr_mobile_cls/input_0.npy"), {"softmax_0.tmp_0"});
}

TEST_CASE("models run in bf16 and fp32 and equal the reference") {
  for (const std::string precision : {"bf16", "fp32"}) {
    const std::string options = "--sparsity 8 --precision " + precision;
    compile_and_run("mnist", options, "--input Input3=" + shared_model("mnist/input_1.npy"),
                    {"Plus214_Output_0"});
    compile_and_run("ultraface_rfb320", options,
                    "--input input=" + shared_model("ultraface_rfb320/input_0.npy"),
                    {"scores", "boxes"});
    compile_and_run("ppocr_mobile_cls", options + " --bind x.0=1 --bind x.2=48 --bind x.3=192",
                    "--input x=" + shared_model("ppocr_mobile_cls/input_1.npy"),
                    {"softmax_0.tmp_0"});
  }
}

TEST_CASE("light_squeezenet with random weights compiles at 16x, runs, and equals the reference") {
  compile_and_run("light_squeezenet", "--sparsity 16 --weights random:1", "", {"softmaxout_1"});
}

TEST_CASE("light_resnet50 with random weights compiles at 16x, runs, and equals the reference") {
  compile_and_run("light_resnet50", "--sparsity 16 --weights random:1", "", {"gpu_0/softmax_1"});
}
