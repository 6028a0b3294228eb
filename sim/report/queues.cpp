// SPDX-License-Identifier: Apache-2.0
#include "sim/report/queues.h"

#include <fmt/format.h>

#include "models/queue/semaphore_file.h"

namespace steppe::sim {
namespace {

std::vector<std::string> queue_paths(const ServerDescription& card) {
  std::vector<std::string> paths;
  for (std::uint32_t chip = 0; chip < card.chips; ++chip) {
    const std::string path = card.chip_paths[chip];
    for (std::uint32_t cluster = 0; cluster < card.clusters; ++cluster) {
      for (const char* unit : {"load", "store", "tensor", "vector"}) {
        paths.push_back(fmt::format("{}.cluster{}.{}.queue", path, cluster, unit));
      }
    }
    for (const char* link : {"link_send", "link_receive"}) {
      paths.push_back(fmt::format("{}.{}.queue", path, link));
    }
  }
  return paths;
}

std::vector<std::string> causes() {
  std::vector<std::string> names{"fetch"};
  for (const std::string_view giver : giver_names) names.emplace_back(giver);
  return names;
}

}  // namespace

std::vector<QueueTime> queue_times(const StatRegistry& stats, const ServerDescription& card,
                                   double elapsed_ps) {
  std::vector<QueueTime> queues;
  for (const std::string& path : queue_paths(card)) {
    const auto share = [&](const std::string& name) {
      return stats.value(fmt::format("{}.{}", path, name)) / elapsed_ps;
    };
    QueueTime& queue = queues.emplace_back();
    queue.queue = path;
    queue.busy = share("busy");
    queue.idle = share("idle");
    queue.unfinished = share("unfinished");
    for (const std::string& cause : causes()) queue.stalls[cause] = share("stall_" + cause);
  }
  return queues;
}

std::string format_table(const std::vector<QueueTime>& queues) {
  std::string text = fmt::format("{:<36}{:>7}{:>7}", "queue (% of the time)", "busy", "idle");
  for (const std::string& cause : causes()) text += fmt::format("{:>13}", cause);
  text += fmt::format("{:>12}\n", "unfinished");
  for (const QueueTime& queue : queues) {
    text += fmt::format("{:<36}{:>7.1f}{:>7.1f}", queue.queue, 100 * queue.busy, 100 * queue.idle);
    for (const std::string& cause : causes()) {
      text += fmt::format("{:>13.1f}", 100 * queue.stalls.at(cause));
    }
    text += fmt::format("{:>12.1f}\n", 100 * queue.unfinished);
  }
  return text;
}

nlohmann::ordered_json to_json(const std::vector<QueueTime>& queues) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const QueueTime& queue : queues) {
    nlohmann::ordered_json& one = all.emplace_back();
    one["queue"] = queue.queue;
    one["busy"] = queue.busy;
    one["idle"] = queue.idle;
    for (const auto& [cause, share] : queue.stalls) one["stall_" + cause] = share;
    one["unfinished"] = queue.unfinished;
  }
  return all;
}

}  // namespace steppe::sim
