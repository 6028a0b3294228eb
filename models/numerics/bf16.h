// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace steppe::numerics {

/// The upper half of an IEEE binary32: 1 sign, 8 exponent, 7 fraction bits.
struct Bf16 {
  std::uint16_t bits;
  bool operator==(const Bf16&) const = default;
};

inline float to_float(Bf16 value) { return std::bit_cast<float>(std::uint32_t{value.bits} << 16); }

/// Rounds to the nearest, ties to even; every NaN becomes the quiet one without payload.
inline Bf16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fff'ffffU) > 0x7f80'0000U) return {0x7fc0};
  const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
  return {static_cast<std::uint16_t>(rounded >> 16)};
}

/// A result in fp32: as it is, but for NaN, which has one form.
inline float canonical(float value) {
  return value == value ? value : std::bit_cast<float>(0x7fc0'0000U);
}

}  // namespace steppe::numerics
