// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/base/units.h"

namespace steppe {

/// Where the bytes of a DRAM lie: which channel, bank and row.
///
/// The address is cut into stripes of `interleave` bytes, and the number of the stripe into digits,
/// the most significant first, as the text names them: in `row:bank:column:channel` neighbouring
/// stripes lie in neighbouring channels. No radix needs to be a power of two. With `bank_hash` the
/// bank is combined (exclusive or) with the low bits of the row, so that strides of a row spread.
class AddressMapping {
 public:
  struct Shape {
    std::uint32_t channels;
    std::uint32_t banks;    ///< of a channel
    std::uint32_t columns;  ///< stripes of a row
    Bytes interleave;       ///< bytes of a stripe
    Bytes size;             ///< of all channels
  };
  /// Bytes of one row of one bank that a transfer touches; they follow each other there.
  struct Piece {
    std::uint32_t channel;
    std::uint32_t bank;
    std::uint32_t row;
    std::uint32_t offset;  ///< of the first of them in the row, bytes
    Bytes bytes;
  };

  /// Throws ConfigError, starting with `where`, where the text is no such order: each name once,
  /// the row before the column.
  AddressMapping(const std::string& order, bool bank_hash, const Shape& shape,
                 const std::string& where);

  /// Calls `on_piece(const Piece&)` for every row that [offset, offset + bytes) touches; each
  /// channel's pieces in rising address order. The work is that of the rows touched, whatever their
  /// bytes.
  template <typename OnPiece>
  void for_each_piece(std::uint64_t offset, Bytes bytes, OnPiece&& on_piece) const;

  [[nodiscard]] std::uint64_t rows() const { return rows_; }

 private:
  enum Field : std::uint8_t { row, bank, column, channel };
  struct Place {
    std::uint32_t channel = 0;
    std::uint32_t bank = 0;
  };
  [[nodiscard]] std::uint32_t radix(Field field) const;
  void parse(const std::string& order, const std::string& where);
  void number_units();

  Shape shape_;
  std::uint32_t bank_mask_ = 0;
  std::uint64_t rows_;
  std::vector<Field> below_;  ///< least significant first: the fields under the column,
  std::vector<Field> above_;  ///< and those over it
  std::vector<Place> units_;  ///< what the fields under the column say, by the number of the unit
};

template <typename OnPiece>
void AddressMapping::for_each_piece(std::uint64_t offset, Bytes bytes, OnPiece&& on_piece) const {
  if (bytes == 0) return;
  const std::uint64_t units = units_.size();
  const std::uint64_t first = offset / shape_.interleave;
  const std::uint64_t last = (offset + bytes - 1) / shape_.interleave;
  // Bytes that the first and the last stripe lack.
  const Bytes lacks_first = offset - first * shape_.interleave;
  const Bytes lacks_last = (last + 1) * shape_.interleave - (offset + bytes);

  std::uint64_t above = first / units;  // everything from the column on
  std::uint64_t unit = first - above * units;
  std::uint64_t decoded = ~std::uint64_t{0};
  std::uint64_t column_in_row = 0;
  Place high;
  std::uint32_t row_number = 0;
  const auto decode = [&](std::uint64_t digits) {
    if (digits == decoded) return;
    decoded = digits;
    std::uint64_t rest = digits / shape_.columns;
    column_in_row = digits - rest * shape_.columns;
    high = {};
    for (const Field field : above_) {
      if (field == Field::row) {
        const std::uint64_t next = rest / rows_;
        row_number = static_cast<std::uint32_t>(rest - next * rows_);
        rest = next;
      } else {
        const std::uint32_t size = radix(field);
        const std::uint64_t next = rest / size;
        (field == Field::bank ? high.bank : high.channel) =
            static_cast<std::uint32_t>(rest - next * size);
        rest = next;
      }
    }
  };

  const std::uint64_t touched = last - first + 1 < units ? last - first + 1 : units;
  for (std::uint64_t i = 0; i < touched; ++i) {
    const Place low = units_[unit];
    std::uint64_t stripe = first + i;
    std::uint64_t digits = above;
    while (stripe <= last) {
      decode(digits);
      const std::uint64_t in_row = shape_.columns - column_in_row;
      const std::uint64_t to_come = units == 1 ? last - stripe + 1 : (last - stripe) / units + 1;
      const std::uint64_t run = in_row < to_come ? in_row : to_come;
      Piece piece{low.channel + high.channel, low.bank + high.bank, row_number,
                  static_cast<std::uint32_t>(column_in_row * shape_.interleave),
                  run * shape_.interleave};
      piece.bank ^= row_number & bank_mask_;
      if (stripe == first) {
        piece.offset += static_cast<std::uint32_t>(lacks_first);
        piece.bytes -= lacks_first;
      }
      if (stripe + (run - 1) * units == last) piece.bytes -= lacks_last;
      on_piece(piece);
      stripe += run * units;
      digits += run;
    }
    if (++unit == units) {
      unit = 0;
      ++above;
    }
  }
}

}  // namespace steppe
