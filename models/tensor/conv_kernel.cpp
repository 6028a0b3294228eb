// SPDX-License-Identifier: Apache-2.0
#include "models/tensor/conv_kernel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace steppe {
namespace {

constexpr std::uint32_t tile = ConvKernel::tile;
using Sums = std::array<std::uint32_t, tile>;

// The inner loops are compiled for several instruction sets, and the processor's best is chosen
// when the program starts. Integer sums wrap, so that all give the same bits.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define STEPPE_VECTOR_CODE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define STEPPE_VECTOR_CODE
#endif

/// sums[p] += sum over the weights of value * activations[k][p]
STEPPE_VECTOR_CODE
void accumulate(const numerics::SparseWeight* weight, const numerics::SparseWeight* end,
                const std::int8_t* activations, std::uint32_t* sums) {
  std::uint32_t local[tile];
  for (std::uint32_t p = 0; p < tile; ++p) local[p] = sums[p];
  for (; weight != end; ++weight) {
    const std::int8_t* row = activations + std::size_t{weight->k} * tile;
    const std::int32_t value = weight->value;
    for (std::uint32_t p = 0; p < tile; ++p) {
      local[p] += static_cast<std::uint32_t>(value * static_cast<std::int32_t>(row[p]));
    }
  }
  for (std::uint32_t p = 0; p < tile; ++p) sums[p] = local[p];
}

STEPPE_VECTOR_CODE
void requantise(const std::int32_t* sums, float multiplier, const float* residual,
                numerics::StoreRule rule, std::int8_t* out) {
  for (std::uint32_t p = 0; p < tile; ++p) {
    out[p] = numerics::store(static_cast<float>(sums[p]) * multiplier + residual[p], rule);
  }
}

STEPPE_VECTOR_CODE
void requantise(const std::int32_t* sums, float multiplier, numerics::StoreRule rule,
                std::int8_t* out) {
  for (std::uint32_t p = 0; p < tile; ++p) {
    out[p] = numerics::store(static_cast<float>(sums[p]) * multiplier, rule);
  }
}

template <typename T>
T load(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

void ConvKernel::decode_weights(const isa::Conv& conv, const ConvOperands& operands) {
  const numerics::RecordShape shape{conv.kernel_h * conv.kernel_w * conv.in_c, conv.ratio_log2};
  const Bytes bytes = shape.value_bytes() + shape.index_bytes();
  weights_.clear();
  first_weight_.assign(1, 0);
  for (std::uint32_t channel = 0; channel < conv.out_c; ++channel) {
    const std::uint8_t* record = operands.weights + std::size_t{channel} * conv.weight_pitch;
    numerics::decode_record({record, bytes}, shape, weights_);
    first_weight_.push_back(weights_.size());
  }
}

/// Lays the inputs of `count` positions out as [k][tile]; unused columns hold zeros.
void ConvKernel::gather(const isa::Conv& conv, const ConvOperands& operands, std::uint32_t group,
                        std::uint32_t first, std::uint32_t count) {
  const auto zero = static_cast<std::int8_t>(conv.in_zero);
  if (count < tile) std::ranges::fill(activations_, std::int8_t{0});
  for (std::uint32_t p = 0; p < count; ++p) {
    const std::uint32_t y = (first + p) / conv.out_w;
    const std::uint32_t x = (first + p) % conv.out_w;
    std::int8_t* to = activations_.data() + p;
    for (std::uint32_t ky = 0; ky < conv.kernel_h; ++ky) {
      const std::int64_t row =
          std::int64_t{y} * conv.stride_h + std::int64_t{ky} * conv.dilation_h - conv.pad_top;
      for (std::uint32_t kx = 0; kx < conv.kernel_w; ++kx, to += std::size_t{conv.in_c} * tile) {
        const std::int64_t column =
            std::int64_t{x} * conv.stride_w + std::int64_t{kx} * conv.dilation_w - conv.pad_left;
        if (row < 0 || row >= conv.in_h || column < 0 || column >= conv.in_w) {
          for (std::uint32_t c = 0; c < conv.in_c; ++c) to[std::size_t{c} * tile] = zero;
          continue;
        }
        const std::int8_t* from = operands.in + row * conv.in_row + column * conv.in_pixel +
                                  std::size_t{group} * conv.in_c;
        for (std::uint32_t c = 0; c < conv.in_c; ++c) to[std::size_t{c} * tile] = from[c];
      }
    }
  }
}

void ConvKernel::finish(const isa::Conv& conv, const ConvOperands& operands, std::uint32_t channel,
                        std::uint32_t first, std::uint32_t count, const std::int32_t* sums) const {
  const std::uint8_t* pair = operands.scales + std::size_t{channel} * isa::scale_pair_bytes;
  const auto multiplier = load<float>(pair + sizeof(std::int32_t));
  const auto place = [&](std::uint32_t p, std::size_t row_pitch, std::size_t pixel_pitch) {
    const std::uint32_t position = first + p;
    return position / conv.out_w * row_pitch + position % conv.out_w * pixel_pitch;
  };
  if (conv.out_type == 1) {
    for (std::uint32_t p = 0; p < count; ++p) {
      const float value = static_cast<float>(sums[p]) * multiplier;
      std::memcpy(operands.out + place(p, conv.out_row, conv.out_pixel) +
                      std::size_t{channel} * sizeof(float),
                  &value, sizeof value);
    }
    return;
  }
  const numerics::StoreRule rule{conv.out_zero, conv.clamp_low, conv.clamp_high};
  std::array<std::int8_t, tile> stored;
  if (conv.has_residual != 0) {
    std::array<float, tile> residual{};
    for (std::uint32_t p = 0; p < count; ++p) {
      const std::int8_t r =
          operands.residual[place(p, conv.residual_row, conv.residual_pixel) + channel];
      residual[p] = static_cast<float>(r - conv.residual_zero) * conv.residual_scale;
    }
    requantise(sums, multiplier, residual.data(), rule, stored.data());
  } else {
    requantise(sums, multiplier, rule, stored.data());
  }
  for (std::uint32_t p = 0; p < count; ++p) {
    const std::int8_t q = conv.has_lut != 0 ? operands.lut[stored[p] + 128] : stored[p];
    operands.out[place(p, conv.out_row, conv.out_pixel) + channel] = static_cast<std::uint8_t>(q);
  }
}

void ConvKernel::run(const isa::Conv& conv, const ConvOperands& operands) {
  decode_weights(conv, operands);
  const std::uint32_t positions = conv.out_h * conv.out_w;
  const std::uint32_t channels = conv.out_c / conv.groups;
  activations_.resize(std::size_t{conv.kernel_h} * conv.kernel_w * conv.in_c * tile);
  for (std::uint32_t first = 0; first < positions; first += tile) {
    const std::uint32_t count = std::min(tile, positions - first);
    for (std::uint32_t group = 0; group < conv.groups; ++group) {
      gather(conv, operands, group, first, count);
      for (std::uint32_t channel = group * channels; channel < (group + 1) * channels; ++channel) {
        Sums sums;
        sums.fill(
            load<std::uint32_t>(operands.scales + std::size_t{channel} * isa::scale_pair_bytes));
        accumulate(weights_.data() + first_weight_[channel],
                   weights_.data() + first_weight_[channel + 1], activations_.data(), sums.data());
        const auto wrapped = std::bit_cast<std::array<std::int32_t, tile>>(sums);
        finish(conv, operands, channel, first, count, wrapped.data());
      }
    }
  }
}

}  // namespace steppe
