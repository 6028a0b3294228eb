// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/base/stats.h"
#include "platform/server.h"

namespace steppe::sim {

/// How much of what one resource offers the work took: with nothing else in the way, it would take
/// this share of the time.
struct Demand {
  std::string resource;  ///< path
  double share = 0;
};

/// The bound that the busiest resource sets to the throughput, and how far from it the run was.
struct Roofline {
  std::vector<Demand> demands;  ///< falling
  double samples_per_second = 0;

  [[nodiscard]] const Demand& bound() const { return demands.front(); }
  /// What the busiest resource alone would allow.
  [[nodiscard]] double bound_samples_per_second() const {
    return bound().share > 0 ? samples_per_second / bound().share : 0;
  }
};

/// Resources are the tensor engines and vector units of a chip, together, and every memory, port
/// and link that counts bytes and states a peak bandwidth.
Roofline roofline(const StatRegistry& stats, const ServerDescription& card, double elapsed_ps,
                  std::uint64_t samples);

std::string format_line(const Roofline& roofline);
/// Every resource that was used, with what it did of what it could have done in the time.
std::string format_table(const Roofline& roofline);
nlohmann::ordered_json to_json(const Roofline& roofline);

}  // namespace steppe::sim
