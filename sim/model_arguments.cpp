// SPDX-License-Identifier: Apache-2.0
#include "sim/model_arguments.h"

#include <algorithm>
#include <filesystem>

#include "models/base/config.h"
#include "models/base/error.h"
#include "models/base/param.h"
#include "sim/calibration_table.h"
#include "sim/files.h"

namespace steppe::sim {
namespace {

using Strings = std::vector<std::string>;

net::Sparsity parse_sparsity(const std::string& text) {
  const Strings ratios{"1", "2", "4", "8", "16", "32"};
  if (std::ranges::find(ratios, text) != ratios.end()) {
    return net::balanced(static_cast<std::uint32_t>(std::stoul(text)));
  }
  const std::string unstructured = "unstructured:";
  if (text.starts_with(unstructured)) {
    const double share =
        detail::parse_number(text.substr(unstructured.size()), "", "--sparsity " + text);
    if (share > 0 && share < 1) {
      return {.encoding = numerics::Encoding::bitmap, .density = share};
    }
  } else if (text.ends_with(":32")) {
    const std::uint64_t kept = parse_whole("--sparsity " + text, text.substr(0, text.size() - 3));
    if (kept >= 1 && kept < numerics::block) {
      return {.encoding = numerics::Encoding::indexed, .kept = static_cast<std::uint32_t>(kept)};
    }
  }
  throw ConfigError(
      "--sparsity {}: 1, 2, 4, 8, 16, 32, N:32 with N from 1 to 31, or unstructured:SHARE with a "
      "share between 0 and 1 are right",
      text);
}

net::Type parse_precision(const std::string& text) {
  for (const net::Type type : {net::Type::int8, net::Type::bf16, net::Type::fp32}) {
    if (text == net::name_of(type)) return type;
  }
  throw ConfigError("--precision {}: it has to be int8, bf16 or fp32", text);
}

/// Options that the kind of model or the precision has no use for are refused.
void check_used(const std::string& model, const options::variables_map& values) {
  const bool zoo = model.starts_with("zoo:");
  const auto given = [&](const char* option) {
    return values.count(option) != 0 && !values[option].defaulted();
  };
  for (const char* option : {"calibrate", "calibration"}) {
    if (given(option) && values["precision"].as<std::string>() != "int8") {
      throw ConfigError("--{} sets ranges of int8; --precision {} has none", option,
                        values["precision"].as<std::string>());
    }
  }
  if (zoo && given("bind"))
    throw ConfigError("--bind is for ONNX files; the zoo has --batch and --context");
  for (const char* option : {"batch", "context"}) {
    if (!zoo && given(option)) {
      throw ConfigError("--{} is for models of the zoo; --bind sets the extents of an ONNX file",
                        option);
    }
  }
}

/// Files by input; a folder stands for NAME.npy of every input in it.
std::map<std::string, std::string> calibration_files(const std::vector<std::string>& calibrate,
                                                     const std::vector<InputShape>& shapes) {
  if (calibrate.size() != 1 || !std::filesystem::is_directory(calibrate.front())) {
    return split_pairs("calibrate", calibrate);
  }
  std::map<std::string, std::string> files;
  for (const InputShape& shape : shapes) {
    files[shape.name] = calibrate.front() + "/" + file_name(shape.name) + ".npy";
  }
  return files;
}

}  // namespace

std::vector<InputShape> input_shapes(const graph::Graph& graph) {
  std::vector<InputShape> shapes;
  for (const graph::ValueId id : graph.inputs) {
    const graph::Value& value = graph.value(id);
    shapes.push_back({value.name, {value.shape.begin(), value.shape.end()}});
  }
  return shapes;
}

/// One run's inputs by name.
passes::Sample run_inputs(const std::vector<InputShape>& shapes, const Samples& samples,
                          std::uint64_t run) {
  passes::Sample inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::size_t elements = samples.inputs[i].size() / samples.runs;
    const auto part = samples.input(i, run, elements);
    inputs[shapes[i].name] = {part.begin(), part.end()};
  }
  return inputs;
}

void ModelArguments::describe(options::options_description& described) {
  auto add = described.add_options();
  add("sparsity", options::value(&sparsity_text_)->default_value("16"),
      "1, 2, 4, 8, 16 or 32: one weight in so many is kept; N:32: N in each block of 32; "
      "unstructured:SHARE: the largest, wherever they are");
  add("precision", options::value(&precision_text_)->default_value("int8"),
      "int8, bf16, or fp32: products of bf16, all else fp32");
  add("calibrate", options::value(&calibrate_),
      "NAME=FILE.npy, or a folder with NAME.npy for each input: inputs that set the ranges of "
      "activations");
  add("calibration", options::value(&calibration_)->default_value("minmax"),
      "how: minmax, percentile:P, mse, entropy; or FILE.yaml, a table as `calibrate` writes it");
  add("weights", options::value(&weights_), "random:SEED in place of stub weights");
  add("bind", options::value(&bindings_),
      "NAME=N or INPUT.AXIS=N: an extent that the model leaves open");
  add("batch", options::value(&batch_)->default_value({1}, "1"), "of a zoo model");
  add("context", options::value(&context_)->default_value({256}, "256"),
      "tokens of context of a zoo model");
}

void ModelArguments::finish(const options::variables_map& values) {
  model_.model = values["MODEL"].as<std::string>();
  const auto narrowed = [](const char* option, const Whole& whole) {
    constexpr std::uint64_t most = 65536;
    if (whole.value > most) throw ConfigError("--{} {}: at most {}", option, whole.value, most);
    return static_cast<std::uint32_t>(whole.value);
  };
  model_.batch = narrowed("batch", batch_);
  model_.context = narrowed("context", context_);
  sparsity_ = parse_sparsity(sparsity_text_);
  precision_ = parse_precision(precision_text_);
  check_used(model_.model, values);
  if (!reads_table()) passes::parse_method(calibration_);
  for (const std::string& binding : bindings_) {
    const auto [name, extent] = split_pair("bind", binding);
    model_.bindings[name] = parse_whole("--bind " + binding, extent);
  }
  model_.random_seed = parse_weights(weights_);
}

bool ModelArguments::reads_table() const { return calibration_.ends_with(".yaml"); }

std::vector<passes::Sample> ModelArguments::samples(const graph::Graph& graph) const {
  if (calibrate_.empty()) return {};
  const std::vector<InputShape> shapes = input_shapes(graph);
  const Samples loaded = load_samples(shapes, calibration_files(calibrate_, shapes), 1, 1, 1);
  std::vector<passes::Sample> all;
  for (std::uint64_t run = 0; run < loaded.runs; ++run) {
    all.push_back(run_inputs(shapes, loaded, run));
  }
  return all;
}

passes::LowerOptions ModelArguments::lowering(const graph::Graph& graph) const {
  passes::LowerOptions lowering{
      .sparsity = sparsity_, .precision = precision_, .samples = samples(graph)};
  if (reads_table()) {
    CalibrationTable table = read_table(calibration_);
    lowering.ranges = std::move(table.ranges);
    lowering.in_bf16 = std::move(table.in_bf16);
  } else {
    lowering.method = passes::parse_method(calibration_);
  }
  return lowering;
}

}  // namespace steppe::sim
