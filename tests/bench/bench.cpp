// SPDX-License-Identifier: Apache-2.0
//
// Measures how fast the simulator simulates: each workload is run several times as a process of its
// own, and the median is reported; the control core likewise.
// Usage: steppe-bench STEPPE_PROGRAM PACKAGE:LABEL… [--core ISS_PROGRAM:ELF] [--runs N] [--json
// FILE]
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

using nlohmann::ordered_json;

ordered_json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return ordered_json::parse(file);
}

/// Runs a program to its end with its output thrown away and, if a file is named, its messages in
/// there; returns its peak memory in bytes.
std::uint64_t run(const std::vector<std::string>& command,
                  const std::filesystem::path& messages = {}) {
  const pid_t child = fork();
  if (child == 0) {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    if (std::freopen("/dev/null", "w", stdout) == nullptr) _exit(126);
    if (!messages.empty() && std::freopen(messages.c_str(), "w", stderr) == nullptr) _exit(126);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error(fmt::format("'{}' failed", fmt::join(command, " ")));
  }
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

ordered_json measure(const std::string& program, const std::string& package,
                     const std::string& label, const std::string& mode, int runs) {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("steppe-bench-{}", getpid());
  std::vector<double> wall;
  std::uint64_t peak = 0;
  for (int i = 0; i < runs; ++i) {
    peak = std::max(peak, run({program, "run", package, "--mode", mode, "--samples", "1", "--out",
                               folder.string()}));
    wall.push_back(read_json(folder / "host.json").at("run_wall_seconds").get<double>());
  }
  const ordered_json summary = read_json(folder / "summary.json");
  std::filesystem::remove_all(folder);
  const double seconds = median(wall);
  return {{"workload", label},
          {"mode", mode},
          {"runs", runs},
          {"simulated_cycles", summary.at("simulated_cycles")},
          {"wall_seconds_median", seconds},
          {"wall_seconds_min", std::ranges::min(wall)},
          {"wall_seconds_max", std::ranges::max(wall)},
          {"cycles_per_second", summary.at("simulated_cycles").get<double>() / seconds},
          {"effective_macs_per_second", summary.at("effective_macs").get<double>() / seconds},
          {"peak_memory_bytes", peak}};
}

ordered_json measure_core(const std::string& iss_and_elf, int runs) {
  const std::size_t colon = iss_and_elf.rfind(':');
  const auto messages =
      std::filesystem::temp_directory_path() / fmt::format("steppe-bench-core-{}", getpid());
  std::vector<double> rates;
  for (int i = 0; i < runs; ++i) {
    run({iss_and_elf.substr(0, colon), iss_and_elf.substr(colon + 1), "--stats"}, messages);
    std::ifstream file(messages);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::size_t unit = text.rfind(" MIPS");
    if (unit == std::string::npos) throw std::runtime_error("no rate in '" + text + "'");
    rates.push_back(std::stod(text.substr(text.rfind(' ', unit - 1))) * 1e6);
  }
  std::filesystem::remove(messages);
  return {{"workload", "control-core-compute-loop"},
          {"runs", runs},
          {"instructions_per_second_median", median(rates)},
          {"instructions_per_second_min", std::ranges::min(rates)},
          {"instructions_per_second_max", std::ranges::max(rates)}};
}

void print(const ordered_json& rows) {
  fmt::print("{:<28} {:<11} {:>10} {:>10} {:>12} {:>12} {:>9}\n", "workload", "mode", "cycles",
             "wall s", "cycles/s", "eff. MAC/s", "peak MiB");
  for (const ordered_json& row : rows) {
    if (row.contains("instructions_per_second_median")) {
      fmt::print("{:<28} {:.1f} million instructions/s\n", row["workload"].get<std::string>(),
                 row["instructions_per_second_median"].get<double>() / 1e6);
      continue;
    }
    fmt::print("{:<28} {:<11} {:>10} {:>10.4f} {:>12.3e} {:>12.3e} {:>9.1f}\n",
               row["workload"].get<std::string>(), row["mode"].get<std::string>(),
               row["simulated_cycles"].get<std::uint64_t>(),
               row["wall_seconds_median"].get<double>(), row["cycles_per_second"].get<double>(),
               row["effective_macs_per_second"].get<double>(),
               row["peak_memory_bytes"].get<double>() / (1024 * 1024));
  }
}

int bench(const std::vector<std::string>& arguments) {
  std::string json_file;
  std::string core;
  int runs = 5;
  std::vector<std::string> workloads;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == "--json" && i + 1 < arguments.size()) {
      json_file = arguments[++i];
    } else if (arguments[i] == "--core" && i + 1 < arguments.size()) {
      core = arguments[++i];
    } else if (arguments[i] == "--runs" && i + 1 < arguments.size()) {
      runs = std::stoi(arguments[++i]);
    } else {
      workloads.push_back(arguments[i]);
    }
  }
  ordered_json rows = ordered_json::array();
  for (const std::string& workload : workloads) {
    const std::size_t colon = workload.rfind(':');
    std::string label = workload.substr(colon + 1);
    const bool timing_only = label.ends_with("!");
    if (timing_only) label.pop_back();
    for (const std::string mode : {"timing", "functional"}) {
      if (timing_only && mode == "functional") continue;
      rows.push_back(measure(arguments[0], workload.substr(0, colon), label, mode, runs));
    }
  }
  if (!core.empty()) rows.push_back(measure_core(core, runs));
  print(rows);
  if (!json_file.empty()) std::ofstream(json_file) << rows.dump(2) << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return bench({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "steppe-bench: error: " << error.what() << '\n';
    return 1;
  }
}
