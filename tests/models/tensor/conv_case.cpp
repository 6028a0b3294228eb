// SPDX-License-Identifier: Apache-2.0
#include "tests/models/tensor/conv_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace steppe::test {
namespace {

/// Room for a record; bitmap records get a random share of what a full one takes.
std::uint32_t record_bytes(Random& random, const ConvCase& c) {
  const std::uint32_t item = in_bytes(c.conv);
  if (c.conv.encoding == 0) return c.k() * item;
  if (c.conv.encoding == 2) return c.blocks() * 4 + draw(random, 0, c.k()) * item;
  const std::uint32_t values = c.blocks() * c.conv.kept;
  return values * item + (values * 5 + 7) / 8;
}

/// Random values at random rising indices, no value behind K; random bytes are dense records as
/// they are, and bitmap records as well but for masks that mark more than there is.
void fill_record(Random& random, const ConvCase& c, std::uint8_t* record) {
  if (c.conv.encoding == 2) {
    for (std::uint32_t block = 0; block < c.blocks() && draw(random, 0, 3) != 0; ++block) {
      const std::uint32_t sparse = static_cast<std::uint32_t>(random() & random() & random());
      std::memcpy(record + std::size_t{block} * 4, &sparse, 4);
    }
    return;
  }
  if (c.conv.encoding == 0) return;
  const std::uint32_t item = in_bytes(c.conv);
  const std::uint32_t values = c.blocks() * c.conv.kept;
  std::uint8_t* packed_indices = record + std::size_t{values} * item;
  std::memset(packed_indices, 0, (values * 5 + 7) / 8);
  for (std::uint32_t block = 0; block < c.blocks(); ++block) {
    std::vector<std::uint32_t> indices(32);
    std::iota(indices.begin(), indices.end(), 0U);
    std::ranges::shuffle(indices, random);
    indices.resize(c.conv.kept);
    std::ranges::sort(indices);
    for (std::uint32_t i = 0; i < indices.size(); ++i) {
      const std::uint32_t slot = block * c.conv.kept + i;
      if (block * 32 + indices[i] >= c.k() || random() % 8 == 0) {
        std::memset(record + std::size_t{slot} * item, 0, item);
      }
      for (std::uint32_t bit = 0; bit < 5; ++bit) {
        const std::uint32_t at = slot * 5 + bit;
        if ((indices[i] >> bit) & 1U) {
          packed_indices[at / 8] |= static_cast<std::uint8_t>(1U << at % 8);
        }
      }
    }
  }
}

/// Mostly results across the int8 range, sometimes any bits at all.
void fill_pairs(Random& random, const ConvCase& c, std::uint8_t* pairs) {
  const double spread =
      74.0 * 74.0 * std::sqrt(c.k() * (c.conv.encoding == 1 ? c.conv.kept / 32.0 : 1.0));
  for (std::uint32_t channel = 0; channel < c.conv.out_c; ++channel, pairs += 8) {
    auto bias = static_cast<std::int32_t>(random());
    auto multiplier = static_cast<float>(80.0 / (spread + 1));
    if (random() % 4 != 0) bias %= static_cast<std::int32_t>(spread) + 1;
    if (random() % 16 == 0) {
      const std::uint32_t bits = static_cast<std::uint32_t>(random());
      std::memcpy(&multiplier, &bits, 4);
    }
    std::memcpy(pairs, &bias, 4);
    std::memcpy(pairs + 4, &multiplier, 4);
  }
}

}  // namespace

isa::Conv same_conv(std::uint32_t height, std::uint32_t width, std::uint32_t in_c,
                    std::uint32_t out_c, std::uint32_t kernel, std::uint32_t ratio_log2) {
  isa::Conv conv;
  conv.in_h = conv.out_h = height;
  conv.in_w = conv.out_w = width;
  conv.in_c = in_c;
  conv.out_c = out_c;
  conv.kernel_h = conv.kernel_w = kernel;
  conv.stride_h = conv.stride_w = conv.dilation_h = conv.dilation_w = conv.groups = 1;
  conv.pad_left = kernel / 2;
  conv.pad_top = static_cast<std::int32_t>(kernel / 2);
  conv.clamp_low = -128;
  conv.clamp_high = 127;
  conv.lowest = -std::numeric_limits<float>::infinity();
  conv.highest = std::numeric_limits<float>::infinity();
  set_ratio(conv, ratio_log2);
  return conv;
}

void set_ratio(isa::Conv& conv, std::uint32_t ratio_log2) {
  conv.encoding = ratio_log2 == 0 ? 0 : 1;
  conv.kept = 32U >> ratio_log2;
}

std::uint32_t in_bytes(const isa::Conv& conv) { return conv.in_type == 0 ? 1 : 2; }
std::uint32_t out_bytes(const isa::Conv& conv) {
  return conv.out_type == 0 ? 1 : conv.out_type == 2 ? 2 : 4;
}

ConvCase place(Random& random, isa::Conv conv, std::uint32_t slack) {
  const auto some = [&] { return slack == 0 ? 0 : static_cast<std::uint32_t>(random() % slack); };
  const std::uint32_t item = out_bytes(conv);
  ConvCase c{conv, {}};
  c.conv.in_pixel = conv.in_c * conv.groups * in_bytes(conv) + some();
  c.conv.in_row = conv.in_w * c.conv.in_pixel + some();
  c.conv.out_pixel = conv.out_c * item + some();
  c.conv.out_row = conv.out_w * c.conv.out_pixel + some();
  c.conv.partial_pixel = conv.out_c * 4 + some();
  c.conv.partial_row = conv.out_w * c.conv.partial_pixel + some();
  c.conv.residual_pixel = conv.out_c * item + some();
  c.conv.residual_row = conv.out_w * c.conv.residual_pixel + some();
  c.conv.weight_pitch = (record_bytes(random, c) + 15) / 16 * 16;
  std::uint64_t end = some();
  const auto take = [&](std::uint64_t& offset, std::uint64_t bytes) {
    offset = end;
    end += bytes + some();
  };
  take(c.conv.in_offset, std::uint64_t{conv.in_h} * c.conv.in_row);
  take(c.conv.weights_offset, std::uint64_t{conv.out_c} * c.conv.weight_pitch);
  take(c.conv.scales_offset, std::uint64_t{conv.out_c} * 8);
  take(c.conv.residual_offset, std::uint64_t{conv.out_h} * c.conv.residual_row);
  take(c.conv.lut_offset, 256);
  take(c.conv.partial_offset, std::uint64_t{conv.out_h} * c.conv.partial_row);
  take(c.conv.out_offset, std::uint64_t{conv.out_h} * c.conv.out_row);
  c.memory.resize(end);
  for (std::uint8_t& byte : c.memory) byte = static_cast<std::uint8_t>(random());
  for (std::uint32_t channel = 0; channel < conv.out_c; ++channel) {
    fill_record(
        random, c,
        c.memory.data() + c.conv.weights_offset + std::size_t{channel} * c.conv.weight_pitch);
  }
  fill_pairs(random, c, c.memory.data() + c.conv.scales_offset);
  return c;
}

ConvCase random_case(Random& random) {
  isa::Conv conv;
  const bool depthwise = random() % 4 == 0;
  conv.groups = depthwise ? draw(random, 1, 40) : draw(random, 1, 3);
  conv.in_c = depthwise ? 1 : draw(random, 1, 48);
  conv.out_c = conv.groups * (depthwise ? draw(random, 1, 2) : draw(random, 1, 20));
  conv.in_h = draw(random, 1, 9);
  conv.in_w = draw(random, 1, 12);
  conv.out_h = draw(random, 1, 6);
  conv.out_w = draw(random, 1, 13);
  conv.kernel_h = draw(random, 1, 4);
  conv.kernel_w = draw(random, 1, 4);
  conv.stride_h = draw(random, 1, 3);
  conv.stride_w = draw(random, 1, 3);
  conv.dilation_h = draw(random, 1, 2);
  conv.dilation_w = draw(random, 1, 2);
  conv.pad_top = static_cast<std::int32_t>(draw(random, 0, 6)) - 3;
  conv.pad_left = draw(random, 0, 3);
  conv.encoding = draw(random, 0, 2);
  conv.kept = draw(random, 1, 32);
  conv.in_type = random() % 3 == 0 ? 1 : 0;
  conv.has_residual = random() % 2;
  conv.has_lut = random() % 2;
  conv.has_partial = random() % 4 == 0 ? 1 : 0;
  conv.out_type = random() % 2 == 0 ? draw(random, 0, 3) : 2 * conv.in_type;
  conv.lowest = random() % 2 == 0 ? -std::numeric_limits<float>::infinity() : -1.5F;
  conv.highest = random() % 2 == 0 ? std::numeric_limits<float>::infinity() : 300.0F;
  conv.in_zero = static_cast<std::int8_t>(random());
  conv.out_zero = static_cast<std::int8_t>(random());
  conv.residual_zero = static_cast<std::int8_t>(random());
  conv.residual_scale = static_cast<float>(draw(random, 0, 100)) / 64.0F;
  const auto a = static_cast<std::int8_t>(random());
  const auto b = static_cast<std::int8_t>(random());
  conv.clamp_low = random() % 2 == 0 ? -128 : std::min(a, b);
  conv.clamp_high = random() % 2 == 0 ? 127 : std::max(a, b);
  return place(random, conv, 7);
}

ConvOperands operands_of(ConvCase& c) {
  std::uint8_t* memory = c.memory.data();
  return {.in = memory + c.conv.in_offset,
          .weights = memory + c.conv.weights_offset,
          .scales = memory + c.conv.scales_offset,
          .out = memory + c.conv.out_offset,
          .residual = memory + c.conv.residual_offset,
          .lut = reinterpret_cast<const std::int8_t*>(memory + c.conv.lut_offset),
          .partial = memory + c.conv.partial_offset};
}

}  // namespace steppe::test
