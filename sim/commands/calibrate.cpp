// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "models/base/error.h"
#include "models/base/param.h"
#include "sim/calibration_table.h"
#include "sim/command.h"
#include "sim/files.h"
#include "sim/model_arguments.h"
#include "sim/report/layer_error.h"

namespace steppe::sim {
namespace {

/// A network with the errors of its layers.
struct Trial {
  passes::LowerReport report;
  std::vector<LayerError> errors;
  double output_decibels = 0;  ///< of the worst output
};

Trial run_trial(const graph::Graph& graph, const passes::LowerOptions& lowering,
                const std::vector<passes::Sample>& samples) {
  Trial trial;
  const net::Net network = passes::lower(graph, lowering, &trial.report);
  if (holds_shapes_only(network)) {
    throw ModelError(
        "the model has no weights to calibrate with; --weights random:SEED draws some");
  }
  trial.errors = layer_errors(graph, network, trial.report, samples);
  trial.output_decibels = std::numeric_limits<double>::infinity();
  for (const LayerError& error : trial.errors) {
    if (error.output) trial.output_decibels = std::min(trial.output_decibels, error.decibels);
  }
  return trial;
}

/// What each layer adds to the noise of what it reads is not known apart; a layer is taken for
/// sensitive where the signal over noise is lowest. The fewest of them, doubled in number at each
/// trial, go to bf16 until the outputs are as good as asked for.
Trial mix(const graph::Graph& graph, passes::LowerOptions& lowering,
          const std::vector<passes::Sample>& samples, double wanted) {
  Trial trial = run_trial(graph, lowering, samples);
  std::vector<LayerError> ranked = trial.errors;
  std::ranges::stable_sort(ranked, {}, &LayerError::decibels);
  for (std::size_t count = 1; trial.output_decibels < wanted; count *= 2) {
    for (std::size_t i = 0; i < std::min(count, ranked.size()); ++i) {
      for (const std::string& node : ranked[i].nodes) {
        if (!node.empty()) lowering.in_bf16.insert(node);
      }
    }
    trial = run_trial(graph, lowering, samples);
    if (count >= ranked.size()) break;
  }
  return trial;
}

}  // namespace

int calibrate_command(const std::vector<std::string>& arguments) {
  ModelArguments model;
  std::string out;
  std::optional<double> wanted;
  options::options_description described("options");
  auto add = described.add_options();
  add("output,o", options::value(&out)->required(), "FILE.yaml: the table to write");
  std::string mixed;
  add("mixed", options::value(&mixed),
      "auto:DB: keep the most sensitive layers in bf16 until the outputs have that signal over "
      "noise");
  model.describe(described);
  options::variables_map values;
  if (!parse_arguments(
          arguments, "calibrate MODEL -o FILE.yaml [OPTION …]   (MODEL: an ONNX file or zoo:NAME)",
          described, "MODEL", values)) {
    return 0;
  }
  model.finish(values);
  if (model.precision() != net::Type::int8) {
    throw ConfigError("calibration is for --precision int8");
  }
  if (!mixed.empty()) {
    if (!mixed.starts_with("auto:")) throw ConfigError("--mixed {}: expected auto:DB", mixed);
    wanted = detail::parse_number(mixed.substr(5), "", "--mixed " + mixed);
  }
  check_writable(folder_of(out));
  PlacedModel placed = model.place();
  const graph::Graph& graph = placed.parts.card;
  passes::LowerOptions& lowering = placed.lowering;
  if (graph.nodes.empty())
    throw ModelError("the card runs none of the model; there is nothing to calibrate");
  std::vector<passes::Sample> samples = lowering.samples;
  const bool drawn = samples.empty();
  if (drawn) samples = {passes::random_sample(graph, lowering.seed)};
  const Trial trial =
      wanted ? mix(graph, lowering, samples, *wanted) : run_trial(graph, lowering, samples);

  CalibrationTable table{.model = graph.name,
                         .method = model.method(),
                         .samples = samples.size(),
                         .symmetric = lowering.symmetric,
                         .smooth = placed.smoothed,
                         .ranges = trial.report.values,
                         .in_bf16 = lowering.in_bf16};
  write_file(out, format_table(table));
  fmt::print("{}", format_table(trial.errors));
  if (drawn)
    fmt::print("calibration        inputs drawn from a seed; --calibrate gives real ones\n");
  if (wanted) {
    fmt::print("in bf16            {} of {} nodes; outputs at {:.1f} dB, {} asked for\n",
               lowering.in_bf16.size(), graph.nodes.size(), trial.output_decibels, *wanted);
  }
  fmt::print("table              {}\n", out);
  return wanted && trial.output_decibels < *wanted ? 1 : 0;
}

}  // namespace steppe::sim
