// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/integration/program.h"

using namespace steppe::test;

namespace {

/// Compiles a model and runs it on the card against the reference executor. `machine` goes to both.
void compile_and_run_on(const std::string& machine, const std::string& model,
                        const std::string& compile_options, const std::string& inputs,
                        const std::vector<std::string>& outputs) {
  Scratch scratch;
  const Outcome compile =
      run_steppe("compile " + model + " -o " + scratch / "m.shards " + machine + " " +
                 compile_options + " --reference " + scratch / "reference " + inputs);
  INFO(compile.output);
  REQUIRE(compile.exit_code == 0);
  std::string golden;
  for (const std::string& output : outputs) {
    std::string file = output;
    for (char& c : file) c = c == '/' ? '_' : c;
    golden += " --golden " + output + "=" + scratch / ("reference/" + file + ".npy");
  }
  const std::size_t settings = machine.find("--set");
  const Outcome run = run_steppe("run " + scratch / "m.shards " +
                                 (settings == std::string::npos ? "" : machine.substr(settings)) +
                                 " " + inputs + golden + " --out " + scratch / "out");
  INFO(run.output);
  CHECK(run.exit_code == 0);
}

/// A model of the optional collection, on the three-chip card.
void compile_and_run(const std::string& model, const std::string& compile_options,
                     const std::string& inputs, const std::vector<std::string>& outputs) {
  const std::string onnx = shared_model(model + ".onnx");
  if (onnx.empty()) {
    MESSAGE("skipped: the collection of real models is not here");
    return;
  }
  compile_and_run_on("--target s30", onnx, compile_options, inputs, outputs);
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
  compile_and_run(
      "ppocr_mobile_cls",
      "--sparsity 16 --activations asymmetric --bind x.0=1 --bind x.2=48 --bind x.3=192",
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

TEST_CASE("weights that do not fit the SRAM stream through it") {
  // 46 kB of weights in slices of 16 KiB, which hold the activations too.
  const std::string digits = STEPPE_SOURCE_DIR "/workloads/digits/";
  for (const std::string clusters : {"1", "4"}) {
    compile_and_run_on(
        "--target antoum --set card.chip.clusters=" + clusters +
            " --set card.chip.cluster.sram.size=" + (clusters == "1" ? "45000" : "16384"),
        digits + "digits.onnx", "", "--input image=" + digits + "images.npy", {"logits"});
  }
}

TEST_CASE("a decoder writes and reads its key-value cache") {
  for (const std::string precision : {"int8", "bf16", "fp32"}) {
    compile_and_run_on("--target s30", "zoo:gptj-tiny",
                       "--context 24 --batch 3 --weights random:1 --precision " + precision, "",
                       {"logits"});
  }
}

TEST_CASE("tensor and vector units work on parts of a layer in turn") {
  for (const std::string precision : {"int8", "bf16"}) {
    compile_and_run_on(
        precision == "int8" ? "--target antoum" : "--target s30", "zoo:bert-base-layer",
        "--context 96 --batch 4 --weights random:1 --precision " + precision, "", {"encoded"});
  }
}
