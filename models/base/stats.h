// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace steppe {

/// A plain integer that its module increments in the hot path; the registry holds a reference to
/// it.
struct Counter {
  std::uint64_t value = 0;
  Counter& operator+=(std::uint64_t n) {
    value += n;
    return *this;
  }
  Counter& operator++() {
    ++value;
    return *this;
  }
};

/// All statistics of a simulation, by dotted path, in one place for snapshot and reset.
class StatRegistry {
 public:
  void add(std::string path, std::string unit, std::string doc, Counter& counter);
  /// A derived figure: evaluated when a snapshot is taken, and never stored.
  void add(std::string path, std::string unit, std::string doc, std::function<double()> formula);

  /// {"path": {"value": …, "unit": …, "doc": …}, …}, sorted by path.
  [[nodiscard]] nlohmann::ordered_json snapshot() const;
  /// The value of one statistic; throws InternalError where there is none of that path.
  [[nodiscard]] double value(const std::string& path) const;
  /// All paths that begin with `begin` and end with `end`.
  [[nodiscard]] std::vector<std::string> paths(const std::string& begin,
                                               const std::string& end) const;
  /// The sum of all statistics whose path begins with `begin` and ends with `end`.
  [[nodiscard]] double sum(const std::string& begin, const std::string& end) const;
  /// Sets every counter to zero, then calls what `on_reset` was given.
  void reset();
  /// For formulas over what is no counter, such as the present moment.
  void on_reset(std::function<void()> hook) { hooks_.push_back(std::move(hook)); }

 private:
  struct Entry {
    std::string unit;
    std::string doc;
    Counter* counter = nullptr;
    std::function<double()> formula;
  };
  std::map<std::string, Entry> entries_;
  std::vector<std::function<void()>> hooks_;
};

}  // namespace steppe
