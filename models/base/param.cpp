// SPDX-License-Identifier: Apache-2.0
#include "models/base/param.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace steppe::detail {
namespace {

struct Suffix {
  std::string_view unit;  ///< the parameter's unit
  std::string_view text;  ///< what may stand behind the number
  double factor;
};

constexpr double kibi = 1024.0;
constexpr std::array suffixes{
    Suffix{"B", "B", 1},
    Suffix{"B", "KiB", kibi},
    Suffix{"B", "MiB", kibi* kibi},
    Suffix{"B", "GiB", kibi* kibi* kibi},
    Suffix{"B", "KB", 1e3},
    Suffix{"B", "MB", 1e6},
    Suffix{"B", "GB", 1e9},
    Suffix{"B/s", "B/s", 1},
    Suffix{"B/s", "MB/s", 1e6},
    Suffix{"B/s", "GB/s", 1e9},
    Suffix{"B/s", "TB/s", 1e12},
    Suffix{"Hz", "Hz", 1},
    Suffix{"Hz", "kHz", 1e3},
    Suffix{"Hz", "MHz", 1e6},
    Suffix{"Hz", "GHz", 1e9},
    Suffix{"J", "J", 1},
    Suffix{"J", "mJ", 1e-3},
    Suffix{"J", "uJ", 1e-6},
    Suffix{"J", "nJ", 1e-9},
    Suffix{"J", "pJ", 1e-12},
    Suffix{"J", "fJ", 1e-15},
    Suffix{"W", "W", 1},
    Suffix{"W", "mW", 1e-3},
    Suffix{"s", "s", 1},
    Suffix{"s", "ms", 1e-3},
    Suffix{"s", "us", 1e-6},
    Suffix{"s", "ns", 1e-9},
};

}  // namespace

double parse_number(const std::string& text, const std::string& unit, const std::string& where) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || !std::isfinite(number)) {
    throw ConfigError("{}: '{}' is not a number{}", where, text,
                      unit.empty() ? "" : " with unit " + unit);
  }
  std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  while (suffix.starts_with(' ')) suffix.remove_prefix(1);
  if (suffix.empty() || suffix == unit) return number;
  for (const Suffix& known : suffixes) {
    if (known.unit == unit && known.text == suffix) return number * known.factor;
  }
  throw ConfigError("{}: '{}' has an unknown unit '{}'{}", where, text, suffix,
                    unit.empty() ? "; a plain number is right" : "; expected " + unit);
}

bool parse_bool(const std::string& text, const std::string& where) {
  if (text == "true") return true;
  if (text == "false") return false;
  throw ConfigError("{}: '{}' is neither true nor false", where, text);
}

std::string format_number(double value) { return fmt::format("{}", value); }

}  // namespace steppe::detail
