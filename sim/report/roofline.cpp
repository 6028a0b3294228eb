// SPDX-License-Identifier: Apache-2.0
#include "sim/report/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace steppe::sim {
namespace {

/// Work of a kind over what all clusters of a chip can do of it in a second.
Demand of_units(const StatRegistry& stats, const ServerDescription& card, std::uint32_t chip,
                const char* unit, const char* work, const char* peak, double seconds) {
  Demand demand{fmt::format("{}.{}", card.chip_paths[chip], unit)};
  double done = 0;
  double possible = 0;
  for (std::uint32_t cluster = 0; cluster < card.clusters; ++cluster) {
    const std::string path = fmt::format("{}.cluster{}.{}.", card.chip_paths[chip], cluster, unit);
    done += stats.value(path + work);
    possible += stats.value(path + peak);
  }
  demand.share = done / (possible * seconds);
  return demand;
}

}  // namespace

Roofline roofline(const StatRegistry& stats, const ServerDescription& card, double elapsed_ps,
                  std::uint64_t samples) {
  const double seconds = elapsed_ps * 1e-12;
  Roofline result{.samples_per_second = static_cast<double>(samples) / seconds};
  for (std::uint32_t chip = 0; chip < card.chips; ++chip) {
    result.demands.push_back(
        of_units(stats, card, chip, "tensor", "array_work", "peak_macs", seconds));
    result.demands.push_back(
        of_units(stats, card, chip, "vector", "lane_ops", "peak_ops", seconds));
  }
  const std::string peak = ".peak_bandwidth";
  for (const std::string& path : stats.paths("card", peak)) {
    const std::string resource = path.substr(0, path.size() - peak.size());
    const double share = stats.value(resource + ".bytes") / (stats.value(path) * seconds);
    result.demands.push_back({resource, share});
  }
  std::ranges::stable_sort(result.demands, std::greater(), &Demand::share);
  return result;
}

std::string format_line(const Roofline& roofline) {
  return fmt::format(
      "roofline           bound by {}, which allows {:.1f} samples per second; {:.1f}% of that "
      "reached\n",
      roofline.bound().resource, roofline.bound_samples_per_second(), 100 * roofline.bound().share);
}

std::string format_table(const Roofline& roofline) {
  std::string text = fmt::format("{:<44}{:>18}\n", "resource", "achieved / peak");
  for (const Demand& demand : roofline.demands) {
    if (demand.share == 0) break;
    text += fmt::format("{:<44}{:>17.2f}%\n", demand.resource, 100 * demand.share);
  }
  return text;
}

nlohmann::ordered_json to_json(const Roofline& roofline) {
  nlohmann::ordered_json demands = nlohmann::ordered_json::object();
  for (const Demand& demand : roofline.demands) demands[demand.resource] = demand.share;
  return {{"bound_by", roofline.bound().resource},
          {"bound_samples_per_second", roofline.bound_samples_per_second()},
          {"reached", roofline.bound().share},
          {"demands", demands}};
}

}  // namespace steppe::sim
