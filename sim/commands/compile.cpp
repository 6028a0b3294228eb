// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "models/base/error.h"
#include "sim/command.h"
#include "sim/files.h"
#include "sim/host/host_program.h"
#include "sim/machine.h"
#include "sim/model_arguments.h"
#include "sim/report/layers.h"
#include "sim/report/text.h"
#include "sim/report/verdict.h"
#include "sim/simulation.h"
#include "workloads/graph/float_executor.h"
#include "workloads/graph/serial.h"
#include "workloads/package/package.h"
#include "workloads/passes/lower.h"
#include "workloads/reference/executor.h"
#include "workloads/schedule/schedule.h"

namespace steppe::sim {
namespace {

using Strings = std::vector<std::string>;

struct CompileOptions {
  ModelArguments model;
  std::string out, target, reference, labels;
  schedule::Partition partition;
  Strings settings, inputs;
  bool timing_only = false;
  bool report = false;
};

/// A number from 1 on; 0 for "auto".
std::uint32_t parse_count(const std::string& option, const std::string& text, std::uint64_t most,
                          const char* bound) {
  if (text == "auto") return 0;
  const std::uint64_t count = parse_whole(option + " " + text, text);
  if (count < 1 || count > most) {
    throw ConfigError("{} {}: auto, or from 1 to {}, {}", option, text, most, bound);
  }
  return static_cast<std::uint32_t>(count);
}

std::optional<CompileOptions> parse(const Strings& arguments) {
  CompileOptions compile;
  std::string partition;
  std::string clusters, copies;
  options::options_description described("options");
  auto add = described.add_options();
  add("output,o", options::value(&compile.out)->required(), "PKG: the package to write");
  add("target", options::value(&compile.target)->default_value("s30"),
      "preset or YAML file to compile for");
  add("set", options::value(&compile.settings), "path=value: a parameter of the target");
  add("partition", options::value(&partition)->default_value("auto"),
      "pipeline: layers in a row on each chip; tensor: all chips take part in each layer; mixed:N: "
      "stages of N chips; data: copies on one chip each; auto: the best by estimate");
  add("copies", options::value(&copies)->default_value("auto"),
      "N: copies of the program, each on its share of the chips and with its own states; they take "
      "the runs in turn");
  add("clusters", options::value(&clusters)->default_value("auto"), "of each chip, that take part");
  add("timing-only", options::bool_switch(&compile.timing_only), "leave the weights' values out");
  add("report", options::bool_switch(&compile.report),
      "time a run, and print what each layer takes and what it would at least");
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
  if (!compile.model.wants_samples() && values.count("calibrate") != 0) {
    throw ConfigError(
        "--calibrate has no use: ranges are {}, and --pruning magnitude looks at no inputs",
        compile.model.reads_table() ? "in the table of --calibration" : "for int8 alone");
  }
  compile.partition = schedule::parse_partition(partition);
  compile.partition.clusters =
      parse_count("--clusters", clusters, 64, "as many as a chip of the target has");
  compile.partition.copies =
      parse_count("--copies", copies, 254, "as many as the target has chips");
  return compile;
}

schedule::Target make_target(const std::string& platform, const ServerDescription& card) {
  return {.platform = platform,
          .chips = card.chips,
          .clusters = card.clusters,
          .sram_bytes = card.sram_bytes,
          .dram_bytes = card.dram_bytes,
          .engines = card.engines,
          .lanes = card.lanes,
          .columns = card.columns,
          .clock_hz = card.clock_hz,
          .bf16_cycles = card.bf16_cycles,
          .vector_lanes = card.vector_lanes,
          .special_lanes = card.special_lanes,
          .permute_bytes = card.permute_bytes,
          .dram_bandwidth = card.dram_bandwidth,
          .peer = {card.chip_link_bandwidth, card.chip_link_latency},
          .chips_of_card = card.chips_of_card,
          .across = {card.card_link_bandwidth, card.card_link_latency},
          .chips_of_server = card.chips / card.servers,
          .between = {card.server_link_bandwidth, card.server_link_latency}};
}

/// Outputs of the compiled and of the float model for all samples.
struct References {
  std::vector<std::string> names;
  std::vector<npy::Array> compiled;
  std::vector<npy::Array> real;
  std::uint64_t samples = 0;
};

/// The float model's outputs for one run.
std::vector<graph::Tensor> real_outputs(const graph::Graph& graph, graph::FloatExecutor& executor,
                                        const std::map<std::string, graph::Tensor>& inputs) {
  executor.run_tensors(inputs);
  std::vector<graph::Tensor> outputs;
  for (const graph::ValueId id : graph.outputs) outputs.push_back(executor.tensor(id));
  return outputs;
}

/// What the card has to make of its inputs.
std::vector<graph::Tensor> card_outputs(const package::Package& package,
                                        reference::Executor& executor,
                                        const std::vector<graph::Tensor>& inputs) {
  std::vector<std::vector<float>> by_port;
  by_port.reserve(inputs.size());
  for (const graph::Tensor& input : inputs) by_port.push_back(as_floats(input));
  const std::vector<std::vector<float>> results = executor.run(by_port);
  std::vector<graph::Tensor> outputs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Signature port = signature_of(package.outputs[i]);
    outputs.push_back(
        graph::make_tensor(port.type, {port.dims.begin(), port.dims.end()},
                           std::vector<double>(results[i].begin(), results[i].end())));
  }
  return outputs;
}

References compute_references(const graph::Graph& graph, const net::Net& network,
                              const package::Package& package, HostProgram& host,
                              const Samples& samples) {
  References all;
  all.samples = samples.samples;
  for (const Signature& output : host.outputs()) all.names.push_back(output.name);
  all.compiled.resize(all.names.size());
  all.real.resize(all.names.size());
  const std::vector<Signature> inputs = input_signatures(graph);
  // Of a sequence each copy of the program has the states of its own.
  const std::uint32_t sequences = package.stateful ? std::max(package.replicas, 1U) : 1;
  std::deque<reference::Executor> executors;
  std::deque<graph::FloatExecutor> float_executors;
  for (std::uint32_t i = 0; i < sequences; ++i) {
    if (!package.shards.empty()) executors.emplace_back(network);
    float_executors.emplace_back(graph);
  }
  for (std::uint64_t run = 0; run < samples.runs; ++run) {
    std::vector<graph::Tensor> user;
    for (std::size_t i = 0; i < inputs.size(); ++i) user.push_back(samples.input(i, run));
    HostProgram::Frame frame = host.before(std::move(user));
    std::vector<graph::Tensor> card;
    if (!executors.empty()) card = card_outputs(package, executors[run % sequences], frame.card);
    const auto compiled = host.after(std::move(frame), std::move(card));
    const auto real =
        real_outputs(graph, float_executors[run % sequences], run_inputs(inputs, samples, run));
    for (std::size_t i = 0; i < real.size(); ++i) {
      append_run(array_of(compiled[i]), all.compiled[i]);
      append_run(array_of(real[i]), all.real[i]);
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

void print_host(const PlacedModel& model, const HostProgram& host,
                const HostProcessors& processors) {
  fmt::print("{}", format_lines(host.parts(processors)));
  for (const auto& [node, reason] : model.parts.reasons) {
    fmt::print("on the host        node '{}': {}\n", node, reason);
  }
  const std::vector<std::string>& stranded = model.parts.stranded;
  if (stranded.empty() || model.parts.card.nodes.empty()) return;
  constexpr std::size_t shown = 8;
  const std::vector<std::string> some(
      stranded.begin(),
      stranded.begin() + static_cast<std::ptrdiff_t>(std::min(shown, stranded.size())));
  fmt::print("on the host        {} beyond these, as the card runs one part of the model: '{}'{}\n",
             count_of(stranded.size(), "node"), fmt::join(some, "', '"),
             stranded.size() > shown ? ", …" : "");
}

void print_card(const package::Package& package, const passes::LowerReport& lowered,
                const schedule::Report& report) {
  fmt::print(
      "model              {}: {} layers, {:.1f} M multiply-accumulates, {:.1f} M after sparsity\n",
      package.model, lowered.layers.size(), static_cast<double>(package.dense_macs) * 1e-6,
      static_cast<double>(package.effective_macs) * 1e-6);
  if (lowered.random_samples && !package.timing_only) {
    fmt::print("calibration        inputs drawn from a seed; --calibrate gives real ones\n");
  }
  const std::string beside =
      report.replicas > 1 ? fmt::format("; {} copies, runs in turn", report.replicas) : "";
  fmt::print("partition          {} of {}, {} of each{}\n", count_of(report.stages, "stage"),
             count_of(report.chips_a_stage, "chip"), count_of(report.clusters, "cluster"), beside);
  if (package.stateful && report.replicas == 1 && package.target.chips > 1) {
    fmt::print("                   --copies N would let copies serve other sequences beside it\n");
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

/// Runs the package once, alone, and prints where its time went.
void print_layers(Machine& machine, const package::Package& package, HostProgram& host,
                  const schedule::Report& report, const LayerTimeline& timeline) {
  const Samples samples = load_samples(host.inputs(), {}, package.batch, 1, 1);
  const SimulationResult result = simulate(machine, package, host, samples);
  fmt::print("{}", format_table(layer_times(report, timeline, result.submitted.front(),
                                            machine.server().description().clock_hz)));
  fmt::print("run alone          {}\n", format_seconds(result.latency_seconds()));
}

/// What the compiler makes of a placed model.
struct CardPart {
  passes::LowerReport lowered;
  schedule::Report report;  ///< its network is empty where the host does everything
  package::Package package;
  std::vector<std::uint8_t> before, after;  ///< host shards, which the package points to
};

CardPart compile_card(const CompileOptions& compile, const PlacedModel& model,
                      const schedule::Target& target) {
  CardPart part;
  passes::LowerOptions lowering = model.lowering;
  lowering.timing_only = compile.timing_only;
  if (model.parts.card.nodes.empty()) {
    part.package = schedule::empty_package(model.graph.name, target);
    part.package.batch = compile.model.model().batch;
  } else {
    const net::Net network = passes::lower(model.parts.card, lowering, &part.lowered);
    part.package =
        schedule::compile(network, target,
                          {.batch = compile.model.model().batch,
                           .timing_only = compile.timing_only || holds_shapes_only(network),
                           .partition = compile.partition},
                          &part.report);
  }
  if (model.parts.hosted()) {
    part.before = graph::serialise(model.parts.before);
    part.after = graph::serialise(model.parts.after);
    part.package.host = {{package::HostPhase::before, part.before},
                         {package::HostPhase::after, part.after}};
  }
  return part;
}

}  // namespace

int compile_command(const Strings& arguments) {
  const std::optional<CompileOptions> parsed = parse(arguments);
  if (!parsed) return 0;
  const CompileOptions& compile = *parsed;
  check_writable(folder_of(compile.out));
  if (!compile.reference.empty()) check_writable(compile.reference);
  LayerTimeline timeline;
  Machine machine({.platform = compile.target,
                   .settings = compile.settings,
                   .mode = Mode::timing,
                   .timeline = compile.report ? &timeline : nullptr});
  const schedule::Target target = make_target(compile.target, machine.server().description());
  const PlacedModel model = compile.model.place();
  std::optional<Samples> samples;
  if (!compile.reference.empty()) {
    samples =
        load_samples(input_signatures(model.graph), split_pairs("input", compile.inputs), 1, 1, 1);
  } else if (!compile.inputs.empty() || !compile.labels.empty()) {
    throw ConfigError("--input and --labels go with --reference");
  }
  std::optional<npy::Array> labels;
  if (!compile.labels.empty()) labels = npy::read(compile.labels);

  const CardPart card = compile_card(compile, model, target);
  const package::Package& package = card.package;
  HostProgram host(package);
  std::optional<References> references;
  if (samples) {
    references = compute_references(model.graph, card.report.network, package, host, *samples);
  }
  if (!package.shards.empty()) print_card(package, card.lowered, card.report);
  print_host(model, host, machine.processors());
  if (compile.report && !package.shards.empty()) {
    print_layers(machine, package, host, card.report, timeline);
  }
  package::write(package, compile.out);
  fmt::print("package            {} ({:.2f} MB{})\n", compile.out,
             static_cast<double>(std::filesystem::file_size(compile.out)) * 1e-6,
             package.timing_only ? ", sizes only" : "");
  if (package.timing_only && !compile.timing_only) {
    fmt::print("weights            the model holds none; --weights random:SEED draws some\n");
  }
  if (references) write_references(compile, *references, labels);
  return 0;
}

}  // namespace steppe::sim
