// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace steppe {

/// Parameter values by dotted path, each with the place it came from.
///
/// A path names an object of the hierarchy and its parameter: `card.chip.dram.bandwidth`. A
/// component may carry an index (`chip1`) and then holds for that instance alone; without one it
/// holds for all. A key with more indices wins over one with fewer; between equals the later `set`
/// wins.
class Config {
 public:
  struct Value {
    std::string text;
    std::string origin;  ///< "s30.yaml:12", "--set", …: for error messages and the effective config
    std::string note;    ///< `source:` or `assumed:` text beside the value, empty where none
    mutable bool used = false;
  };

  void set(std::string key, std::string text, std::string origin, std::string note = "");

  /// The most specific value for the full path of a parameter; marks it as used. Null where none.
  [[nodiscard]] const Value* find(std::string_view path) const;

  /// Throws ConfigError naming the first key that no parameter asked for, its origin, and the
  /// nearest of `known` (full parameter paths).
  void check_all_used(const std::vector<std::string>& known) const;

  [[nodiscard]] const std::map<std::string, Value, std::less<>>& values() const { return values_; }

 private:
  std::map<std::string, Value, std::less<>> values_;
};

/// Of `candidates` the one with the smallest edit distance to `word`; empty where none is near.
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

/// A path without the indices of its components: `card.chip1.dram` → `card.chip.dram`.
std::string without_indices(std::string_view path);

}  // namespace steppe
