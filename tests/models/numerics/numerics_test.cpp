// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/numerics.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "models/base/error.h"

using namespace steppe;
using namespace steppe::numerics;

TEST_CASE("store rounds half to even, adds the zero point, and saturates") {
  CHECK(store(0.5F, {}) == 0);
  CHECK(store(1.5F, {}) == 2);
  CHECK(store(-0.5F, {}) == 0);
  CHECK(store(-2.5F, {}) == -2);
  CHECK(store(2.5F, {.zero = 10}) == 12);  // rounded before the zero point is added
  CHECK(store(126.6F, {}) == 127);
  CHECK(store(1e30F, {}) == 127);
  CHECK(store(-1e30F, {}) == -128);
  CHECK(store(-128.5F, {}) == -128);
  CHECK(store(-3.0F, {.zero = 0, .low = 0, .high = 100}) == 0);
  CHECK(store(101.0F, {.zero = 0, .low = 0, .high = 100}) == 100);
  CHECK(store(std::numeric_limits<float>::quiet_NaN(), {.zero = 5, .low = -7, .high = 9}) == -7);
}

TEST_CASE("quantise and dequantise follow scale and zero point") {
  const std::vector<float> x{0.0F, 1.0F, -1.0F, 0.26F, 100.0F};
  std::vector<std::int8_t> q(x.size());
  quantise(x, 0.5F, 3, q);  // x / 0.5 + 3
  CHECK(q == std::vector<std::int8_t>{3, 5, 1, 4, 127});
  std::vector<float> back(x.size());
  dequantise(q, 0.5F, 3, back);
  CHECK(back == std::vector<float>{0.0F, 1.0F, -1.0F, 0.5F, 62.0F});
}

TEST_CASE("exp is the library's binary64 exponential rounded once") {
  const auto expected = [](float x) {
    return static_cast<float>(std::exp(static_cast<double>(x)));
  };
  CHECK(exp_fp32(0.0F) == 1.0F);
  CHECK(exp_fp32(-0.0F) == 1.0F);
  CHECK(exp_fp32(89.0F) == std::numeric_limits<float>::infinity());
  CHECK(exp_fp32(-std::numeric_limits<float>::infinity()) == 0.0F);
  CHECK(exp_fp32(-104.5F) == 0.0F);
  CHECK(std::isnan(exp_fp32(std::numeric_limits<float>::quiet_NaN())));
  // Every 97th float of both signs whose exponential is neither zero nor infinite.
  std::uint64_t wrong = 0;
  for (std::uint32_t bits = 0; bits < std::bit_cast<std::uint32_t>(104.0F); bits += 97) {
    const float x = std::bit_cast<float>(bits);
    if (x < 88.7F && exp_fp32(x) != expected(x)) ++wrong;
    if (exp_fp32(-x) != expected(-x)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("exp at its edges: every float around them") {
  const auto expected = [](float x) {
    return static_cast<float>(std::exp(static_cast<double>(x)));
  };
  // Infinity, the smallest normal number, half the smallest subnormal; and next to one.
  std::uint64_t wrong = 0;
  for (const float edge : {88.72284F, -87.33654F, -103.97208F, 0x1p-24F, -0x1p-25F}) {
    const std::uint32_t middle = std::bit_cast<std::uint32_t>(edge);
    for (std::uint32_t bits = middle - 20'000; bits < middle + 20'000; ++bits) {
      const float x = std::bit_cast<float>(bits);
      if (exp_fp32(x) != expected(x)) ++wrong;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a sparse record holds values block by block, then packed 5-bit indices") {
  // K = 40: two blocks; ratio 16 keeps 2 of each. Block 0 has -3 at 1 and 7 at 31; block 1 has 5 at
  // 4 (k = 36) and is filled up with a zero at index 0.
  std::vector<std::int8_t> dense(40, 0);
  dense[1] = -3;
  dense[31] = 7;
  dense[36] = 5;
  const RecordShape shape{.k = 40, .ratio_log2 = 4};
  CHECK(shape.blocks() == 2);
  CHECK(shape.value_bytes() == 4);
  CHECK(shape.index_bytes() == 3);  // 4 x 5 bits
  CHECK(shape.pitch() == 16);
  std::vector<std::uint8_t> record(16);
  encode_record(dense, shape, record);
  // Indices 1, 31, 0, 4 from the low bit on: 00001 | 11111 | 00000 | 00100
  // = bits 0..19: 1000 0111 1100 0000 0100 (low first) -> 0xe1, 0x03, 0x02
  const std::vector<std::uint8_t> expected{0xfd, 7, 0, 5, 0xe1, 0x03, 0x02, 0,
                                           0,    0, 0, 0, 0,    0,    0,    0};
  CHECK(record == expected);
}

TEST_CASE("records of every ratio give back their weights") {
  std::mt19937 random(1);
  for (std::uint32_t ratio_log2 = 0; ratio_log2 <= 5; ++ratio_log2) {
    for (int round = 0; round < 50; ++round) {
      const RecordShape shape{.k = 1 + static_cast<std::uint32_t>(random() % 200),
                              .ratio_log2 = ratio_log2};
      std::vector<std::int8_t> dense(shape.k, 0);
      for (std::uint32_t b = 0; b < shape.blocks(); ++b) {
        for (std::uint32_t i = random() % (shape.kept() + 1); i > 0; --i) {
          const std::uint32_t k = b * block + random() % block;
          if (k < shape.k) dense[k] = static_cast<std::int8_t>(random());
        }
      }
      std::vector<std::uint8_t> record(shape.pitch());
      encode_record(dense, shape, record);
      std::vector<SparseWeight> weights;
      decode_record(record, shape, weights);
      std::vector<std::int8_t> back(shape.k, 0);
      std::int64_t last = -1;
      for (const SparseWeight& weight : weights) {
        CHECK(std::int64_t{weight.k} > last);
        last = weight.k;
        back.at(weight.k) = weight.value;
      }
      CHECK(back == dense);
    }
  }
}

TEST_CASE("a block with too many weights is refused") {
  const std::vector<std::int8_t> dense(32, 1);
  const RecordShape shape{.k = 32, .ratio_log2 = 3};
  std::vector<std::uint8_t> record(shape.pitch());
  CHECK_THROWS_AS(encode_record(dense, shape, record), ModelError);
}
