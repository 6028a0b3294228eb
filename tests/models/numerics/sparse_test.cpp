// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/sparse.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "models/base/error.h"

using namespace steppe;
using namespace steppe::numerics;

namespace {

using Bytes8 = std::vector<std::uint8_t>;

template <typename Item>
Bytes8 encoded(const std::vector<Item>& dense, const RecordShape& shape, Bytes bytes) {
  Bytes8 record(bytes, 0xaa);
  encode_record<Item>(dense, shape, record);
  return record;
}

/// The dense weights of a record; checks that they come in rising order.
template <typename Item>
std::vector<Item> decoded(const Bytes8& record, const RecordShape& shape) {
  std::vector<SparseWeight<Item>> weights(std::size_t{shape.blocks()} * block);
  weights.resize(decode_record<Item>(record, shape, weights.data()));
  std::vector<Item> dense(shape.k);
  std::int64_t last = -1;
  for (const auto& weight : weights) {
    CHECK(std::int64_t{weight.k} > last);
    last = weight.k;
    dense.at(weight.k) = weight.value;
  }
  return dense;
}

/// K = 40: two blocks. Block 0 has -3 at 1 and 7 at 31; block 1 has 5 at 4 (k = 36).
std::vector<std::int8_t> example() {
  std::vector<std::int8_t> dense(40, 0);
  dense[1] = -3;
  dense[31] = 7;
  dense[36] = 5;
  return dense;
}

}  // namespace

TEST_CASE("an indexed record holds values block by block, then packed 5-bit indices") {
  // 2 values stay of each block; block 1 is filled up with a zero at index 0.
  const RecordShape shape{.k = 40, .encoding = Encoding::indexed, .kept = 2};
  CHECK(shape.blocks() == 2);
  CHECK(shape.index_bytes() == 3);  // 4 x 5 bits
  CHECK(shape.bytes() == 7);
  CHECK(shape.pitch() == 16);
  // Indices 1, 31, 0, 4 from the low bit on: 00001 | 11111 | 00000 | 00100
  // = bits 0..19: 1000 0111 1100 0000 0100 (low first) -> 0xe1, 0x03, 0x02
  const Bytes8 expected{0xfd, 7, 0, 5, 0xe1, 0x03, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  CHECK(encoded(example(), shape, 16) == expected);
}

TEST_CASE("a bitmap record holds a mask for each block, then the values marked") {
  const RecordShape shape{.k = 40, .encoding = Encoding::bitmap};
  CHECK(shape.bytes(3) == 2 * 4 + 3);
  // Bits 1 and 31; bit 4.
  const Bytes8 expected{0x02, 0, 0, 0x80, 0x10, 0, 0, 0, 0xfd, 7, 5, 0};
  const Bytes8 record = encoded(example(), shape, 12);
  CHECK(record == expected);
}

TEST_CASE("which weights a record stores") {
  std::uint32_t masks[2];
  // Bitmap: as its masks say. Indexed: two in each block, where 0 fills up. Dense: all, the last
  // block (8 of K = 40) as full as the first.
  const RecordShape bitmap{.k = 40, .encoding = Encoding::bitmap};
  stored_masks(encoded(example(), bitmap, 12), bitmap, masks);
  CHECK(masks[0] == 0x80000002);
  CHECK(masks[1] == 0x10);
  const RecordShape indexed{.k = 40, .encoding = Encoding::indexed, .kept = 2};
  stored_masks(encoded(example(), indexed, 16), indexed, masks);
  CHECK(masks[0] == 0x80000002);
  CHECK(masks[1] == 0x11);
  const RecordShape dense{.k = 40};
  stored_masks(encoded(example(), dense, 48), dense, masks);
  CHECK(masks[0] == 0xffffffff);
  CHECK(masks[1] == 0xffffffff);
}

TEST_CASE("what each encoding takes: K = 100, int8 and bf16") {
  // 4 blocks. Dense: 100 values. 5 of 32: 20 values and 20 * 5 bits, 12.5 bytes. Bitmap with 17
  // weights: 4 masks and 17 values.
  CHECK(RecordShape{.k = 100}.bytes() == 100);
  CHECK(RecordShape{.k = 100, .encoding = Encoding::indexed, .kept = 5}.bytes() == 20 + 13);
  CHECK(RecordShape{.k = 100, .encoding = Encoding::bitmap}.bytes(17) == 16 + 17);
  CHECK(RecordShape{.k = 100, .item_bytes = 2}.bytes() == 200);
  CHECK(RecordShape{100, Encoding::indexed, 5, 2}.bytes() == 40 + 13);
  CHECK(RecordShape{100, Encoding::bitmap, 32, 2}.bytes(17) == 16 + 34);
}

TEST_CASE("records of every encoding give back their weights") {
  std::mt19937 random(1);
  const auto check = [&](auto zero) {
    using Item = decltype(zero);
    for (std::uint32_t kept = 0; kept <= 33; ++kept) {  // 0: dense, 33: bitmap
      for (int round = 0; round < 20; ++round) {
        RecordShape shape{.k = 1 + static_cast<std::uint32_t>(random() % 200),
                          .encoding = kept == 0    ? Encoding::dense
                                      : kept == 33 ? Encoding::bitmap
                                                   : Encoding::indexed,
                          .kept = std::min(std::max(kept, 1U), block),
                          .item_bytes = sizeof(Item)};
        std::vector<Item> dense(shape.k);
        std::uint32_t stored = 0;
        for (std::uint32_t b = 0; b < shape.blocks(); ++b) {
          for (std::uint32_t i = random() % (shape.kept + 1); i > 0; --i) {
            const std::uint32_t k = b * block + random() % block;
            const std::uint16_t bits = static_cast<std::uint16_t>(0x101 + random() % 0x7000);
            if (k >= shape.k) continue;
            if (dense[k] == Item{}) ++stored;
            std::memcpy(&dense[k], &bits, sizeof(Item));
            if (dense[k] == Item{}) --stored;
          }
        }
        const Bytes8 record = encoded(dense, shape, shape.pitch(stored));
        CHECK(decoded<Item>(record, shape) == dense);
      }
    }
  };
  check(std::int8_t{});
  check(Bf16{});
}

TEST_CASE("what a foreign record says wrongly is left out") {
  // An index behind K, and a mask that marks more than the record holds.
  const RecordShape indexed{.k = 4, .encoding = Encoding::indexed, .kept = 1};
  CHECK(decoded<std::int8_t>({9, 31}, indexed) == std::vector<std::int8_t>(4, 0));
  const RecordShape bitmap{.k = 4, .encoding = Encoding::bitmap};
  CHECK(decoded<std::int8_t>({0x0f, 0, 0, 0, 1, 2}, bitmap) ==
        std::vector<std::int8_t>{1, 2, 0, 0});
  CHECK(decoded<std::int8_t>({0xf8, 0xff, 0xff, 0xff, 5, 6, 7}, bitmap) ==
        std::vector<std::int8_t>{0, 0, 0, 5});
}

TEST_CASE("a block with too many weights is refused") {
  const std::vector<std::int8_t> dense(32, 1);
  const RecordShape shape{.k = 32, .encoding = Encoding::indexed, .kept = 4};
  CHECK_THROWS_AS(encoded(dense, shape, shape.pitch()), ModelError);
}

TEST_CASE("a negative zero is no weight") {
  const std::vector<Bf16> dense{{0x8000}, {0x3f80}};
  const RecordShape shape{.k = 2, .encoding = Encoding::bitmap, .item_bytes = 2};
  const Bytes8 expected{0x02, 0, 0, 0, 0x80, 0x3f};
  CHECK(encoded(dense, shape, 6) == expected);
  std::vector<SparseWeight<Bf16>> weights(2);
  CHECK(decode_record<Bf16>(Bytes8{0x00, 0x80, 0x80, 0x3f}, {.k = 2, .item_bytes = 2},
                            weights.data()) == 1);
}

TEST_CASE("bf16 rounds to the nearest, ties to even") {
  CHECK(to_bf16(1.0F).bits == 0x3f80);
  CHECK(to_bf16(1.0F + 0x1p-8F).bits == 0x3f80);             // a tie: down to even
  CHECK(to_bf16(1.0F + 3 * 0x1p-8F).bits == 0x3f82);         // a tie: up to even
  CHECK(to_bf16(1.0F + 0x1p-8F + 0x1p-20F).bits == 0x3f81);  // just above one
  CHECK(to_bf16(std::numeric_limits<float>::max()).bits == 0x7f80);
  CHECK(to_bf16(-std::numeric_limits<float>::infinity()).bits == 0xff80);
  CHECK(to_bf16(-std::numeric_limits<float>::quiet_NaN()).bits == 0x7fc0);
  CHECK(to_bf16(0x1p-133F).bits == 0x0001);  // the smallest subnormal
  CHECK(to_bf16(0x1p-134F).bits == 0x0000);  // half of it: a tie
  CHECK(to_float(Bf16{0x4049}) == 3.140625F);
  std::uint32_t wrong = 0;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Bf16 value{static_cast<std::uint16_t>(bits)};
    const bool nan = (bits & 0x7fff) > 0x7f80;
    if (to_bf16(to_float(value)).bits != (nan ? 0x7fc0 : bits)) ++wrong;
  }
  CHECK(wrong == 0);
}
