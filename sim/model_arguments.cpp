// SPDX-License-Identifier: Apache-2.0
#include "sim/model_arguments.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "models/base/config.h"
#include "models/base/error.h"
#include "models/base/param.h"
#include "sim/calibration_table.h"
#include "sim/files.h"
#include "workloads/graph/float_executor.h"

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
  for (const char* option : {"bind", "fix"}) {
    if (zoo && given(option)) {
      throw ConfigError("--{} is for ONNX files; the zoo has --batch and --context", option);
    }
  }
  for (const char* option : {"batch", "context"}) {
    if (!zoo && given(option)) {
      throw ConfigError("--{} is for models of the zoo; --bind sets the extents of an ONNX file",
                        option);
    }
  }
}

/// Files by input; a folder stands for NAME.npy of every input in it.
std::map<std::string, std::string> calibration_files(const std::vector<std::string>& calibrate,
                                                     const std::vector<Signature>& shapes) {
  if (calibrate.size() != 1 || !std::filesystem::is_directory(calibrate.front())) {
    return split_pairs("calibrate", calibrate);
  }
  std::map<std::string, std::string> files;
  for (const Signature& shape : shapes) {
    files[shape.name] = calibrate.front() + "/" + file_name(shape.name) + ".npy";
  }
  return files;
}

}  // namespace

std::vector<Signature> input_signatures(const graph::Graph& graph) {
  std::vector<Signature> inputs;
  inputs.reserve(graph.inputs.size());
  for (const graph::ValueId id : graph.inputs) inputs.push_back(signature_of(graph.value(id)));
  return inputs;
}

std::map<std::string, graph::Tensor> run_inputs(const std::vector<Signature>& inputs,
                                                const Samples& samples, std::uint64_t run) {
  std::map<std::string, graph::Tensor> result;
  for (std::size_t i = 0; i < inputs.size(); ++i) result[inputs[i].name] = samples.input(i, run);
  return result;
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
  add("fix", options::value(&fixed_),
      "NAME=FILE.npy: an input that always has these elements, such as a shape");
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
  model_.fixed = split_pairs("fix", fixed_);
  model_.random_seed = parse_weights(weights_);
}

bool ModelArguments::reads_table() const { return calibration_.ends_with(".yaml"); }

/// Inputs of the card's part: the model's, or what the host makes of them.
std::vector<passes::Sample> ModelArguments::samples(const PlacedModel& model) const {
  if (calibrate_.empty()) return {};
  const std::vector<Signature> inputs = input_signatures(model.graph);
  const Samples loaded = load_samples(inputs, calibration_files(calibrate_, inputs), 1, 1, 1);
  const bool hosted = model.parts.hosted();
  std::optional<graph::FloatExecutor> before;
  if (hosted) before.emplace(model.parts.before);
  std::vector<passes::Sample> all;
  for (std::uint64_t run = 0; run < loaded.runs; ++run) {
    std::map<std::string, graph::Tensor> arrays = run_inputs(inputs, loaded, run);
    if (hosted) {
      before->run_tensors(arrays);
      for (const graph::ValueId id : model.parts.before.outputs) {
        arrays[model.parts.before.value(id).name] = before->tensor(id);
      }
    }
    passes::Sample& sample = all.emplace_back();
    for (const graph::ValueId id : model.parts.card.inputs) {
      const std::string& name = model.parts.card.value(id).name;
      sample[name] = arrays.at(name).fp32;
    }
  }
  return all;
}

PlacedModel ModelArguments::place() const {
  PlacedModel model;
  model.graph = load_model(model_);
  model.lowering = {.sparsity = sparsity_, .precision = precision_};
  if (reads_table()) {
    CalibrationTable table = read_table(calibration_);
    model.lowering.ranges = std::move(table.ranges);
    model.lowering.in_bf16 = std::move(table.in_bf16);
  } else {
    model.lowering.method = passes::parse_method(calibration_);
  }
  model.parts = passes::place(model.graph, model.lowering);
  model.lowering.samples = samples(model);
  return model;
}

}  // namespace steppe::sim
