// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace steppe {

/// A mistake of the user's, with a message that says what is wrong, where, and what would be right.
/// `exit_code` is what the program ends with when nobody handles the error.
class UserError : public std::runtime_error {
 public:
  UserError(int exit_code, const std::string& message)
      : std::runtime_error(message), exit_code_(exit_code) {}
  [[nodiscard]] int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

/// Usage or configuration: unknown parameter, misspelt preset, value out of range, missing file.
class ConfigError : public UserError {
 public:
  template <typename... Args>
  explicit ConfigError(fmt::format_string<Args...> format, Args&&... args)
      : UserError(2, fmt::format(format, std::forward<Args>(args)...)) {}
};

/// A shard package that cannot be taken: truncated, corrupt, or made for another target.
class PackageError : public UserError {
 public:
  template <typename... Args>
  explicit PackageError(fmt::format_string<Args...> format, Args&&... args)
      : UserError(3, fmt::format(format, std::forward<Args>(args)...)) {}
};

/// A model that cannot be taken: unsupported operator, contradictory shapes, no room on the target.
class ModelError : public UserError {
 public:
  template <typename... Args>
  explicit ModelError(fmt::format_string<Args...> format, Args&&... args)
      : UserError(3, fmt::format(format, std::forward<Args>(args)...)) {}
};

/// The simulated machine faulted or deadlocked.
class MachineError : public UserError {
 public:
  template <typename... Args>
  explicit MachineError(fmt::format_string<Args...> format, Args&&... args)
      : UserError(4, fmt::format(format, std::forward<Args>(args)...)) {}
};

/// A broken invariant of Steppe's own: a bug, never the user's fault.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace steppe

/// Checks an invariant in every build type; further arguments are a fmt format and its values.
#define STEPPE_CHECK(condition, ...)                                                             \
  do {                                                                                           \
    if (!(condition)) [[unlikely]] {                                                             \
      throw ::steppe::InternalError(fmt::format("{}:{}: {}: {}", __FILE__, __LINE__, #condition, \
                                                fmt::format("" __VA_ARGS__)));                   \
    }                                                                                            \
  } while (false)
