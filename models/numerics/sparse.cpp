// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/sparse.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "models/base/error.h"

namespace steppe::numerics {
namespace {

constexpr unsigned index_bits = 5;
constexpr Bytes mask_bytes = sizeof(std::uint32_t);

bool is_zero(std::int8_t value) { return value == 0; }
bool is_zero(Bf16 value) { return (value.bits & 0x7fffU) == 0; }

template <typename Item>
Item load(const std::uint8_t* from) {
  Item value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

void put_index(std::span<std::uint8_t> bytes, std::size_t number, std::uint32_t index) {
  for (unsigned bit = 0; bit < index_bits; ++bit) {
    const std::size_t at = number * index_bits + bit;
    if ((index >> bit) & 1U)
      bytes[at / 8] = static_cast<std::uint8_t>(bytes[at / 8] | 1U << at % 8);
  }
}

std::uint32_t get_index(std::span<const std::uint8_t> bytes, std::size_t number) {
  const std::size_t at = number * index_bits;
  std::uint32_t two = bytes[at / 8];
  if (at % 8 > 8 - index_bits) two |= std::uint32_t{bytes[at / 8 + 1]} << 8;
  return (two >> (at % 8)) & ((1U << index_bits) - 1);
}

/// Bit i says that weight i of the block is not zero.
template <typename Item>
std::uint32_t mask_of(std::span<const Item> weights) {
  std::uint32_t mask = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!is_zero(weights[i])) mask |= 1U << i;
  }
  return mask;
}

/// The block's mask with zeros marked from the lowest on, until `kept` are.
std::uint32_t filled_up(std::uint32_t mask, std::uint32_t kept, std::uint32_t number) {
  const auto count = static_cast<std::uint32_t>(std::popcount(mask));
  if (count > kept) {
    throw ModelError("block {} holds {} non-zero weights, more than the {} in {} that are kept",
                     number, count, kept, block);
  }
  for (std::uint32_t missing = kept - count; missing > 0; --missing) mask |= mask + 1;
  return mask;
}

}  // namespace

Bytes RecordShape::index_bytes() const {
  switch (encoding) {
    case Encoding::dense:
      return 0;
    case Encoding::indexed:
      return ceil_div(Bytes{blocks()} * kept * index_bits, Bytes{8});
    case Encoding::bitmap:
      return blocks() * mask_bytes;
  }
  return 0;
}

Bytes RecordShape::bytes(std::uint64_t values) const {
  if (encoding == Encoding::dense) values = k;
  if (encoding == Encoding::indexed) values = std::uint64_t{blocks()} * kept;
  return values * item_bytes + index_bytes();
}

template <typename Item>
void encode_record(std::span<const Item> dense, const RecordShape& shape,
                   std::span<std::uint8_t> out) {
  STEPPE_CHECK(dense.size() == shape.k && sizeof(Item) == shape.item_bytes, "record of {} weights",
               dense.size());
  std::ranges::fill(out, std::uint8_t{0});
  if (shape.encoding == Encoding::dense) {
    STEPPE_CHECK(out.size() >= dense.size_bytes(), "a record of {} bytes", out.size());
    std::memcpy(out.data(), dense.data(), dense.size_bytes());
    return;
  }
  const bool bitmap = shape.encoding == Encoding::bitmap;
  std::uint8_t* values = out.data() + (bitmap ? shape.index_bytes() : 0);
  const std::span<std::uint8_t> indices =
      bitmap ? out : out.subspan(Bytes{shape.blocks()} * shape.kept * sizeof(Item));
  std::size_t slot = 0;
  for (std::uint32_t number = 0; number < shape.blocks(); ++number) {
    const std::uint32_t begin = number * block;
    const auto weights = dense.subspan(begin, std::min(block, shape.k - begin));
    std::uint32_t mask = mask_of(weights);
    if (bitmap) {
      std::memcpy(out.data() + number * mask_bytes, &mask, sizeof mask);
    } else {
      mask = filled_up(mask, shape.kept, number);
    }
    for (; mask != 0; mask &= mask - 1, ++slot) {
      const auto i = static_cast<std::uint32_t>(std::countr_zero(mask));
      const Item value = i < weights.size() ? weights[i] : Item{};
      std::uint8_t* to = values + slot * sizeof value;
      STEPPE_CHECK(to + sizeof value <= out.data() + out.size(), "a record of {} bytes",
                   out.size());
      std::memcpy(to, &value, sizeof value);
      if (!bitmap) put_index(indices, slot, i);
    }
  }
}

template <typename Item>
std::size_t decode_record(std::span<const std::uint8_t> record, const RecordShape& shape,
                          SparseWeight<Item>* out) {
  SparseWeight<Item>* next = out;
  const auto put = [&](std::uint32_t k, const std::uint8_t* from) {
    const auto value = load<Item>(from);
    if (!is_zero(value)) *next++ = {k, value};
  };
  switch (shape.encoding) {
    case Encoding::dense:
      for (std::uint32_t k = 0; k < shape.k; ++k) put(k, &record[k * sizeof(Item)]);
      break;
    case Encoding::indexed: {
      const std::size_t slots = std::size_t{shape.blocks()} * shape.kept;
      const std::span<const std::uint8_t> indices = record.subspan(slots * sizeof(Item));
      std::size_t slot = 0;
      for (std::uint32_t number = 0; number < shape.blocks(); ++number) {
        for (std::uint32_t i = 0; i < shape.kept; ++i, ++slot) {
          const std::uint32_t k = number * block + get_index(indices, slot);
          if (k < shape.k) put(k, &record[slot * sizeof(Item)]);
        }
      }
      break;
    }
    case Encoding::bitmap: {
      const std::uint8_t* value = record.data() + shape.index_bytes();
      const std::uint8_t* end = record.data() + record.size();
      for (std::uint32_t number = 0; number < shape.blocks(); ++number) {
        auto mask = load<std::uint32_t>(&record[number * mask_bytes]);
        for (; mask != 0 && end - value >= std::ptrdiff_t{sizeof(Item)};
             mask &= mask - 1, value += sizeof(Item)) {
          const auto k = number * block + static_cast<std::uint32_t>(std::countr_zero(mask));
          if (k < shape.k) put(k, value);
        }
      }
      break;
    }
  }
  return static_cast<std::size_t>(next - out);
}

template void encode_record(std::span<const std::int8_t>, const RecordShape&,
                            std::span<std::uint8_t>);
template void encode_record(std::span<const Bf16>, const RecordShape&, std::span<std::uint8_t>);
template std::size_t decode_record(std::span<const std::uint8_t>, const RecordShape&,
                                   SparseWeight<std::int8_t>*);
template std::size_t decode_record(std::span<const std::uint8_t>, const RecordShape&,
                                   SparseWeight<Bf16>*);

void stored_masks(std::span<const std::uint8_t> record, const RecordShape& shape,
                  std::uint32_t* masks) {
  switch (shape.encoding) {
    case Encoding::dense:
      std::fill_n(masks, shape.blocks(), ~std::uint32_t{0});
      break;
    case Encoding::indexed: {
      const Bytes values = Bytes{shape.blocks()} * shape.kept * shape.item_bytes;
      const std::span<const std::uint8_t> indices = record.subspan(values);
      std::size_t slot = 0;
      for (std::uint32_t number = 0; number < shape.blocks(); ++number) {
        masks[number] = 0;
        for (std::uint32_t i = 0; i < shape.kept; ++i, ++slot) {
          masks[number] |= std::uint32_t{1} << get_index(indices, slot);
        }
      }
      break;
    }
    case Encoding::bitmap:
      std::memcpy(masks, record.data(), shape.index_bytes());
      break;
  }
}

}  // namespace steppe::numerics
