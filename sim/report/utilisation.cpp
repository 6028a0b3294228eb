// SPDX-License-Identifier: Apache-2.0
#include "sim/report/utilisation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace steppe::sim {
namespace {

struct Cause {
  const char* stat;
  const char* words;
};
constexpr std::array causes{
    Cause{"stall_load", "inputs, weights (load DMA)"},
    Cause{"stall_store", "rows and barrier (store DMA)"},
    Cause{"stall_tensor", "tensor engines"},
    Cause{"stall_vector", "vector unit"},
    Cause{"stall_link_send", "sending to another chip"},
    Cause{"stall_link_receive", "another chip"},
    Cause{"stall_remote", "a signal from outside"},
    Cause{"stall_fetch", "instruction fetch"},
    Cause{"idle", "no work"},
};

ChipUtilisation of_chip(const StatRegistry& stats, const ServerDescription& card,
                        std::uint32_t chip, double elapsed) {
  const std::string path = card.chip_paths[chip];
  const auto mean = [&](const std::string& queue, const std::string& stat) {
    double sum = 0;
    for (std::uint32_t cluster = 0; cluster < card.clusters; ++cluster) {
      sum += stats.value(fmt::format("{}.cluster{}.{}.queue.{}", path, cluster, queue, stat));
    }
    return sum / (card.clusters * elapsed);
  };
  const auto share = [&](const std::string& stat) { return stats.value(stat) / elapsed; };
  ChipUtilisation is;
  is.chip = chip;
  is.tensor = mean("tensor", "busy");
  is.vector = mean("vector", "busy");
  is.dma = (mean("load", "busy") + mean("store", "busy")) / 2;
  is.dram = share(path + ".dram.busy");
  for (const char* direction : {"upstream", "downstream"}) {
    is.link = std::max(is.link, share(fmt::format("{}.pcie.{}.busy", path, direction)));
    const std::string of_card = path.substr(0, path.rfind('.'));
    const std::uint32_t own = chip % card.chips_of_card;
    for (std::uint32_t other = 0; card.direct_links && other < card.chips_of_card; ++other) {
      if (other == own) continue;
      is.link =
          std::max(is.link, share(fmt::format("{}.link{}{}.{}.busy", of_card, std::min(own, other),
                                              std::max(own, other), direction)));
    }
  }
  for (const Cause& cause : causes) {
    const double part = mean("tensor", cause.stat);
    if (part > is.stall_share) {
      is.stall_share = part;
      is.stall = cause.words;
    }
  }
  return is;
}

}  // namespace

std::vector<ChipUtilisation> utilisation(const StatRegistry& stats, const ServerDescription& card,
                                         double elapsed_ps) {
  std::vector<ChipUtilisation> chips;
  for (std::uint32_t chip = 0; chip < card.chips; ++chip) {
    chips.push_back(of_chip(stats, card, chip, elapsed_ps));
  }
  return chips;
}

std::string format_table(const std::vector<ChipUtilisation>& chips) {
  std::string text = fmt::format("{:<6}{:>8}{:>8}{:>8}{:>8}{:>8}   {}\n", "chip", "tensor",
                                 "vector", "DMA", "DRAM", "link", "tensor queues wait most for");
  for (const ChipUtilisation& is : chips) {
    text += fmt::format("{:<6}{:>7.1f}%{:>7.1f}%{:>7.1f}%{:>7.1f}%{:>7.1f}%   {} ({:.1f}%)\n",
                        is.chip, 100 * is.tensor, 100 * is.vector, 100 * is.dma, 100 * is.dram,
                        100 * is.link, is.stall, 100 * is.stall_share);
  }
  return text;
}

nlohmann::ordered_json to_json(const std::vector<ChipUtilisation>& chips) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const ChipUtilisation& is : chips) {
    all.push_back({{"chip", is.chip},
                   {"tensor", is.tensor},
                   {"vector", is.vector},
                   {"dma", is.dma},
                   {"dram", is.dram},
                   {"link", is.link},
                   {"largest_stall", is.stall},
                   {"largest_stall_share", is.stall_share}});
  }
  return all;
}

}  // namespace steppe::sim
