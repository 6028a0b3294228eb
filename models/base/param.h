// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "models/base/error.h"
#include "models/base/scope.h"

namespace steppe {

/// Inclusive bounds of a parameter's value.
template <typename T>
struct Range {
  T min;
  T max;
};

namespace detail {
/// Strict parsing of a whole text; throws ConfigError naming `where` otherwise.
/// Numbers take a decimal point, an exponent, and a unit that fits `unit`: for "B" also KiB, MiB,
/// GiB, KB, MB, GB; for "B/s" MB/s, GB/s, TB/s; for "Hz" kHz, MHz, GHz; for "s" ns, us, ms.
double parse_number(const std::string& text, const std::string& unit, const std::string& where);
bool parse_bool(const std::string& text, const std::string& where);
std::string format_number(double value);
}  // namespace detail

/// A typed parameter of a module, named by the module's path and its own name.
///
/// The value is read once, when the module is built, and does not change afterwards.
template <typename T>
class Param {
 public:
  /// A number (integer or real) with its unit ("" for none) and range.
  Param(const Scope& scope, const std::string& name, T default_value, const char* unit,
        const char* doc,
        Range<T> range) requires(!std::is_same_v<T, bool> && std::is_arithmetic_v<T>)
      : value_(default_value) {
    ParamInfo info = start(scope, name, unit, doc);
    info.range = detail::format_number(static_cast<double>(range.min)) + " to " +
                 detail::format_number(static_cast<double>(range.max));
    if (const Config::Value* set = take(scope, info)) {
      const std::string where = set->origin + ": " + info.path;
      const double number = detail::parse_number(set->text, unit, where);
      if constexpr (std::is_integral_v<T>) {
        if (number != std::trunc(number)) {
          throw ConfigError("{}: '{}' is not a whole number", where, set->text);
        }
      }
      if (number < static_cast<double>(range.min) || number > static_cast<double>(range.max)) {
        throw ConfigError("{}: '{}' is out of range, {} {}", where, set->text, info.range, unit);
      }
      value_ = static_cast<T>(number);
    }
    finish(scope, info, detail::format_number(static_cast<double>(value_)));
  }

  Param(const Scope& scope, const std::string& name, bool default_value,
        const char* doc) requires std::is_same_v<T, bool> : value_(default_value) {
    ParamInfo info = start(scope, name, "", doc);
    info.range = "true, false";
    if (const Config::Value* set = take(scope, info)) {
      value_ = detail::parse_bool(set->text, set->origin + ": " + info.path);
    }
    finish(scope, info, value_ ? "true" : "false");
  }

  /// A choice among names; an empty list takes any text.
  Param(const Scope& scope, const std::string& name, const char* default_value, const char* doc,
        const std::vector<std::string>& choices) requires std::is_same_v<T, std::string>
      : value_(default_value) {
    ParamInfo info = start(scope, name, "", doc);
    for (const std::string& choice : choices) {
      info.range += (info.range.empty() ? "" : ", ") + choice;
    }
    if (const Config::Value* set = take(scope, info)) {
      value_ = set->text;
      bool known = choices.empty();
      for (const std::string& choice : choices) known = known || choice == value_;
      if (!known) {
        const std::string near = nearest_name(value_, choices);
        throw ConfigError("{}: {}: '{}' is not one of {}{}", set->origin, info.path, value_,
                          info.range, near.empty() ? "" : "; did you mean '" + near + "'?");
      }
    }
    finish(scope, info, value_);
  }

  Param(const Param&) = delete;
  Param& operator=(const Param&) = delete;

  [[nodiscard]] const T& get() const { return value_; }
  operator const T&() const { return value_; }  // NOLINT(google-explicit-constructor)

 private:
  static ParamInfo start(const Scope& scope, const std::string& name, const char* unit,
                         const char* doc) {
    return {.path = scope.path() + "." + name,
            .value = "",
            .unit = unit,
            .range = "",
            .doc = doc,
            .origin = "default",
            .note = ""};
  }
  static const Config::Value* take(const Scope& scope, ParamInfo& info) {
    const Config::Value* set = scope.context().config.find(info.path);
    if (set != nullptr) {
      info.origin = set->origin;
      info.note = set->note;
    }
    return set;
  }
  static void finish(const Scope& scope, ParamInfo& info, std::string value) {
    info.value = std::move(value);
    scope.context().params.push_back(info);
  }

  T value_;
};

}  // namespace steppe
