// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "models/base/error.h"
#include "models/fabric/transport.h"
#include "sim/command.h"
#include "sim/files.h"
#include "sim/host/host_program.h"
#include "sim/report/energy.h"
#include "sim/report/queues.h"
#include "sim/report/roofline.h"
#include "sim/report/text.h"
#include "sim/report/trace.h"
#include "sim/report/utilisation.h"
#include "sim/report/verdict.h"
#include "sim/simulation.h"
#include "sim/stream_check.h"

namespace steppe::sim {
namespace {

using nlohmann::ordered_json;
using Strings = std::vector<std::string>;

struct RunOptions {
  std::string package;
  std::string platform;
  std::string mode;
  Strings inputs, golden, settings;
  std::string labels, out, trace;
  std::optional<std::uint64_t> samples;  ///< a full batch where not given
  std::uint64_t seed = 1;
  std::uint64_t threads = 0;
  double limit_seconds = 10;
  bool queues = false;
  bool resources = false;
};

std::optional<RunOptions> parse(const Strings& arguments) {
  RunOptions run;
  Whole samples, seed, threads;
  std::string limit;
  options::options_description described("options");
  auto add = described.add_options();
  add("platform", options::value(&run.platform),
      "preset or YAML file; the package's own where not given");
  add("mode", options::value(&run.mode)->default_value("functional"),
      "functional: values are computed; timing: sizes only, same cycles");
  add("input", options::value(&run.inputs), "NAME=FILE.npy; a longer first axis is more samples");
  add("samples", options::value(&samples),
      "how many to draw where no input is given; one batch where this is not given");
  add("seed", options::value(&seed)->default_value({1}, "1"), "of inputs that are drawn");
  add("golden", options::value(&run.golden),
      "NAME=FILE.npy: an output has to equal it bit for bit");
  add("labels", options::value(&run.labels), "FILE.npy: top-1 accuracy of the first output");
  add("set", options::value(&run.settings), "path=value: a parameter, see `steppe params`");
  add("limit", options::value(&limit)->default_value("10s"),
      "simulated time after which a run that has not ended is given up");
  add("threads", options::value(&threads)->default_value({0}, "0"),
      "for arithmetic; 0: as many as there are processors. Results do not depend on it");
  add("queues", options::bool_switch(&run.queues), "print where the time of each queue went");
  add("resources", options::bool_switch(&run.resources),
      "print achieved against peak of every unit, memory, port and link");
  add("trace", options::value(&run.trace), "FILE: a Perfetto trace");
  add("out", options::value(&run.out),
      "DIR for outputs/, stats.json, summary.json, config.yaml, host.json");
  options::variables_map values;
  if (!parse_arguments(arguments, "run PKG [OPTION …]", described, "PKG", values)) return {};
  run.package = values["PKG"].as<std::string>();
  if (run.mode != "functional" && run.mode != "timing") {
    throw ConfigError("--mode {}: there are functional and timing", run.mode);
  }
  run.seed = seed.value;
  run.threads = threads.value;
  run.limit_seconds = detail::parse_number(limit, "s", "--limit " + limit);
  if (!(run.limit_seconds > 0)) throw ConfigError("--limit {}: it has to be positive", limit);
  if (values.count("samples") != 0) {
    if (samples.value == 0) throw ConfigError("--samples 0: at least one sample is run");
    if (!run.inputs.empty()) {
      throw ConfigError("--samples goes with drawn inputs; with --input the files say how many");
    }
    run.samples = samples.value;
  }
  if (run.mode == "timing" && (!run.golden.empty() || !run.labels.empty())) {
    throw ConfigError(
        "--golden and --labels look at values; a timing run has none, --mode functional has");
  }
  return run;
}

/// Arrays to compare with, read before the simulation so that a missing file is told at once.
std::map<std::string, npy::Array> read_golden(const RunOptions& run,
                                              const std::vector<Signature>& outputs) {
  std::map<std::string, npy::Array> golden;
  for (const auto& [name, file] : split_pairs("golden", run.golden)) {
    Strings names;
    for (const Signature& output : outputs) names.push_back(output.name);
    if (std::ranges::find(names, name) == names.end()) {
      throw ConfigError("--golden {}={}: there is no output '{}'; the outputs are {}", name, file,
                        name, fmt::join(names, ", "));
    }
    golden[name] = npy::read(file);
  }
  return golden;
}

std::size_t thread_count(std::uint64_t wanted) {
  constexpr std::uint64_t most = 256;
  if (wanted > most) throw ConfigError("--threads {}: at most {}", wanted, most);
  if (wanted != 0) return wanted;
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, most);
}

/// Everything that a run leaves behind.
struct Report {
  ordered_json summary;
  std::vector<ChipUtilisation> chips;
  std::vector<QueueTime> queues;
  CardEnergy energy;
  Roofline roofline;
  std::vector<HostPart> host;
  std::vector<Verdict> verdicts;
  std::optional<double> accuracy;
  bool pass = true;
};

Report make_report(const RunOptions& run, const package::Package& package, const HostProgram& host,
                   Machine& machine, const Samples& samples, const SimulationResult& result,
                   const std::map<std::string, npy::Array>& golden,
                   const std::optional<npy::Array>& labels) {
  Report report;
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    const auto expected = golden.find(host.outputs()[i].name);
    if (expected == golden.end()) continue;
    report.verdicts.push_back(
        compare("golden " + expected->first, expected->second, result.outputs[i]));
    report.pass = report.pass && report.verdicts.back().pass;
  }
  if (labels && !result.outputs.empty()) {
    report.accuracy = top1_accuracy(result.outputs.front(), *labels, run.labels);
  }
  const StatRegistry& stats = machine.context().stats;
  if (const double wrong = stats.sum("card", ".pattern_mismatches"); wrong > 0) {
    report.verdicts.push_back({"weight patterns", false,
                               fmt::format("{} instructions' weights do not have the pattern that "
                                           "their time was taken from",
                                           wrong)});
    report.pass = false;
  }
  const ServerDescription card = machine.server().description();
  const auto elapsed_ps = static_cast<double>(now_ps() - result.load_ps);
  report.chips = utilisation(stats, card, elapsed_ps);
  report.roofline = roofline(stats, card, elapsed_ps, samples.samples);
  report.energy = card_energy(stats, card, elapsed_ps, samples.samples);
  report.queues = queue_times(stats, card, elapsed_ps);
  report.host = host.parts(machine.processors());

  ordered_json& summary = report.summary;
  summary["status"] = report.pass ? "pass" : "fail";
  summary["model"] = package.model;
  summary["platform"] = run.platform;
  summary["mode"] = run.mode;
  summary["samples"] = samples.samples;
  summary["runs"] = samples.runs;
  if (samples.drawn) summary["inputs_drawn_from_seed"] = run.seed;
  summary["simulated_seconds"] = result.seconds();
  summary["simulated_cycles"] = std::llround(result.seconds() * card.clock_hz);
  summary["load_seconds"] = static_cast<double>(result.load_ps) * 1e-12;
  summary["seconds_per_inference"] = result.latency_seconds();
  summary["samples_per_second"] = result.samples_per_second(package.batch);
  summary["dense_macs"] = package.dense_macs * samples.runs;
  summary["effective_macs"] = package.effective_macs * samples.runs;
  if (report.accuracy) summary["accuracy"] = *report.accuracy;
  summary["verdicts"] = ordered_json::array();
  for (const Verdict& verdict : report.verdicts) {
    summary["verdicts"].push_back({{"name", verdict.name},
                                   {"verdict", verdict.pass ? "pass" : "fail"},
                                   {"detail", verdict.detail}});
  }
  if (!report.host.empty()) summary["host"] = to_json(report.host);
  summary["chips"] = to_json(report.chips);
  summary["roofline"] = to_json(report.roofline);
  summary["energy"] = to_json(report.energy);
  summary["queues"] = to_json(report.queues);
  return report;
}

void print(const RunOptions& run, const package::Package& package, const Samples& samples,
           const SimulationResult& result, const Report& report) {
  if (samples.drawn && run.mode == "functional") {
    fmt::print("inputs             drawn from seed {}\n", run.seed);
  }
  for (const Verdict& verdict : report.verdicts) {
    fmt::print("verdict            {}: {}: {}\n", verdict.pass ? "PASS" : "FAIL", verdict.name,
               verdict.detail);
  }
  if (report.accuracy) {
    fmt::print("accuracy           {:.2f}% of {} samples on the card\n", 100 * *report.accuracy,
               samples.samples);
  }
  fmt::print("simulated time     {} an inference (the first, alone)\n",
             format_seconds(result.latency_seconds()));
  fmt::print("throughput         {:.1f} {} per second\n", result.samples_per_second(package.batch),
             package.stateful ? "tokens" : "samples");
  fmt::print("{}", format_lines(report.host));
  if (package.shards.empty()) return;
  fmt::print("{}", format_line(report.roofline));
  fmt::print("{}", format_line(report.energy));
  fmt::print("\n{}", format_table(report.chips));
  if (run.resources) fmt::print("\n{}", format_table(report.roofline));
  if (run.queues) fmt::print("\n{}", format_table(report.queues));
}

Files result_files(const HostProgram& host, Machine& machine, const SimulationResult& result,
                   const Report& report) {
  Files files;
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    files["outputs/" + file_name(host.outputs()[i].name) + ".npy"] = npy::format(result.outputs[i]);
  }
  files["stats.json"] = machine.context().stats.snapshot().dump(1) + "\n";
  files["summary.json"] = report.summary.dump(2) + "\n";
  files["config.yaml"] = config_yaml(machine.context().params);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double cycles = report.summary["simulated_cycles"].get<double>();
  const ordered_json speed{
      {"run_wall_seconds", result.run_wall_seconds},
      {"simulated_cycles_per_wall_second", cycles / result.run_wall_seconds},
      {"peak_memory_bytes", static_cast<std::uint64_t>(usage.ru_maxrss) * 1024}};
  files["host.json"] = speed.dump(2) + "\n";
  return files;
}

}  // namespace

int run_command(const Strings& arguments) {
  std::optional<RunOptions> parsed = parse(arguments);
  if (!parsed) return 0;
  RunOptions& run = *parsed;
  const package::Package package = package::read(run.package);
  const bool functional = run.mode == "functional";
  if (functional && package.timing_only) {
    throw ConfigError("{}: the package holds sizes and no values; run it with --mode timing",
                      run.package);
  }
  if (run.platform.empty()) run.platform = package.target.platform;
  if (!run.out.empty()) check_writable(run.out);
  if (!run.trace.empty()) check_writable(folder_of(run.trace));
  HostProgram host = checked_program(package, run.package);
  const std::map<std::string, npy::Array> golden = read_golden(run, host.outputs());
  std::optional<npy::Array> labels;
  if (!run.labels.empty()) labels = npy::read(run.labels);
  const Samples samples =
      load_samples(host.inputs(), split_pairs("input", run.inputs), package.batch,
                   run.samples.value_or(package.batch), run.seed);
  PerfettoTrace trace;
  Machine machine({.platform = run.platform,
                   .settings = run.settings,
                   .mode = functional ? Mode::functional : Mode::timing,
                   .timeline = run.trace.empty() ? nullptr : &trace,
                   .limit_seconds = run.limit_seconds,
                   .threads = functional ? thread_count(run.threads) : 1});
  check_target(package, machine.server().description());
  const SimulationResult result = simulate(machine, package, host, samples);
  const Report report = make_report(run, package, host, machine, samples, result, golden, labels);
  print(run, package, samples, result, report);
  if (!run.trace.empty()) write_file(run.trace, trace.bytes());
  if (!run.out.empty()) {
    const Files files = result_files(host, machine, result, report);
    write_files(run.out, files);
    remove_others(std::filesystem::path(run.out) / "outputs", ".npy", files);
    fmt::print("\nresults            {}\n", run.out);
  }
  return report.pass ? 0 : 1;
}

}  // namespace steppe::sim
