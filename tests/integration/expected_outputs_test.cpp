// SPDX-License-Identifier: Apache-2.0
//
// Real models against outputs that came with them (from another program).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/integration/program.h"
#include "workloads/npy/npy.h"

using namespace steppe;
using namespace steppe::test;

namespace {

struct RealModel {
  std::string name, input;
  std::vector<std::string> outputs;  ///< as the files behind them are numbered
  std::size_t answers;               ///< which of them has one score for each class, classes last
  std::string bindings;
};

const RealModel real_models[] = {
    {"mnist", "Input3", {"Plus214_Output_0"}, 0, ""},
    {"ppocr_mobile_cls", "x", {"softmax_0.tmp_0"}, 0, " --bind x.0=1 --bind x.2=48 --bind x.3=192"},
    {"ultraface_rfb320", "input", {"scores", "boxes"}, 0, ""}};

/// The class with the largest score at each place.
std::vector<std::size_t> top_answers(const npy::Array& scores) {
  std::vector<std::size_t> result;
  const std::size_t classes = scores.shape.back();
  for (std::size_t at = 0; at < scores.reals.size(); at += classes) {
    const auto begin = scores.reals.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(classes);
    result.push_back(static_cast<std::size_t>(std::max_element(begin, end) - begin));
  }
  return result;
}

/// Every element within a tenth of the output's largest magnitude, and noise 20 dB below the
/// signal: operands of every product are rounded to 8 bits of significand, 2^-9, and these networks
/// are up to 60 layers deep with inputs of noise, which no class fits.
void check_near(const npy::Array& expected, const npy::Array& got) {
  REQUIRE(expected.reals.size() == got.reals.size());
  double largest = 0, difference = 0, signal = 0, noise = 0;
  for (std::size_t i = 0; i < got.reals.size(); ++i) {
    const double error = double{got.reals[i]} - double{expected.reals[i]};
    largest = std::max(largest, std::abs(double{expected.reals[i]}));
    difference = std::max(difference, std::abs(error));
    signal += double{expected.reals[i]} * double{expected.reals[i]};
    noise += error * error;
  }
  CHECK(difference <= 0.1 * largest);
  CHECK(signal >= 100 * noise);
}

class Trial {
 public:
  explicit Trial(const RealModel& model) : model_(model) {
    for (;; ++inputs_) {
      const std::string file = shared_model(fmt::format("{}/input_{}.npy", model.name, inputs_));
      if (file.empty() || !std::filesystem::exists(file)) break;
      npy::Array input = npy::read(file);
      if (inputs_ == 0) {
        all_ = std::move(input);
      } else {
        all_.shape[0] += input.shape[0];
        all_.reals.insert(all_.reals.end(), input.reals.begin(), input.reals.end());
      }
    }
    if (inputs_ != 0) std::ofstream(scratch_ / "all.npy", std::ios::binary) << npy::format(all_);
  }

  [[nodiscard]] bool there() const { return inputs_ != 0; }

  void run(const std::string& precision) {
    const std::string calibrate =
        precision == "int8" ? " --calibrate " + model_.input + "=" + scratch_ / "all.npy" : "";
    const Outcome compile =
        run_steppe("compile " + shared_model(model_.name + ".onnx") + " -o " + scratch_ / "m" +
                   " --sparsity 1 --precision " + precision + calibrate + model_.bindings);
    INFO(compile.output);
    REQUIRE(compile.exit_code == 0);
    for (std::size_t i = 0; i < inputs_; ++i) {
      const Outcome outcome =
          run_steppe("run " + scratch_ / "m" + " --input " + model_.input + "=" +
                     shared_model(fmt::format("{}/input_{}.npy", model_.name, i)) + " --out " +
                     scratch_ / "out");
      INFO(model_.name, " ", precision, " input ", i, "\n", outcome.output);
      REQUIRE(outcome.exit_code == 0);
      for (std::size_t o = 0; o < model_.outputs.size(); ++o) {
        const npy::Array expected =
            npy::read(shared_model(fmt::format("{}/output_{}_{}.npy", model_.name, i, o)));
        const npy::Array got = npy::read(scratch_ / ("out/outputs/" + model_.outputs[o] + ".npy"));
        if (precision != "int8") check_near(expected, got);
        if (o == model_.answers) CHECK(top_answers(got) == top_answers(expected));
      }
    }
  }

 private:
  const RealModel& model_;
  Scratch scratch_;
  std::size_t inputs_ = 0;
  npy::Array all_;
};

}  // namespace

TEST_CASE(
    "real models give the outputs expected of them: bf16 and fp32 near, int8 the same answer") {
  for (const RealModel& model : real_models) {
    Trial trial(model);
    if (!trial.there()) {
      MESSAGE("skipped: the collection of real models is not here");
      return;
    }
    for (const char* precision : {"fp32", "bf16", "int8"}) trial.run(precision);
  }
}
