// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

namespace steppe {

/// A size or a byte count.
using Bytes = std::uint64_t;

/// A number of clock cycles of the block that states it.
struct Cycles {
  std::uint64_t count = 0;

  constexpr auto operator<=>(const Cycles&) const = default;
  constexpr Cycles& operator+=(Cycles other) {
    count += other.count;
    return *this;
  }
  friend constexpr Cycles operator+(Cycles a, Cycles b) { return {a.count + b.count}; }
  friend constexpr Cycles operator*(Cycles a, std::uint64_t n) { return {a.count * n}; }
};

/// Rounds the quotient of two non-negative integers up.
template <typename T>
constexpr T ceil_div(T numerator, T denominator) {
  return static_cast<T>((numerator + denominator - 1) / denominator);
}

/// Rounds `value` up to a multiple of `alignment`.
template <typename T>
constexpr T align_up(T value, T alignment) {
  return ceil_div(value, alignment) * alignment;
}

}  // namespace steppe
