// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "models/base/error.h"
#include "sim/command.h"
#include "sim/simulation.h"

namespace steppe::sim {

int bench_command(const std::vector<std::string>& arguments) {
  std::string platform;
  std::string scenario;
  std::vector<std::string> settings;
  Whole samples;
  options::options_description described("options");
  auto add = described.add_options();
  add("platform", options::value(&platform),
      "preset or YAML file; the package's own where not given");
  add("scenario", options::value(&scenario)->default_value("offline"),
      "offline: samples are queued ahead (host.runs_in_flight); singlestream: one after the other");
  add("samples", options::value(&samples)->default_value({64}, "64"), "how many");
  add("set", options::value(&settings), "path=value");
  options::variables_map values;
  if (!parse_arguments(arguments, "bench PKG [OPTION …]", described, "PKG", values)) return 0;
  if (scenario != "offline" && scenario != "singlestream") {
    throw ConfigError("--scenario {}: this version knows offline and singlestream", scenario);
  }
  if (samples.value == 0) throw ConfigError("--samples 0: at least one sample is run");
  const package::Package package = package::read(values["PKG"].as<std::string>());
  HostProgram host = checked_program(package, values["PKG"].as<std::string>());
  if (platform.empty()) platform = package.target.platform;
  if (scenario == "singlestream") settings.emplace_back("host.runs_in_flight=1");
  Machine machine({.platform = platform, .settings = settings, .mode = Mode::timing});
  check_target(package, machine.server().description());
  // Timing takes no values: only the number of runs counts.
  const std::uint64_t runs = ceil_div<std::uint64_t>(samples.value, package.batch);
  const Samples inputs{.runs = runs, .samples = samples.value};
  const SimulationResult result = simulate(machine, package, host, inputs);

  std::vector<double> latencies;
  for (std::size_t run = 0; run < result.ended.size(); ++run) {
    latencies.push_back(static_cast<double>(result.ended[run] - result.submitted[run]) * 1e-6);
  }
  std::ranges::sort(latencies);
  const auto percentile = [&](double share) {
    return latencies[static_cast<std::size_t>(share * static_cast<double>(latencies.size() - 1))];
  };
  fmt::print("scenario           {}, {} samples on {}\n", scenario, samples.value, platform);
  fmt::print("throughput         {:.1f} samples per second\n",
             result.samples_per_second(package.batch));
  fmt::print("latency            p50 {:.3f} us, p90 {:.3f} us, p99 {:.3f} us\n", percentile(0.5),
             percentile(0.9), percentile(0.99));
  return 0;
}

}  // namespace steppe::sim
