// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "models/base/units.h"

/// Number formats of the hardware models; the rules are in models/numerics/README.md. The reference
/// executor does not use this code: it follows the same page on its own.
namespace steppe::numerics {

inline constexpr unsigned block = 32;  ///< weights in a sparse block

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

/// The correctly rounded fp32 exponential.
float exp_fp32(float x);

/// The shape of one output channel's sparse weight record.
struct RecordShape {
  std::uint32_t k = 0;           ///< weights of one output channel
  std::uint32_t ratio_log2 = 0;  ///< 0 dense … 5: one in 32 kept

  [[nodiscard]] std::uint32_t blocks() const { return ceil_div(k, block); }
  [[nodiscard]] std::uint32_t kept() const { return block >> ratio_log2; }  ///< values in a block
  [[nodiscard]] Bytes value_bytes() const { return ratio_log2 == 0 ? k : Bytes{blocks()} * kept(); }
  [[nodiscard]] Bytes index_bytes() const {
    return ratio_log2 == 0 ? 0 : ceil_div(Bytes{blocks()} * kept() * 5, Bytes{8});
  }
  /// Bytes from record to record as the compiler lays them out.
  [[nodiscard]] Bytes pitch() const { return align_up(value_bytes() + index_bytes(), Bytes{16}); }
};

/// Encodes `dense` (shape.k values) as one record of shape.pitch() bytes at `out`.
/// Throws ModelError where a block holds more non-zeros than the ratio keeps.
void encode_record(std::span<const std::int8_t> dense, const RecordShape& shape,
                   std::span<std::uint8_t> out);

/// One non-zero of a record: its position in K and its value.
struct SparseWeight {
  std::uint32_t k;
  std::int8_t value;
};
/// Appends the record's non-zero weights in rising k to `out`. Indices that point behind K are left
/// out.
void decode_record(std::span<const std::uint8_t> record, const RecordShape& shape,
                   std::vector<SparseWeight>& out);

}  // namespace steppe::numerics
