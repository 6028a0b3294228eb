// SPDX-License-Identifier: Apache-2.0
#include "models/base/stats.h"

#include <nlohmann/json.hpp>

#include "models/base/error.h"

namespace steppe {

void StatRegistry::add(std::string path, std::string unit, std::string doc, Counter& counter) {
  const bool fresh =
      entries_.emplace(path, Entry{std::move(unit), std::move(doc), &counter, {}}).second;
  STEPPE_CHECK(fresh, "statistic '{}' registered twice", path);
}

void StatRegistry::add(std::string path, std::string unit, std::string doc,
                       std::function<double()> formula) {
  const bool fresh =
      entries_.emplace(path, Entry{std::move(unit), std::move(doc), nullptr, std::move(formula)})
          .second;
  STEPPE_CHECK(fresh, "statistic '{}' registered twice", path);
}

nlohmann::ordered_json StatRegistry::snapshot() const {
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  for (const auto& [path, entry] : entries_) {
    nlohmann::ordered_json& stat = all[path];
    if (entry.counter != nullptr) {
      stat["value"] = entry.counter->value;
    } else {
      stat["value"] = entry.formula();
    }
    stat["unit"] = entry.unit;
    stat["doc"] = entry.doc;
  }
  return all;
}

double StatRegistry::value(const std::string& path) const {
  const auto it = entries_.find(path);
  STEPPE_CHECK(it != entries_.end(), "no statistic '{}'", path);
  const Entry& entry = it->second;
  return entry.counter != nullptr ? static_cast<double>(entry.counter->value) : entry.formula();
}

std::vector<std::string> StatRegistry::paths(const std::string& begin,
                                             const std::string& end) const {
  std::vector<std::string> found;
  for (auto it = entries_.lower_bound(begin); it != entries_.end() && it->first.starts_with(begin);
       ++it) {
    if (it->first.ends_with(end)) found.push_back(it->first);
  }
  return found;
}

double StatRegistry::sum(const std::string& begin, const std::string& end) const {
  double total = 0;
  for (const std::string& path : paths(begin, end)) total += value(path);
  return total;
}

void StatRegistry::reset() {
  for (auto& [path, entry] : entries_) {
    if (entry.counter != nullptr) entry.counter->value = 0;
  }
  for (const auto& hook : hooks_) hook();
}

}  // namespace steppe
