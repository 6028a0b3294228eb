// SPDX-License-Identifier: Apache-2.0
#include "models/tensor/conv_kernel.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "models/tensor/conv_loops.h"

namespace steppe {
namespace {

constexpr std::uint32_t tile = conv_loops::tile;
constexpr std::size_t sum_bytes = 4;

template <typename T>
T load(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// An input as the loops take it.
template <typename Item>
auto widened(const std::uint8_t* from) {
  if constexpr (std::is_same_v<Item, std::int8_t>) {
    return std::int16_t{load<std::int8_t>(from)};
  } else {
    return numerics::to_float(load<Item>(from));
  }
}

/// Channels of one task, so that every worker finds some where there are few tiles.
std::uint32_t channels_a_task(const isa::Conv& conv, std::uint32_t tiles, std::size_t workers) {
  const auto wanted = static_cast<std::uint32_t>(2 * workers);  // tasks
  if (workers == 1 || tiles >= wanted) return conv.out_c;
  return std::max<std::uint32_t>(ceil_div(conv.out_c, ceil_div(wanted, tiles)), tile);
}

void locate(const isa::Conv& conv, std::uint32_t first, std::uint32_t count,
            std::vector<ConvPosition>& positions) {
  positions.clear();
  for (std::uint32_t position = first; position < first + count; ++position) {
    const std::size_t y = position / conv.out_w;
    const std::size_t x = position % conv.out_w;
    positions.push_back({.row = static_cast<std::int64_t>(y * conv.stride_h) - conv.pad_top,
                         .column = static_cast<std::int64_t>(x * conv.stride_w) - conv.pad_left,
                         .out = y * conv.out_row + x * conv.out_pixel,
                         .residual = y * conv.residual_row + x * conv.residual_pixel,
                         .partial = y * conv.partial_row + x * conv.partial_pixel});
  }
}

/// From the sums of one channel at a tile's positions to the results in memory.
class Finish {
 public:
  Finish(const isa::Conv& conv, const ConvOperands& operands,
         const std::vector<ConvPosition>& positions)
      : conv_(conv), operands_(operands), positions_(positions) {}

  template <typename Sum>
  void start(std::uint32_t channel, std::array<Sum, tile>& sums) const {
    if (conv_.has_partial == 0) {
      sums.fill(load<Sum>(operands_.scales + std::size_t{channel} * isa::scale_pair_bytes));
      return;
    }
    sums.fill(0);
    for (std::size_t p = 0; p < positions_.size(); ++p) {
      sums[p] = load<Sum>(operands_.partial + positions_[p].partial + channel * sum_bytes);
    }
  }

  template <typename Sum>
  void end(std::uint32_t channel, const std::array<Sum, tile>& sums) const {
    if (conv_.out_type == 3) {
      for (std::size_t p = 0; p < positions_.size(); ++p) put(p, channel, raw(sums[p]));
      return;
    }
    std::array<float, tile> values;
    const auto multiplier = load<float>(
        operands_.scales + std::size_t{channel} * isa::scale_pair_bytes + sizeof(std::int32_t));
    conv_loops::scale(sums.data(), multiplier, values.data());
    if (conv_.out_type == 1) {
      for (std::size_t p = 0; p < positions_.size(); ++p) {
        put(p, channel, numerics::canonical(values[p]));
      }
    } else if (conv_.out_type == 2) {
      end_bf16(channel, values);
    } else {
      end_int8(channel, values);
    }
  }

 private:
  static std::uint32_t raw(std::uint32_t sum) { return sum; }
  static float raw(float sum) { return numerics::canonical(sum); }

  template <typename T>
  void put(std::size_t p, std::uint32_t channel, T value) const {
    std::memcpy(operands_.out + positions_[p].out + std::size_t{channel} * sizeof value, &value,
                sizeof value);
  }

  void end_int8(std::uint32_t channel, std::array<float, tile>& values) const {
    if (conv_.has_residual != 0) {
      for (std::size_t p = 0; p < positions_.size(); ++p) {
        const auto r = load<std::int8_t>(operands_.residual + positions_[p].residual + channel);
        values[p] += static_cast<float>(r - conv_.residual_zero) * conv_.residual_scale;
      }
    }
    std::array<std::int8_t, tile> stored;
    conv_loops::requantise(values.data(), {conv_.out_zero, conv_.clamp_low, conv_.clamp_high},
                           stored.data());
    for (std::size_t p = 0; p < positions_.size(); ++p) {
      put(p, channel, conv_.has_lut != 0 ? operands_.lut[stored[p] + 128] : stored[p]);
    }
  }

  void end_bf16(std::uint32_t channel, std::array<float, tile>& values) const {
    for (std::size_t p = 0; p < positions_.size(); ++p) {
      float v = values[p];
      if (conv_.has_residual != 0) {
        const auto r = load<numerics::Bf16>(operands_.residual + positions_[p].residual +
                                            std::size_t{channel} * sizeof(numerics::Bf16));
        v += numerics::to_float(r) * conv_.residual_scale;
      }
      v = v < conv_.lowest ? conv_.lowest : v;
      v = v > conv_.highest ? conv_.highest : v;
      put(p, channel, numerics::to_bf16(v));
    }
  }

  const isa::Conv& conv_;
  const ConvOperands& operands_;
  const std::vector<ConvPosition>& positions_;
};

}  // namespace

numerics::RecordShape record_shape(const isa::Conv& conv) {
  return {.k = conv.kernel_h * conv.kernel_w * conv.in_c,
          .encoding = static_cast<numerics::Encoding>(conv.encoding),
          .kept = conv.kept,
          .item_bytes = conv.in_type == 0 ? 1U : 2U};
}

std::span<const std::uint8_t> record_of(const isa::Conv& conv, const numerics::RecordShape& shape,
                                        const std::uint8_t* records, std::uint32_t channel) {
  const Bytes bytes =
      shape.encoding == numerics::Encoding::bitmap ? conv.weight_pitch : shape.bytes();
  return {records + std::size_t{channel} * conv.weight_pitch, bytes};
}

template <typename Item>
void DecodedWeights<Item>::decode(const isa::Conv& conv, const std::uint8_t* records,
                                  Workers& workers) {
  constexpr std::uint32_t a_task = 32;  // channels: enough that handing them out weighs little
  const numerics::RecordShape shape = record_shape(conv);
  room_ = shape.encoding == numerics::Encoding::indexed ? std::size_t{shape.blocks()} * shape.kept
                                                        : shape.k;
  weights_.resize(room_ * conv.out_c);
  counts_.resize(conv.out_c);
  workers.run(ceil_div(conv.out_c, a_task), [&](std::size_t task, std::size_t) {
    const auto begin = static_cast<std::uint32_t>(task) * a_task;
    for (std::uint32_t c = begin; c < std::min(begin + a_task, conv.out_c); ++c) {
      counts_[c] = numerics::decode_record<Item>(record_of(conv, shape, records, c), shape,
                                                 &weights_[c * room_]);
    }
  });
}

/// Lays the inputs of the tile's positions out as [k][tile]; unused columns hold zeros.
template <typename Item>
void ConvKernel<Item>::gather(const isa::Conv& conv, const ConvOperands& operands,
                              std::uint32_t group, Scratch& scratch) const {
  const auto padding =
      std::is_same_v<Item, std::int8_t> ? static_cast<Activation>(conv.in_zero) : Activation{0};
  auto& activations = scratch.activations;
  if (scratch.positions.size() < tile) std::ranges::fill(activations, Activation{0});
  const std::size_t tap = std::size_t{conv.in_c} * tile;
  for (std::size_t p = 0; p < scratch.positions.size(); ++p) {
    Activation* to = activations.data() + p;
    std::int64_t row = scratch.positions[p].row;
    for (std::uint32_t ky = 0; ky < conv.kernel_h; ++ky, row += conv.dilation_h) {
      std::int64_t column = scratch.positions[p].column;
      for (std::uint32_t kx = 0; kx < conv.kernel_w; ++kx, column += conv.dilation_w, to += tap) {
        if (row < 0 || row >= conv.in_h || column < 0 || column >= conv.in_w) {
          for (std::size_t c = 0; c < tap; c += tile) to[c] = padding;
          continue;
        }
        const std::uint8_t* from = operands.in + row * conv.in_row + column * conv.in_pixel +
                                   std::size_t{group} * conv.in_c * sizeof(Item);
        for (std::size_t c = 0; c < tap; c += tile, from += sizeof(Item)) {
          to[c] = widened<Item>(from);
        }
      }
    }
  }
}

/// Channels [begin, end) at the positions of the tile.
template <typename Item>
void ConvKernel<Item>::compute_tile(const isa::Conv& conv, const ConvOperands& operands,
                                    std::uint32_t begin, std::uint32_t end,
                                    Scratch& scratch) const {
  using Sum = std::conditional_t<std::is_same_v<Item, std::int8_t>, std::uint32_t, float>;
  const std::uint32_t group_channels = conv.out_c / conv.groups;
  const Finish finish(conv, operands, scratch.positions);
  std::uint32_t gathered = conv.groups;  // none
  for (std::uint32_t channel = begin; channel < end; ++channel) {
    if (const std::uint32_t group = channel / group_channels; group != gathered) {
      gather(conv, operands, group, scratch);
      gathered = group;
    }
    std::array<Sum, tile> sums;
    finish.start(channel, sums);
    const auto weights = weights_.channel(channel);
    conv_loops::accumulate(weights.data(), weights.data() + weights.size(),
                           scratch.activations.data(), sums.data());
    finish.end(channel, sums);
  }
}

template <typename Item>
void ConvKernel<Item>::run(const isa::Conv& conv, const ConvOperands& operands) {
  weights_.decode(conv, operands.weights, workers_);
  const std::uint32_t positions = conv.out_h * conv.out_w;
  const std::uint32_t tiles = ceil_div(positions, tile);
  const std::uint32_t channels = channels_a_task(conv, tiles, workers_.count());
  const std::uint32_t parts = ceil_div(conv.out_c, channels);
  const std::size_t k = std::size_t{conv.kernel_h} * conv.kernel_w * conv.in_c;
  workers_.run(std::size_t{tiles} * parts, [&](std::size_t task, std::size_t worker) {
    Scratch& scratch = scratch_[worker];
    scratch.activations.resize(k * tile);
    const auto first = static_cast<std::uint32_t>(task / parts) * tile;
    locate(conv, first, std::min(tile, positions - first), scratch.positions);
    const auto begin = static_cast<std::uint32_t>(task % parts) * channels;
    compute_tile(conv, operands, begin, std::min(begin + channels, conv.out_c), scratch);
  });
}

template class DecodedWeights<std::int8_t>;
template class DecodedWeights<numerics::Bf16>;
template class ConvKernel<std::int8_t>;
template class ConvKernel<numerics::Bf16>;

}  // namespace steppe
