// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/base/units.h"
#include "models/numerics/bf16.h"

/// How weights are stored: models/numerics/README.md, "Weight records".
namespace steppe::numerics {

inline constexpr unsigned block = 32;  ///< weights in a sparse block

enum class Encoding : std::uint8_t {
  dense,    ///< every weight
  indexed,  ///< the same number of values in each block, and their 5-bit indices
  bitmap,   ///< a mask of 32 bits for each block, and the values it marks
};
inline constexpr std::uint32_t encodings = 3;

/// The shape of one output channel's weight record.
struct RecordShape {
  std::uint32_t k = 0;  ///< weights of one output channel
  Encoding encoding = Encoding::dense;
  std::uint32_t kept = block;    ///< indexed: values in each block
  std::uint32_t item_bytes = 1;  ///< of a weight: int8 1, bf16 2

  [[nodiscard]] std::uint32_t blocks() const { return ceil_div(k, block); }
  /// Bytes of a record that stores `values` weights; the count matters to bitmap records alone.
  [[nodiscard]] Bytes bytes(std::uint64_t values = 0) const;
  /// Bytes of the indices or masks.
  [[nodiscard]] Bytes index_bytes() const;
  /// Bytes from record to record as the compiler lays them out.
  [[nodiscard]] Bytes pitch(std::uint64_t values = 0) const {
    return align_up(bytes(values), Bytes{16});
  }
};

/// Encodes `dense` (shape.k weights) as one record into `out`, the rest of which is zeroed. Item:
/// std::int8_t or Bf16. Throws ModelError where a block holds more non-zeros than it may, or the
/// record is longer than `out`.
template <typename Item>
void encode_record(std::span<const Item> dense, const RecordShape& shape,
                   std::span<std::uint8_t> out);

/// One non-zero of a record: its position in K and its value.
template <typename Item>
struct SparseWeight {
  std::uint32_t k;
  Item value;
};
/// Writes the record's non-zero weights in rising k to `out`, which has room for shape.k of them,
/// and returns how many there are. Indices that point behind K are left out; what a mask marks
/// beyond the record's end is zero.
template <typename Item>
std::size_t decode_record(std::span<const std::uint8_t> record, const RecordShape& shape,
                          SparseWeight<Item>* out);

/// Which weights of each block a record stores, be they zero or not, at masks[0 … shape.blocks() -
/// 1]: bit i stands for position i of the block. A dense record stores its last block as full as
/// the others.
void stored_masks(std::span<const std::uint8_t> record, const RecordShape& shape,
                  std::uint32_t* masks);

/// How many weights each block of the records of one Conv holds, where that is not the same number
/// throughout: what the time of the engines depends on, in runs without values too.
struct WeightPattern {
  std::uint32_t channels = 0;
  std::uint32_t blocks = 0;  ///< of one channel
  /// [channels][blocks], each at most 32; empty where only `density` is known.
  std::span<const std::uint8_t> counts;
  double density = 1.0;  ///< weights stored of those there are
};

}  // namespace steppe::numerics
