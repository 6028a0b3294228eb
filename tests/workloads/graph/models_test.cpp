// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "workloads/graph/float_executor.h"
#include "workloads/graph/import.h"
#include "workloads/npy/npy.h"

using namespace steppe;
using namespace steppe::graph;

namespace {

namespace fs = std::filesystem;

/// Empty where the collection of real models is not there.
fs::path model(const std::string& name) {
  fs::path path = fs::path(STEPPE_SHARED_DIR) / "models" / name;
  if (fs::exists(path)) return path;
  MESSAGE("skipped: the collection of real models is not here");
  return {};
}

/// The largest difference of any output from the files' over all samples, relative to the largest
/// magnitude of that output.
double error_over_samples(const Graph& graph, const fs::path& folder) {
  double worst = 0.0;
  FloatExecutor executor(graph);
  int samples = 0;
  for (; fs::exists(folder / ("input_" + std::to_string(samples) + ".npy")); ++samples) {
    const npy::Array input = npy::read(folder / ("input_" + std::to_string(samples) + ".npy"));
    executor.run({{graph.value(graph.inputs.at(0)).name, input.reals}});
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      const npy::Array wanted = npy::read(
          folder / ("output_" + std::to_string(samples) + "_" + std::to_string(i) + ".npy"));
      const std::vector<float>& result = executor.value(graph.outputs[i]);
      REQUIRE(result.size() == wanted.reals.size());
      double difference = 0.0;
      double magnitude = 0.0;
      for (std::size_t k = 0; k < result.size(); ++k) {
        difference = std::max(difference, std::abs(double{result[k]} - double{wanted.reals[k]}));
        magnitude = std::max(magnitude, std::abs(double{wanted.reals[k]}));
      }
      worst = std::max(worst, difference / magnitude);
    }
  }
  CHECK(samples > 0);
  return worst;
}

}  // namespace

TEST_CASE("mnist equals its expected outputs") {
  const fs::path path = model("mnist.onnx");
  if (path.empty()) return;
  CHECK(error_over_samples(import_onnx(path), model("mnist")) < 1e-5);
}

TEST_CASE("ultraface equals its expected outputs") {
  const fs::path path = model("ultraface_rfb320.onnx");
  if (path.empty()) return;
  CHECK(error_over_samples(import_onnx(path), model("ultraface_rfb320")) < 1e-5);
}

TEST_CASE("ppocr equals its expected outputs") {
  const fs::path path = model("ppocr_mobile_cls.onnx");
  if (path.empty()) return;
  ImportOptions options;
  options.bindings = {{"x.0", 1}, {"x.2", 48}, {"x.3", 192}};
  CHECK(error_over_samples(import_onnx(path, options), model("ppocr_mobile_cls")) < 1e-5);
}

TEST_CASE("light models with random weights: spread outputs, the same for the same seed") {
  for (const char* name : {"light_squeezenet.onnx", "light_resnet50.onnx"}) {
    const fs::path path = model(name);
    if (path.empty()) return;
    ImportOptions options;
    options.random_weights_seed = 1;
    const Graph graph = import_onnx(path, options);
    const auto compute = [](const Graph& g) {
      FloatExecutor executor(g);
      std::vector<float> image(g.value(g.inputs[0]).elements());
      for (std::size_t i = 0; i < image.size(); ++i) {
        image[i] = static_cast<float>(i * 37 % 101) / 50.0F - 1.0F;
      }
      executor.run({{g.value(g.inputs[0]).name, image}});
      return executor.value(g.outputs[0]);
    };
    const std::vector<float> scores = compute(graph);
    REQUIRE(scores.size() == 1000);
    double sum = 0.0;
    for (const float x : scores) {
      CHECK(std::isfinite(x));
      sum += double{x};
    }
    CHECK(sum == doctest::Approx(1.0));
    CHECK(*std::max_element(scores.begin(), scores.end()) > 0.0015F);  // stubs give 0.001 each
    CHECK(compute(import_onnx(path, options)) == scores);
    options.random_weights_seed = 2;
    CHECK(compute(import_onnx(path, options)) != scores);
    for (const Node& node : graph.nodes) {  // every normalisation is part of its convolution
      CHECK_MESSAGE((node.op != "Mul" && node.op != "BatchNormalization"), node.name);
    }
  }
}
