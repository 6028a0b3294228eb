// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "models/base/error.h"
#include "models/base/param.h"
#include "sim/command.h"
#include "sim/files.h"
#include "sim/judge.h"
#include "sim/model_arguments.h"
#include "sim/pruning_table.h"
#include "workloads/passes/sensitivity.h"

namespace steppe::sim {
namespace {

using Strings = std::vector<std::string>;

/// What pruning and quantisation together may cost.
struct Budget {
  std::optional<double> lost;      ///< share of the samples that are answered wrong
  std::optional<double> decibels;  ///< signal over noise of the outputs
};

Budget parse_budget(const std::string& text) {
  const auto number = [&](std::string_view unit) -> std::optional<double> {
    if (!text.ends_with(unit)) return {};
    const double value =
        detail::parse_number(text.substr(0, text.size() - unit.size()), "", "--budget " + text);
    if (!std::isfinite(value) || value < 0) return {};
    return value;
  };
  if (const auto percent = number("%"); percent && *percent <= 100) return {*percent / 100, {}};
  if (const auto decibels = number("dB")) return {{}, *decibels};
  throw ConfigError(
      "--budget {}: answers lost in percent (1%) or signal over noise (20dB) are right", text);
}

struct PruneOptions {
  ModelArguments model;
  std::string out, labels;
  std::optional<Budget> budget;
  Strings inputs;
};

std::optional<PruneOptions> parse(const Strings& arguments) {
  PruneOptions prune;
  std::string budget;
  options::options_description described("options");
  auto add = described.add_options();
  add("budget", options::value(&budget),
      "PERCENT% of the answers that may be lost, or the signal over noise that outputs keep, "
      "DECIBELSdB: prune each layer as far as that allows");
  add("output,o", options::value(&prune.out), "FILE.yaml: the table to write, with --budget");
  add("input", options::value(&prune.inputs),
      "NAME=FILE.npy: inputs to judge by; those of --calibrate where there are none");
  add("labels", options::value(&prune.labels),
      "FILE.npy: the right answers for --input; the float model's where there are none");
  prune.model.describe(described);
  options::variables_map values;
  if (!parse_arguments(arguments,
                       "prune MODEL [--budget BUDGET -o FILE.yaml] [OPTION …]   (MODEL: an ONNX "
                       "file or zoo:NAME)",
                       described, "MODEL", values)) {
    return {};
  }
  prune.model.finish(values);
  if (!values["sparsity"].defaulted()) {
    throw ConfigError("prune looks at all ratios; --sparsity is for compile and calibrate");
  }
  if (budget.empty() != prune.out.empty()) {
    throw ConfigError("--budget and --output go together: the table holds what the budget allows");
  }
  if (!budget.empty()) prune.budget = parse_budget(budget);
  if (!prune.out.empty() && !prune.out.ends_with(".yaml")) {
    throw ConfigError("--output {}: compile reads tables named FILE.yaml", prune.out);
  }
  if (!prune.labels.empty() && prune.inputs.empty()) {
    throw ConfigError("--labels are those of --input");
  }
  return prune;
}

/// Networks of one model, pruned in one way or another, and how good they are.
class Trials {
 public:
  Trials(const PlacedModel& model, const Judge& judge)
      : graph_(model.parts.card), lowering_(model.lowering), judge_(judge) {}

  [[nodiscard]] Quality run(const passes::Pruning& pruning) {
    lowering_.pruning = pruning;
    return judge_(passes::lower(graph_, lowering_));
  }

  [[nodiscard]] bool keeps(const Budget& budget, const Quality& quality) const {
    if (budget.decibels) return quality.decibels >= *budget.decibels;
    const auto samples = static_cast<double>(judge_.samples());
    const auto lost = std::round((judge_.float_right() - quality.right) * samples);
    return lost <= std::floor(*budget.lost * samples + 1e-9);  // whole answers
  }

 private:
  const graph::Graph& graph_;
  passes::LowerOptions lowering_;
  const Judge& judge_;
};

struct Choice {
  std::map<std::string, passes::Ratio> ratios;
  Quality quality;
};

/// The most that the budget allows, by bisection of the price of noise between none, where all is
/// pruned to 32x, and one at which only what costs nothing is. Empty where the dense network does
/// not keep it.
std::optional<Choice> choose(Trials& trials, const Budget& budget,
                             const std::vector<passes::Sensitivity>& layers,
                             passes::PruneMethod method) {
  std::map<std::map<std::string, std::string>, Quality> seen;
  const auto attempt = [&](double price) {
    Choice choice{passes::choose_ratios(layers, price), {}};
    std::map<std::string, std::string> key;
    for (const auto& [name, ratio] : choice.ratios) key[name] = passes::format_ratio(ratio);
    auto known = seen.find(key);
    if (known == seen.end()) {
      known = seen.emplace(key, trials.run({{}, choice.ratios, method})).first;
    }
    choice.quality = known->second;
    return choice;
  };
  constexpr double lowest = -20, highest = 20;  // powers of two: noise counts for 1e-6 to 1e6
  Choice best;
  for (const passes::Sensitivity& layer : layers) best.ratios[layer.layer] = net::balanced(1);
  best.quality = trials.run({{}, best.ratios, method});
  if (!trials.keeps(budget, best.quality)) return {};
  double low = lowest, high = highest;
  while (high - low > 0.25) {
    const double middle = (low + high) / 2;
    Choice choice = attempt(std::exp2(middle));
    if (trials.keeps(budget, choice.quality)) {
      best = std::move(choice);
      high = middle;
    } else {
      low = middle;
    }
  }
  return best;
}

std::string format_decibels(double noise) {
  return noise > 0 ? fmt::format("{:.1f}", -10 * std::log10(noise)) : "-";
}

void print_layers(const std::vector<passes::Sensitivity>& layers) {
  fmt::print("layer, pruned alone: signal over noise of its results, dB\n{:<44} {:>6}", "", "work");
  for (const std::uint32_t ratio : passes::scanned_ratios) {
    fmt::print(" {:>6}", fmt::format("{}x", ratio));
  }
  fmt::print("\n");
  for (const passes::Sensitivity& layer : layers) {
    fmt::print("{:<44} {:>5.1f}%", layer.layer, 100 * layer.share);
    for (const double noise : layer.noise) fmt::print(" {:>6}", format_decibels(noise));
    fmt::print("\n");
  }
}

std::string format_quality(const Quality& quality) {
  return fmt::format("{:>7.2f}% {:>8.1f} dB", 100 * quality.right, quality.decibels);
}

void print_methods(Trials& trials, const Judge& judge, net::Type precision) {
  fmt::print("\n{}, {} samples; signal over noise of the outputs\n{:<10} {:>20} {:>20}\n",
             judge.labelled() ? "right answers" : "answers like the float model's", judge.samples(),
             "", "magnitude", "obs");
  fmt::print("{:<10} {:>7.2f}%\n", "float", 100 * judge.float_right());
  const Quality dense = trials.run({.ratio = net::balanced(1)});
  fmt::print("{:<10} {}\n", net::name_of(precision), format_quality(dense));
  for (const std::uint32_t ratio : passes::scanned_ratios) {
    std::string row = fmt::format("{:<10}", fmt::format("{}x", ratio));
    for (const auto method : {passes::PruneMethod::magnitude, passes::PruneMethod::obs}) {
      const Quality quality =
          trials.run({.ratio = net::balanced(ratio), .layers = {}, .method = method});
      row = fmt::format("{} {}", row, format_quality(quality));
    }
    fmt::print("{}\n", row);
    std::fflush(stdout);  // each takes a while
  }
}

void print_choice(const Choice& choice, const std::vector<passes::Sensitivity>& layers,
                  const Judge& judge) {
  double work = 0;
  fmt::print("\n{:<44} {:>6}\n", "chosen", "ratio");
  for (const passes::Sensitivity& layer : layers) {
    const passes::Ratio& ratio = choice.ratios.at(layer.layer);
    work += layer.share * ratio->stored();
    fmt::print("{:<44} {:>5}x\n", layer.layer, passes::format_ratio(ratio));
  }
  fmt::print(
      "together            {:.1f}x fewer multiply-accumulates in these layers; {}, float {:.2f}%\n",
      1 / work, format_quality(choice.quality), 100 * judge.float_right());
}

}  // namespace

int prune_command(const Strings& arguments) {
  const std::optional<PruneOptions> parsed = parse(arguments);
  if (!parsed) return 0;
  const PruneOptions& prune = *parsed;
  if (!prune.out.empty()) check_writable(folder_of(prune.out));
  const PlacedModel model = prune.model.place();
  const graph::Graph& graph = model.parts.card;
  if (graph.nodes.empty()) {
    throw ModelError("the card runs none of the model; there is nothing to prune");
  }
  const passes::PruneMethod method = model.lowering.pruning.method;
  const std::vector<passes::Sensitivity> layers = passes::scan(graph, model.lowering);
  if (layers.empty()) throw ModelError("the model has no layer that can be pruned");
  std::vector<passes::Sample> samples = model.lowering.samples;
  const bool drawn = samples.empty();
  if (!prune.inputs.empty()) {
    samples = card_samples(model, split_pairs("input", prune.inputs));
  } else if (drawn) {
    samples = {passes::random_sample(graph, model.lowering.seed)};
  }
  std::optional<npy::Array> labels;
  if (!prune.labels.empty()) labels = npy::read(prune.labels);
  const Judge judge(graph, std::move(samples), std::move(labels), prune.labels);
  Trials trials(model, judge);

  if (prune.budget && prune.budget->lost) {
    const double lost = *prune.budget->lost * static_cast<double>(judge.samples());
    if (lost > 0 && lost < 1) {
      throw ConfigError(
          "--budget: {:.4g}% of {} samples is less than one answer; more samples, or a "
          "budget in dB, would be right",
          100 * *prune.budget->lost, judge.samples());
    }
  }
  if (prune.inputs.empty() && !drawn) {
    fmt::print(
        "judged by the inputs of --calibrate, which guided the pruning; --input gives others\n");
  }
  if (drawn) fmt::print("inputs drawn from a seed; --calibrate gives real ones\n");
  print_layers(layers);
  print_methods(trials, judge, prune.model.precision());
  if (!prune.budget) return 0;
  const std::optional<Choice> choice = choose(trials, *prune.budget, layers, method);
  if (!choice) {
    fmt::print("budget             not kept even without pruning; no table written\n");
    return 1;
  }
  print_choice(*choice, layers, judge);
  write_file(prune.out, format_table({graph.name, prune.model.pruning_method(), choice->ratios}));
  fmt::print("table              {}\n", prune.out);
  return 0;
}

}  // namespace steppe::sim
