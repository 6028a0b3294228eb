// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

/// Number formats of the hardware models; the rules are in models/numerics/README.md. The reference
/// executor does not use this code: it follows the same page on its own.
namespace steppe::numerics {

/// Bounds and zero point of an int8 result.
struct StoreRule {
  std::int32_t zero = 0;
  std::int32_t low = -128;
  std::int32_t high = 127;
};

/// The nearest integer to a value, ties to even; what lies beyond +-2^21 is brought there first,
/// NaN to -2^21. Written so that compilers turn loops over it into vector code on any machine.
inline float round_small(float value) {
  constexpr float bound = 2097152.0F;   // 2^21: far beyond what any result keeps
  constexpr float magic = 12582912.0F;  // 1.5 * 2^23: adding it leaves no bits for a fraction
  const float bounded = value > -bound ? (value < bound ? value : bound) : -bound;
  return (bounded + magic) - magic;
}

/// Rounds, offsets and saturates an fp32 value to int8.
inline std::int8_t store(float value, const StoreRule& rule) {
  const float shifted = round_small(value) + static_cast<float>(rule.zero);
  const auto low = static_cast<float>(rule.low);
  const auto high = static_cast<float>(rule.high);
  const float bounded = shifted > low ? (shifted < high ? shifted : high) : low;
  return static_cast<std::int8_t>(static_cast<std::int32_t>(bounded));
}

/// `out[i] = store(x[i] / scale)` and its inverse; the spans have the same length.
void quantise(std::span<const float> x, float scale, std::int32_t zero, std::span<std::int8_t> out);
void dequantise(std::span<const std::int8_t> q, float scale, std::int32_t zero,
                std::span<float> out);

}  // namespace steppe::numerics
