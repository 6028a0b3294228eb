// SPDX-License-Identifier: Apache-2.0
#include "sim/report/energy.h"

#include <fmt/format.h>

namespace steppe::sim {
namespace {

std::string format_joules(double joules) {
  if (joules >= 1) return fmt::format("{:.3f} J", joules);
  if (joules >= 1e-3) return fmt::format("{:.3f} mJ", joules * 1e3);
  return fmt::format("{:.3f} uJ", joules * 1e6);
}

}  // namespace

CardEnergy card_energy(const StatRegistry& stats, const ServerDescription& card, double elapsed_ps,
                       std::uint64_t inferences) {
  CardEnergy energy{.seconds = elapsed_ps * 1e-12, .inferences = inferences};
  for (std::uint32_t chip = 0; chip < card.chips; ++chip) {
    auto& parts = energy.chips.emplace_back();
    for (const char* part :
         {"tensor", "vector", "sram", "dram", "noc", "pcie", "core", "static", "total"}) {
      parts[part] = stats.value(fmt::format("{}.energy.{}", card.chip_paths[chip], part));
    }
    energy.total += parts.at("total");
  }
  return energy;
}

std::string format_line(const CardEnergy& energy) {
  std::map<std::string, double> sums;
  for (const auto& parts : energy.chips) {
    for (const auto& [part, joules] : parts) {
      if (part != "total" && part != "static") sums[part] += joules;
    }
  }
  std::string most = "tensor";
  double still = energy.total;
  for (const auto& [part, joules] : sums) {
    still -= joules;
    if (joules > sums[most]) most = part;
  }
  return fmt::format(
      "energy             {} an inference; {:.1f} W, {:.1f}% of it static, most of "
      "the rest in {}\n",
      format_joules(energy.per_inference()), energy.watts(),
      energy.total > 0 ? 100 * still / energy.total : 0.0, most);
}

nlohmann::ordered_json to_json(const CardEnergy& energy) {
  nlohmann::ordered_json chips = nlohmann::ordered_json::array();
  for (const auto& parts : energy.chips) chips.push_back(parts);
  return {{"joules", energy.total},
          {"joules_per_inference", energy.per_inference()},
          {"watts", energy.watts()},
          {"chips", chips}};
}

}  // namespace steppe::sim
