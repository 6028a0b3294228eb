// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "models/base/error.h"
#include "sim/command.h"
#include "sim/files.h"
#include "sim/machine.h"
#include "sim/model_arguments.h"
#include "sim/report/verdict.h"
#include "workloads/graph/float_executor.h"
#include "workloads/package/package.h"
#include "workloads/passes/lower.h"
#include "workloads/reference/executor.h"
#include "workloads/schedule/schedule.h"

namespace steppe::sim {
namespace {

using Strings = std::vector<std::string>;

struct CompileOptions {
  ModelArguments model;
  std::string out, target, partition, reference, labels;
  Strings settings, inputs;
  bool timing_only = false;
};

std::optional<CompileOptions> parse(const Strings& arguments) {
  CompileOptions compile;
  options::options_description described("options");
  auto add = described.add_options();
  add("output,o", options::value(&compile.out)->required(), "PKG: the package to write");
  add("target", options::value(&compile.target)->default_value("s30"),
      "preset or YAML file to compile for");
  add("set", options::value(&compile.settings), "path=value: a parameter of the target");
  add("partition", options::value(&compile.partition)->default_value("auto"),
      "auto or pipeline: layers in a row on each chip");
  add("timing-only", options::bool_switch(&compile.timing_only), "leave the weights' values out");
  add("reference", options::value(&compile.reference),
      "DIR: write what the card has to return for --input, and the float model's answer");
  add("input", options::value(&compile.inputs), "NAME=FILE.npy: inputs of --reference");
  add("labels", options::value(&compile.labels), "FILE.npy: top-1 accuracy of both");
  compile.model.describe(described);
  options::variables_map values;
  if (!parse_arguments(arguments,
                       "compile MODEL -o PKG [OPTION …]   (MODEL: an ONNX file or zoo:NAME)",
                       described, "MODEL", values)) {
    return {};
  }
  compile.model.finish(values);
  if (compile.model.reads_table() && values.count("calibrate") != 0) {
    throw ConfigError("--calibrate sets ranges that the table of --calibration holds already");
  }
  if (compile.partition != "auto" && compile.partition != "pipeline") {
    throw ConfigError("--partition {}: this version knows auto and pipeline", compile.partition);
  }
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
  const graph::Graph graph = load_model(compile.model.model());
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
  passes::LowerOptions lowering = compile.model.lowering(graph);
  lowering.timing_only = compile.timing_only;
  const net::Net network = passes::lower(graph, lowering, &lowered);
  const bool timing_only = compile.timing_only || holds_shapes_only(network);
  schedule::Report report;
  const package::Package package = schedule::compile(
      network, target, {.batch = compile.model.model().batch, .timing_only = timing_only}, &report);
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
