// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/numerics.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "models/base/error.h"

namespace steppe::numerics {
namespace {

constexpr unsigned index_bits = 5;

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

void encode_block(std::span<const std::int8_t> dense, std::uint32_t number,
                  const RecordShape& shape, std::span<std::uint8_t> out) {
  const std::uint32_t begin = number * block;
  const std::uint32_t end = std::min(begin + block, shape.k);
  std::array<bool, block> chosen{};
  std::uint32_t count = 0;
  for (std::uint32_t k = begin; k < end; ++k) {
    if (dense[k] != 0) {
      chosen[k - begin] = true;
      ++count;
    }
  }
  if (count > shape.kept()) {
    throw ModelError("block {} holds {} non-zero weights, more than the {} in {} that are kept",
                     number, count, shape.kept(), block);
  }
  for (std::uint32_t i = 0; count < shape.kept(); ++i) {
    if (chosen[i]) continue;
    chosen[i] = true;
    ++count;
  }
  std::size_t slot = std::size_t{number} * shape.kept();
  for (std::uint32_t i = 0; i < block; ++i) {
    if (!chosen[i]) continue;
    const std::int8_t value = begin + i < end ? dense[begin + i] : std::int8_t{0};
    out[slot] = static_cast<std::uint8_t>(value);
    put_index(out.subspan(shape.value_bytes()), slot, i);
    ++slot;
  }
}

}  // namespace

void quantise(std::span<const float> x, float scale, std::int32_t zero,
              std::span<std::int8_t> out) {
  const float inverse = 1.0F / scale;
  const StoreRule rule{.zero = zero};
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = store(x[i] * inverse, rule);
}

void dequantise(std::span<const std::int8_t> q, float scale, std::int32_t zero,
                std::span<float> out) {
  for (std::size_t i = 0; i < q.size(); ++i) out[i] = static_cast<float>(q[i] - zero) * scale;
}

float exp_fp32(float x) {
  // exp(x) = 2^(n / 32) * exp(r) with |r| <= ln 2 / 64; the table holds 2^(i / 32), the rest is a
  // Taylor polynomial whose first left-out term, r^7 / 5040, is below 2^-57.
  constexpr double ln2 = 0.693147180559945309417232121458;
  constexpr int steps = 32;
  static const std::array<double, steps> powers = [] {
    std::array<double, steps> table{};
    for (int i = 0; i < steps; ++i) table[static_cast<std::size_t>(i)] = std::exp2(i / 32.0);
    return table;
  }();
  if (std::isnan(x)) return x;
  if (x >= 128 * ln2) return std::numeric_limits<float>::infinity();
  if (x < -150 * ln2) return 0.0F;
  const double wide = x;
  const double n = std::nearbyint(wide * (steps / ln2));
  // ln 2 / 32 in two parts; the product with the first is exact, since n has at most 13 bits.
  constexpr double step_high = 0x1.62e42fefap-6;
  constexpr double step_low = 0x1.cf79abc9e3b3ap-45;
  const double r = (wide - n * step_high) - n * step_low;
  double p = 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  const int whole = static_cast<int>(n);
  const double fraction = powers[static_cast<std::size_t>(whole & (steps - 1))];
  const int exponent = (whole - (whole & (steps - 1))) / steps;
  return static_cast<float>(std::ldexp(fraction + fraction * (p * r), exponent));
}

void encode_record(std::span<const std::int8_t> dense, const RecordShape& shape,
                   std::span<std::uint8_t> out) {
  STEPPE_CHECK(dense.size() == shape.k && out.size() == shape.pitch(), "record of {} weights",
               dense.size());
  std::ranges::fill(out, std::uint8_t{0});
  if (shape.ratio_log2 == 0) {
    std::ranges::transform(dense, out.begin(),
                           [](std::int8_t w) { return static_cast<std::uint8_t>(w); });
    return;
  }
  for (std::uint32_t number = 0; number < shape.blocks(); ++number) {
    encode_block(dense, number, shape, out);
  }
}

void decode_record(std::span<const std::uint8_t> record, const RecordShape& shape,
                   std::vector<SparseWeight>& out) {
  if (shape.ratio_log2 == 0) {
    for (std::uint32_t k = 0; k < shape.k; ++k) {
      const auto value = static_cast<std::int8_t>(record[k]);
      if (value != 0) out.push_back({k, value});
    }
    return;
  }
  const std::span<const std::uint8_t> indices = record.subspan(shape.value_bytes());
  const std::uint32_t kept = shape.kept();
  for (std::size_t slot = 0; slot < shape.value_bytes(); ++slot) {
    const auto value = static_cast<std::int8_t>(record[slot]);
    if (value == 0) continue;
    const auto k = static_cast<std::uint32_t>(slot / kept) * block + get_index(indices, slot);
    if (k < shape.k) out.push_back({k, value});
  }
}

}  // namespace steppe::numerics
