// SPDX-License-Identifier: Apache-2.0
#include "tests/models/tensor/conv_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace steppe::test {
namespace {

std::uint32_t kept(const isa::Conv& conv) { return 32U >> conv.ratio_log2; }

std::uint32_t record_bytes(const ConvCase& c) {
  if (c.conv.ratio_log2 == 0) return c.k();
  const std::uint32_t values = c.blocks() * kept(c.conv);
  return values + (values * 5 + 7) / 8;
}

/// Random values at random rising indices, no value behind K.
void fill_record(Random& random, const ConvCase& c, std::uint8_t* record) {
  const std::uint32_t values = c.blocks() * kept(c.conv);
  if (c.conv.ratio_log2 == 0) return;  // random bytes will do
  std::memset(record + values, 0, (values * 5 + 7) / 8);
  for (std::uint32_t block = 0; block < c.blocks(); ++block) {
    std::vector<std::uint32_t> indices(32);
    std::iota(indices.begin(), indices.end(), 0U);
    std::ranges::shuffle(indices, random);
    indices.resize(kept(c.conv));
    std::ranges::sort(indices);
    for (std::uint32_t i = 0; i < indices.size(); ++i) {
      const std::uint32_t slot = block * kept(c.conv) + i;
      if (block * 32 + indices[i] >= c.k() || random() % 8 == 0) record[slot] = 0;
      for (std::uint32_t bit = 0; bit < 5; ++bit) {
        const std::uint32_t at = slot * 5 + bit;
        if ((indices[i] >> bit) & 1U) {
          record[values + at / 8] |= static_cast<std::uint8_t>(1U << at % 8);
        }
      }
    }
  }
}

/// Mostly results across the int8 range, sometimes any bits at all.
void fill_pairs(Random& random, const ConvCase& c, std::uint8_t* pairs) {
  const double spread =
      74.0 * 74.0 * std::sqrt(c.k() / static_cast<double>(1U << c.conv.ratio_log2));
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
  conv.ratio_log2 = ratio_log2;
  conv.clamp_low = -128;
  conv.clamp_high = 127;
  return conv;
}

ConvCase place(Random& random, isa::Conv conv, std::uint32_t slack) {
  const auto some = [&] { return slack == 0 ? 0 : static_cast<std::uint32_t>(random() % slack); };
  const std::uint32_t item = conv.out_type == 1 ? 4 : 1;
  ConvCase c{conv, {}};
  c.conv.in_pixel = conv.in_c * conv.groups + some();
  c.conv.in_row = conv.in_w * c.conv.in_pixel + some();
  c.conv.out_pixel = conv.out_c * item + some();
  c.conv.out_row = conv.out_w * c.conv.out_pixel + some();
  c.conv.residual_pixel = conv.out_c + some();
  c.conv.residual_row = conv.out_w * c.conv.residual_pixel + some();
  c.conv.weight_pitch = (record_bytes(c) + 15) / 16 * 16;
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
  conv.ratio_log2 = draw(random, 0, 5);
  conv.has_residual = random() % 2;
  conv.has_lut = random() % 2;
  conv.out_type = random() % 4 == 0 ? 1 : 0;
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
  const auto values = [&](std::uint64_t offset) {
    return reinterpret_cast<const std::int8_t*>(memory + offset);
  };
  return {.in = values(c.conv.in_offset),
          .weights = memory + c.conv.weights_offset,
          .scales = memory + c.conv.scales_offset,
          .out = memory + c.conv.out_offset,
          .residual = values(c.conv.residual_offset),
          .lut = values(c.conv.lut_offset)};
}

}  // namespace steppe::test
