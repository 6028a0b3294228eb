// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "models/base/error.h"
#include "sim/command.h"
#include "sim/files.h"
#include "sim/machine.h"
#include "sim/model_source.h"
#include "sim/report/verdict.h"
#include "sim/samples.h"
#include "workloads/graph/float_executor.h"
#include "workloads/package/package.h"
#include "workloads/passes/lower.h"
#include "workloads/reference/executor.h"
#include "workloads/schedule/schedule.h"

namespace steppe::sim {
namespace {

using Strings = std::vector<std::string>;

struct CompileOptions {
  ModelOptions model;
  std::string out, target, precision, partition, weights, reference, labels;
  Strings settings, calibrate, inputs, bindings;
  net::Sparsity sparsity;
  bool timing_only = false;
};

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

/// Options that the kind of model has no use for are refused.
void check_kind(const std::string& model, const options::variables_map& values) {
  const bool zoo = model.starts_with("zoo:");
  const auto given = [&](const char* option) {
    return values.count(option) != 0 && !values[option].defaulted();
  };
  if (zoo && given("bind"))
    throw ConfigError("--bind is for ONNX files; the zoo has --batch and --context");
  for (const char* option : {"batch", "context"}) {
    if (!zoo && given(option)) {
      throw ConfigError("--{} is for models of the zoo; --bind sets the extents of an ONNX file",
                        option);
    }
  }
}

std::optional<CompileOptions> parse(const Strings& arguments) {
  CompileOptions compile;
  std::string sparsity;
  Whole batch, context;
  options::options_description described("options");
  auto add = described.add_options();
  add("output,o", options::value(&compile.out)->required(), "PKG: the package to write");
  add("target", options::value(&compile.target)->default_value("s30"),
      "preset or YAML file to compile for");
  add("set", options::value(&compile.settings), "path=value: a parameter of the target");
  add("sparsity", options::value(&sparsity)->default_value("16"),
      "1, 2, 4, 8, 16 or 32: one weight in so many is kept; N:32: N in each block of 32; "
      "unstructured:SHARE: the largest, wherever they are");
  add("precision", options::value(&compile.precision)->default_value("int8"),
      "int8, bf16, or fp32: products of bf16, all else fp32");
  add("partition", options::value(&compile.partition)->default_value("auto"),
      "auto or pipeline: layers in a row on each chip");
  add("calibrate", options::value(&compile.calibrate),
      "NAME=FILE.npy, or a folder with NAME.npy for each input: inputs that set the ranges of "
      "activations");
  add("weights", options::value(&compile.weights), "random:SEED in place of stub weights");
  add("bind", options::value(&compile.bindings),
      "NAME=N or INPUT.AXIS=N: an extent that the model leaves open");
  add("batch", options::value(&batch)->default_value({1}, "1"), "of a zoo model");
  add("context", options::value(&context)->default_value({256}, "256"),
      "tokens of context of a zoo model");
  add("timing-only", options::bool_switch(&compile.timing_only), "leave the weights' values out");
  add("reference", options::value(&compile.reference),
      "DIR: write what the card has to return for --input, and the float model's answer");
  add("input", options::value(&compile.inputs), "NAME=FILE.npy: inputs of --reference");
  add("labels", options::value(&compile.labels), "FILE.npy: top-1 accuracy of both");
  options::variables_map values;
  if (!parse_arguments(arguments,
                       "compile MODEL -o PKG [OPTION …]   (MODEL: an ONNX file or zoo:NAME)",
                       described, "MODEL", values)) {
    return {};
  }
  compile.model.model = values["MODEL"].as<std::string>();
  check_kind(compile.model.model, values);
  const auto narrowed = [](const char* option, const Whole& whole) {
    constexpr std::uint64_t most = 65536;
    if (whole.value > most) throw ConfigError("--{} {}: at most {}", option, whole.value, most);
    return static_cast<std::uint32_t>(whole.value);
  };
  compile.model.batch = narrowed("batch", batch);
  compile.model.context = narrowed("context", context);
  compile.sparsity = parse_sparsity(sparsity);
  parse_precision(compile.precision);
  if (compile.partition != "auto" && compile.partition != "pipeline") {
    throw ConfigError("--partition {}: this version knows auto and pipeline", compile.partition);
  }
  for (const std::string& binding : compile.bindings) {
    const auto [name, extent] = split_pair("bind", binding);
    compile.model.bindings[name] = parse_whole("--bind " + binding, extent);
  }
  compile.model.random_seed = parse_weights(compile.weights);
  return compile;
}

schedule::Target make_target(const CompileOptions& compile) {
  Machine machine({.platform = compile.target, .settings = compile.settings, .mode = Mode::timing});
  const CardDescription card = machine.card().description();
  return {.platform = compile.target,
          .chips = card.chips,
          .clusters = card.clusters,
          .sram_bytes = card.sram_bytes,
          .dram_bytes = card.dram_bytes,
          .engines = card.engines,
          .lanes = card.lanes,
          .columns = card.columns,
          .clock_hz = card.clock_hz,
          .vector_lanes = card.vector_lanes,
          .special_lanes = card.special_lanes,
          .permute_bytes = card.permute_bytes,
          .dram_bandwidth = card.dram_bandwidth,
          .peer_bandwidth = card.chip_link_bandwidth};
}

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

/// Files by input; a folder stands for NAME.npy of every input in it.
std::map<std::string, std::string> calibration_files(const CompileOptions& compile,
                                                     const std::vector<InputShape>& shapes) {
  if (compile.calibrate.size() != 1 || !std::filesystem::is_directory(compile.calibrate.front())) {
    return split_pairs("calibrate", compile.calibrate);
  }
  std::map<std::string, std::string> files;
  for (const InputShape& shape : shapes) {
    files[shape.name] = compile.calibrate.front() + "/" + file_name(shape.name) + ".npy";
  }
  return files;
}

std::vector<passes::Sample> calibration(const CompileOptions& compile, const graph::Graph& graph) {
  if (compile.calibrate.empty()) return {};
  const std::vector<InputShape> shapes = input_shapes(graph);
  const Samples samples = load_samples(shapes, calibration_files(compile, shapes), 1, 1, 1);
  std::vector<passes::Sample> all;
  for (std::uint64_t run = 0; run < samples.runs; ++run) {
    all.push_back(run_inputs(shapes, samples, run));
  }
  return all;
}

/// Outputs of the compiled and of the float model for all samples.
struct References {
  std::vector<std::string> names;
  std::vector<npy::Array> compiled;
  std::vector<npy::Array> real;
  std::uint64_t samples = 0;
};

References compute_references(const graph::Graph& graph, const net::Net& network,
                              const Samples& samples) {
  References all;
  all.samples = samples.samples;
  for (const net::Port& port : network.outputs) {
    all.names.push_back(port.name);
    npy::Array array{.shape = port.dims};
    if (array.shape.empty()) array.shape.push_back(1);
    array.shape[0] *= samples.runs;
    all.compiled.push_back(array);
    all.real.push_back(array);
  }
  const std::vector<InputShape> shapes = input_shapes(graph);
  reference::Executor executor(network);
  graph::FloatExecutor float_executor(graph);
  for (std::uint64_t run = 0; run < samples.runs; ++run) {
    const passes::Sample inputs = run_inputs(shapes, samples, run);
    std::vector<std::vector<float>> by_port;
    for (const net::Port& port : network.inputs) by_port.push_back(inputs.at(port.name));
    const auto outputs = executor.run(by_port);
    float_executor.run(inputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto append = [](npy::Array& array, const std::vector<float>& values) {
        array.reals.insert(array.reals.end(), values.begin(), values.end());
      };
      append(all.compiled[i], outputs[i]);
      append(all.real[i], float_executor.value(graph.outputs[i]));
    }
  }
  return all;
}

void write_references(const CompileOptions& compile, const References& references,
                      const std::optional<npy::Array>& labels) {
  Files files;
  for (std::size_t i = 0; i < references.names.size(); ++i) {
    const std::string name = file_name(references.names[i]);
    files[name + ".npy"] = npy::format(references.compiled[i]);
    files[name + ".float.npy"] = npy::format(references.real[i]);
  }
  if (labels) {
    const double real = top1_accuracy(references.real.front(), *labels, compile.labels);
    const double compiled = top1_accuracy(references.compiled.front(), *labels, compile.labels);
    fmt::print("accuracy           float model {:.2f}%, compiled model {:.2f}% of {} samples\n",
               100 * real, 100 * compiled, references.samples);
    const nlohmann::ordered_json accuracy{
        {"float", real}, {"compiled", compiled}, {"samples", references.samples}};
    files["accuracy.json"] = accuracy.dump(2) + "\n";
  }
  write_files(compile.reference, files);
  fmt::print("reference          {} ({} samples)\n", compile.reference, references.samples);
}

void print(const package::Package& package, const passes::LowerReport& lowered,
           const schedule::Report& report) {
  fmt::print(
      "model              {}: {} layers, {:.1f} M multiply-accumulates, {:.1f} M after sparsity\n",
      package.model, lowered.layers.size(), static_cast<double>(package.dense_macs) * 1e-6,
      static_cast<double>(package.effective_macs) * 1e-6);
  if (lowered.random_samples && !package.timing_only) {
    fmt::print("calibration        inputs drawn from a seed; --calibrate gives real ones\n");
  }
  for (const schedule::ShardReport& shard : report.shards) {
    fmt::print(
        "chip {}             {} layers, '{}' to '{}'; {:.2f} MB of weights, {:.2f} MB of them stay "
        "in SRAM\n",
        shard.chip, shard.layers, shard.first_layer, shard.last_layer,
        static_cast<double>(shard.weight_bytes) * 1e-6,
        static_cast<double>(shard.resident_bytes) * 1e-6);
  }
}

}  // namespace

int compile_command(const Strings& arguments) {
  const std::optional<CompileOptions> parsed = parse(arguments);
  if (!parsed) return 0;
  const CompileOptions& compile = *parsed;
  check_writable(folder_of(compile.out));
  if (!compile.reference.empty()) check_writable(compile.reference);
  const schedule::Target target = make_target(compile);
  const graph::Graph graph = load_model(compile.model);
  const std::vector<InputShape> shapes = input_shapes(graph);
  std::optional<Samples> samples;
  if (!compile.reference.empty()) {
    samples = load_samples(shapes, split_pairs("input", compile.inputs), 1, 1, 1);
  } else if (!compile.inputs.empty() || !compile.labels.empty()) {
    throw ConfigError("--input and --labels go with --reference");
  }

  std::optional<npy::Array> labels;
  if (!compile.labels.empty()) labels = npy::read(compile.labels);

  passes::LowerReport lowered;
  passes::LowerOptions lowering{.sparsity = compile.sparsity,
                                .precision = parse_precision(compile.precision),
                                .samples = calibration(compile, graph)};
  lowering.timing_only = compile.timing_only;
  const net::Net network = passes::lower(graph, lowering, &lowered);
  const bool timing_only = compile.timing_only || holds_shapes_only(network);
  schedule::Report report;
  const package::Package package = schedule::compile(
      network, target, {.batch = compile.model.batch, .timing_only = timing_only}, &report);
  std::optional<References> references;
  if (samples) references = compute_references(graph, network, *samples);
  print(package, lowered, report);
  package::write(package, compile.out);
  fmt::print("package            {} ({:.2f} MB{})\n", compile.out,
             static_cast<double>(std::filesystem::file_size(compile.out)) * 1e-6,
             timing_only ? ", sizes only" : "");
  if (timing_only && !compile.timing_only) {
    fmt::print("weights            the model holds none; --weights random:SEED draws some\n");
  }
  if (references) write_references(compile, *references, labels);
  return 0;
}

}  // namespace steppe::sim
