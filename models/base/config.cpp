// SPDX-License-Identifier: Apache-2.0
#include "models/base/config.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "models/base/error.h"

namespace steppe {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// End of the component's name before its index, if it has one.
std::string_view strip_index(std::string_view component) {
  std::size_t end = component.size();
  while (end > 1 && is_digit(component[end - 1])) --end;
  return component.substr(0, end);
}

std::string_view next_component(std::string_view& path) {
  const std::size_t dot = path.find('.');
  const std::string_view head = path.substr(0, dot);
  path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  return head;
}

/// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, substitute});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

/// All keys that may hold a value for `path`, the most specific first.
void for_each_key(std::string_view path, const auto& visit) {
  std::vector<std::string_view> full;
  std::vector<std::size_t> indexed;
  while (!path.empty()) {
    const std::string_view component = next_component(path);
    // The last component is the parameter's own name, whose digits are part of the name.
    if (!path.empty() && strip_index(component).size() != component.size()) {
      indexed.push_back(full.size());
    }
    full.push_back(component);
  }
  const std::uint32_t masks = 1U << indexed.size();
  std::vector<std::uint32_t> order(masks);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [](std::uint32_t a, std::uint32_t b) {
    return __builtin_popcount(a) < __builtin_popcount(b);
  });
  for (const std::uint32_t stripped : order) {
    std::string key;
    for (std::size_t i = 0; i < full.size(); ++i) {
      if (i != 0) key += '.';
      const auto at = std::ranges::find(indexed, i);
      const bool strip = at != indexed.end() && ((stripped >> (at - indexed.begin())) & 1U) != 0;
      key += strip ? strip_index(full[i]) : full[i];
    }
    if (visit(key)) return;
  }
}

}  // namespace

void Config::set(std::string key, std::string text, std::string origin, std::string note) {
  values_.insert_or_assign(std::move(key),
                           Value{std::move(text), std::move(origin), std::move(note)});
}

const Config::Value* Config::find(std::string_view path) const {
  const Value* found = nullptr;
  for_each_key(path, [&](const std::string& key) {
    const auto it = values_.find(key);
    if (it == values_.end()) return false;
    it->second.used = true;
    if (found == nullptr) found = &it->second;
    return false;  // go on: a general key that a specific one hides is used as well
  });
  return found;
}

void Config::check_all_used(const std::vector<std::string>& known) const {
  for (const auto& [key, value] : values_) {
    if (value.used) continue;
    std::vector<std::string> names;
    for (const std::string& path : known) {
      names.push_back(path);
      names.push_back(without_indices(path));
    }
    const std::string near = nearest_name(key, names);
    throw ConfigError("{}: unknown parameter '{}'{}", value.origin, key,
                      near.empty() ? std::string("; `steppe params` lists all")
                                   : fmt::format("; did you mean '{}'?", near));
  }
}

std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(3, word.size() / 3);
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string without_indices(std::string_view path) {
  std::string result;
  while (!path.empty()) {
    const std::string_view component = next_component(path);
    if (!result.empty()) result += '.';
    result += path.empty() ? component : strip_index(component);
  }
  return result;
}

}  // namespace steppe
