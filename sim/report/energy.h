// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/base/stats.h"
#include "platform/server.h"

namespace steppe::sim {

/// The energy of a card from the first submission to the end, in joules.
struct CardEnergy {
  std::vector<std::map<std::string, double>> chips;  ///< by part, "total" among them
  double total = 0;
  double seconds = 0;
  std::uint64_t inferences = 0;

  [[nodiscard]] double watts() const { return seconds > 0 ? total / seconds : 0; }
  [[nodiscard]] double per_inference() const {
    return inferences > 0 ? total / static_cast<double>(inferences) : 0;
  }
};

CardEnergy card_energy(const StatRegistry& stats, const ServerDescription& card, double elapsed_ps,
                       std::uint64_t inferences);

/// One line for people, and where most of it went.
std::string format_line(const CardEnergy& energy);
nlohmann::ordered_json to_json(const CardEnergy& energy);

}  // namespace steppe::sim
