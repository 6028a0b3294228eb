// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/base/stats.h"
#include "platform/server.h"

namespace steppe::sim {

/// Where the time of one queue went, as shares of the time from the first submission to the end;
/// they add up to 1.
struct QueueTime {
  std::string queue;  ///< path
  double busy = 0;    ///< in instructions
  double idle = 0;    ///< without a stream
  /// Without the next instruction's bytes ("fetch"), or waiting for a semaphore that in the end a
  /// queue of this kind gave to, or a write from elsewhere ("remote").
  std::map<std::string, double> stalls;
  double unfinished = 0;  ///< in what had not ended at the end of the simulation
};

std::vector<QueueTime> queue_times(const StatRegistry& stats, const ServerDescription& card,
                                   double elapsed_ps);

std::string format_table(const std::vector<QueueTime>& queues);
nlohmann::ordered_json to_json(const std::vector<QueueTime>& queues);

}  // namespace steppe::sim
