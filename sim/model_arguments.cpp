// SPDX-License-Identifier: Apache-2.0
#include "sim/model_arguments.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "models/base/config.h"
#include "models/base/error.h"
#include "models/base/param.h"
#include "sim/files.h"
#include "sim/pruning_table.h"
#include "workloads/graph/float_executor.h"
#include "workloads/passes/smooth.h"
#include "workloads/passes/unquantise.h"

namespace steppe::sim {
namespace {

using Strings = std::vector<std::string>;

/// One ratio for all layers, or a table, which may say the method too. `method_given`: by the user.
passes::Pruning parse_pruning(const std::string& sparsity, const std::string& method,
                              bool method_given) {
  passes::Pruning pruning{.method = passes::parse_prune_method(method)};
  if (sparsity.ends_with(".yaml")) {
    PruningTable table = read_pruning_table(sparsity);
    if (method_given && !table.method.empty() && table.method != method) {
      throw ConfigError("--pruning {}: {} was made for {}", method, sparsity, table.method);
    }
    if (!table.method.empty()) pruning.method = passes::parse_prune_method(table.method);
    pruning.ratio = {};
    pruning.layers = std::move(table.layers);
  } else {
    pruning.ratio = passes::parse_ratio("--sparsity", sparsity);
  }
  return pruning;
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
  const auto precision = values["precision"].as<std::string>();
  for (const char* option : {"calibration", "activations", "smooth", "quantised"}) {
    if (precision != "int8" && given(option)) {
      throw ConfigError("--{} is about ranges of int8; --precision {} has none", option, precision);
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
  add("sparsity", options::value(&sparsity_)->default_value("16"),
      "1, 2, 4, 8, 16 or 32: one weight in so many is kept; N:32: N in each block of 32; "
      "unstructured:SHARE: the largest, wherever they are; keep: those that are not zero; "
      "FILE.yaml: a ratio for each layer, as `prune` writes it");
  add("pruning", options::value(&pruning_)->default_value("magnitude"),
      "which weights stay: magnitude: the largest; obs: those that matter most for the inputs of "
      "--calibrate, made up for those that go");
  add("precision", options::value(&precision_text_)->default_value("int8"),
      "int8, bf16, or fp32: products of bf16, all else fp32");
  add("calibrate", options::value(&calibrate_),
      "NAME=FILE.npy, or a folder with NAME.npy for each input: inputs that set the ranges of "
      "activations");
  add("calibration", options::value(&calibration_)->default_value("mse"),
      "how: minmax, percentile:P, mse, entropy; or FILE.yaml, a table as `calibrate` writes it");
  add("activations", options::value(&activations_)->default_value("symmetric"),
      "of int8: symmetric (zero points of 0) or asymmetric (all 256 steps from the lowest to the "
      "highest)");
  add("quantised", options::value(&quantised_)->default_value("host"),
      "where the pairs of QuantizeLinear and DequantizeLinear of a QDQ model are computed: host, "
      "bit "
      "by bit as ONNX defines them; or card: by the engines, with the model's ranges");
  add("smooth", options::value<std::string>(),
      "ALPHA from 0 to 1: move scales of outliers from layer normalisations into the products that "
      "read them, by the inputs of --calibrate (SmoothQuant; 0.5 is usual)");
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
  prune_ = parse_pruning(sparsity_, pruning_, !values["pruning"].defaulted());
  precision_ = parse_precision(precision_text_);
  check_used(model_.model, values);
  if (!reads_table()) passes::parse_method(calibration_);
  if (activations_ != "symmetric" && activations_ != "asymmetric") {
    throw ConfigError("--activations {}: symmetric or asymmetric are right", activations_);
  }
  if (reads_table() && !values["activations"].defaulted()) {
    throw ConfigError("--activations is told by the table of --calibration");
  }
  if (quantised_ != "host" && quantised_ != "card") {
    throw ConfigError("--quantised {}: host or card are right", quantised_);
  }
  if (values.count("smooth") != 0) {
    const auto text = values["smooth"].as<std::string>();
    smooth_ = detail::parse_number(text, "", "--smooth " + text);
    if (!(*smooth_ >= 0 && *smooth_ <= 1)) throw ConfigError("--smooth {}: from 0 to 1", text);
    if (reads_table()) throw ConfigError("--smooth is told by the table of --calibration");
  }
  if (reads_table()) {
    table_ = read_table(calibration_);
    smooth_ = table_->smooth;
    if (smooth_ && calibrate_.empty()) {
      throw ConfigError("{} moves scales, by the inputs of --calibrate that it was made with",
                        calibration_);
    }
  }
  for (const std::string& binding : bindings_) {
    const auto [name, extent] = split_pair("bind", binding);
    model_.bindings[name] = parse_whole("--bind " + binding, extent);
  }
  model_.fixed = split_pairs("fix", fixed_);
  model_.random_seed = parse_weights(weights_);
}

bool ModelArguments::reads_table() const { return calibration_.ends_with(".yaml"); }

bool ModelArguments::wants_samples() const {
  const bool sets_ranges = precision_ == net::Type::int8 && !reads_table();
  return sets_ranges || smooth_ || prune_.method == passes::PruneMethod::obs;
}

std::vector<passes::Sample> card_samples(const PlacedModel& model,
                                         const std::map<std::string, std::string>& files) {
  const std::vector<Signature> inputs = input_signatures(model.graph);
  const Samples loaded = load_samples(inputs, files, 1, 1, 1);
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
      sample[name] = as_floats(arrays.at(name));
      // Squares of larger numbers, summed, leave fp32.
      constexpr float largest = 1e15F;
      if (!std::ranges::all_of(sample[name], [](float x) { return std::abs(x) <= largest; })) {
        const auto file = files.find(name);
        throw ConfigError("{}: run {}: input '{}' holds what is no number or beyond {}",
                          file == files.end() ? "inputs" : file->second, run, name, largest);
      }
    }
  }
  return all;
}

PlacedModel ModelArguments::place() const {
  PlacedModel model;
  model.graph = load_model(model_);
  model.lowering = {.pruning = prune_, .precision = precision_};
  if (table_) {
    model.lowering.ranges = table_->ranges;
    model.lowering.in_bf16 = table_->in_bf16;
    model.lowering.symmetric = table_->symmetric;
  } else {
    model.lowering.method = passes::parse_method(calibration_);
    model.lowering.symmetric = activations_ == "symmetric";
  }
  if (quantised_ == "card") {
    model.lowering.known = passes::unquantise(model.graph);
    if (model.lowering.known.empty()) {
      throw ModelError(
          "--quantised card: the model has no QuantizeLinear and DequantizeLinear that "
          "undo each other");
    }
    model.lowering.symmetric = false;
  }
  model.parts = passes::place(model.graph, model.lowering);
  if (!calibrate_.empty()) {
    model.lowering.samples =
        card_samples(model, calibration_files(calibrate_, input_signatures(model.graph)));
  }
  if (smooth_) {
    const bool drawn = model.lowering.samples.empty();
    passes::smooth(model.parts.card,
                   drawn ? std::vector{passes::random_sample(model.parts.card, model.lowering.seed)}
                         : model.lowering.samples,
                   *smooth_);
    model.smoothed = smooth_;
  }
  return model;
}

}  // namespace steppe::sim
