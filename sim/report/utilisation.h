// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/base/stats.h"
#include "platform/server.h"

namespace steppe::sim {

/// How busy the parts of one chip were, as shares of the time from the first submission to the end.
struct ChipUtilisation {
  std::uint32_t chip = 0;
  double tensor = 0;  ///< mean over the clusters' queues
  double vector = 0;
  double dma = 0;  ///< mean over load and store queues
  double dram = 0;
  double link = 0;    ///< the busiest direction of the PCIe endpoint and of direct links
  std::string stall;  ///< what the tensor queues waited for longest
  double stall_share = 0;
};

std::vector<ChipUtilisation> utilisation(const StatRegistry& stats, const ServerDescription& card,
                                         double elapsed_ps);

/// The table that people read.
std::string format_table(const std::vector<ChipUtilisation>& chips);
nlohmann::ordered_json to_json(const std::vector<ChipUtilisation>& chips);

}  // namespace steppe::sim
