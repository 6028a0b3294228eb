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

// Vectors by name: left to itself the compiler jams two weights into one scalar loop here.
using Halves16 = std::int16_t __attribute__((vector_size(32)));
using Words16 = std::uint32_t __attribute__((vector_size(64)));
constexpr std::uint32_t vectors = tile / 16;

/// sums[p] += sum over the weights of value * activations[k][p]
STEPPE_VECTOR_CODE
void accumulate(const numerics::SparseWeight* weight, const numerics::SparseWeight* end,
                const std::int16_t* activations, std::uint32_t* sums) {
  Words16 local[vectors];
  std::memcpy(local, sums, sizeof local);
  for (; weight != end; ++weight) {
    const std::int16_t* row = activations + std::size_t{weight->k} * tile;
    const auto value = static_cast<std::uint32_t>(std::int32_t{weight->value});
    for (std::uint32_t v = 0; v < vectors; ++v) {
      Halves16 halves;
      std::memcpy(&halves, row + std::size_t{v} * 16, sizeof halves);
      local[v] += value * __builtin_convertvector(halves, Words16);
    }
  }
  std::memcpy(sums, local, sizeof local);
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

std::int16_t widen(std::int8_t value) { return value; }

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

void ConvKernel::locate(const isa::Conv& conv, std::uint32_t first, std::uint32_t count) {
  positions_.clear();
  for (std::uint32_t position = first; position < first + count; ++position) {
    const std::uint32_t y = position / conv.out_w;
    const std::uint32_t x = position % conv.out_w;
    positions_.push_back(
        {.row = std::int64_t{y} * conv.stride_h - conv.pad_top,
         .column = std::int64_t{x} * conv.stride_w - conv.pad_left,
         .out = std::size_t{y} * conv.out_row + std::size_t{x} * conv.out_pixel,
         .residual = std::size_t{y} * conv.residual_row + std::size_t{x} * conv.residual_pixel});
  }
}

/// Lays the inputs of the tile's positions out as [k][tile]; unused columns hold zeros.
void ConvKernel::gather(const isa::Conv& conv, const ConvOperands& operands, std::uint32_t group) {
  if (positions_.size() < tile) std::ranges::fill(activations_, std::int16_t{0});
  const std::size_t tap = std::size_t{conv.in_c} * tile;
  for (std::size_t p = 0; p < positions_.size(); ++p) {
    std::int16_t* to = activations_.data() + p;
    std::int64_t row = positions_[p].row;
    for (std::uint32_t ky = 0; ky < conv.kernel_h; ++ky, row += conv.dilation_h) {
      std::int64_t column = positions_[p].column;
      for (std::uint32_t kx = 0; kx < conv.kernel_w; ++kx, column += conv.dilation_w, to += tap) {
        if (row < 0 || row >= conv.in_h || column < 0 || column >= conv.in_w) {
          for (std::size_t c = 0; c < tap; c += tile)
            to[c] = static_cast<std::int16_t>(conv.in_zero);
          continue;
        }
        const std::int8_t* from = operands.in + row * conv.in_row + column * conv.in_pixel +
                                  std::size_t{group} * conv.in_c;
        for (std::size_t c = 0; c < tap; c += tile) to[c] = widen(*from++);
      }
    }
  }
}

void ConvKernel::finish(const isa::Conv& conv, const ConvOperands& operands, std::uint32_t channel,
                        const std::int32_t* sums) const {
  const std::uint8_t* pair = operands.scales + std::size_t{channel} * isa::scale_pair_bytes;
  const auto multiplier = load<float>(pair + sizeof(std::int32_t));
  const std::size_t count = positions_.size();
  if (conv.out_type == 1) {
    for (std::size_t p = 0; p < count; ++p) {
      const float value = static_cast<float>(sums[p]) * multiplier;
      std::memcpy(operands.out + positions_[p].out + std::size_t{channel} * sizeof value, &value,
                  sizeof value);
    }
    return;
  }
  const numerics::StoreRule rule{conv.out_zero, conv.clamp_low, conv.clamp_high};
  std::array<std::int8_t, tile> stored;
  if (conv.has_residual != 0) {
    std::array<float, tile> residual{};
    for (std::size_t p = 0; p < count; ++p) {
      const std::int8_t r = operands.residual[positions_[p].residual + channel];
      residual[p] = static_cast<float>(r - conv.residual_zero) * conv.residual_scale;
    }
    requantise(sums, multiplier, residual.data(), rule, stored.data());
  } else {
    requantise(sums, multiplier, rule, stored.data());
  }
  for (std::size_t p = 0; p < count; ++p) {
    const std::int8_t q = conv.has_lut != 0 ? operands.lut[stored[p] + 128] : stored[p];
    operands.out[positions_[p].out + channel] = static_cast<std::uint8_t>(q);
  }
}

void ConvKernel::run(const isa::Conv& conv, const ConvOperands& operands) {
  decode_weights(conv, operands);
  const std::uint32_t positions = conv.out_h * conv.out_w;
  const std::uint32_t channels = conv.out_c / conv.groups;
  activations_.resize(std::size_t{conv.kernel_h} * conv.kernel_w * conv.in_c * tile);
  for (std::uint32_t first = 0; first < positions; first += tile) {
    locate(conv, first, std::min(tile, positions - first));
    for (std::uint32_t group = 0; group < conv.groups; ++group) {
      gather(conv, operands, group);
      for (std::uint32_t channel = group * channels; channel < (group + 1) * channels; ++channel) {
        Sums sums;
        sums.fill(
            load<std::uint32_t>(operands.scales + std::size_t{channel} * isa::scale_pair_bytes));
        accumulate(weights_.data() + first_weight_[channel],
                   weights_.data() + first_weight_[channel + 1], activations_.data(), sums.data());
        const auto wrapped = std::bit_cast<std::array<std::int32_t, tile>>(sums);
        finish(conv, operands, channel, wrapped.data());
      }
    }
  }
}

}  // namespace steppe
