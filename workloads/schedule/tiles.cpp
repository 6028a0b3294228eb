// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/tiles.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "models/base/error.h"
#include "models/numerics/numerics.h"
#include "workloads/schedule/allocate.h"
#include "workloads/schedule/cost.h"

namespace steppe::schedule {
namespace {

/// What one stream buffer holds at most: enough that the start of a copy weighs nothing, little
/// enough that the first tile of a run is soon there.
constexpr Bytes stream_buffer_limit = Bytes{2} << 20;

/// Output channels of an instruction: its field holds 16 bits.
constexpr std::uint64_t most_channels = 0xffff;

constexpr Bytes part_alignment = 16;
constexpr Bytes lut_bytes = 256;

/// How many of `count` weights from `begin` on are not zero.
std::uint64_t count_weights(const net::Weights& weights, std::size_t begin, std::size_t count) {
  const auto counted = [&](const auto& all) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto zeros = std::count(first, first + static_cast<std::ptrdiff_t>(count), 0);
    return count - static_cast<std::uint64_t>(zeros);
  };
  return weights.int8 ? counted(*weights.int8) : counted(*weights.bf16);
}

/// Bytes from record to record: all of a layer's are as long as its longest.
Bytes record_pitch(const net::Net& network, const net::Conv& conv) {
  const numerics::RecordShape shape = record_shape(network, conv);
  if (shape.encoding != numerics::Encoding::bitmap) return shape.pitch();
  auto most = static_cast<std::uint64_t>(std::ceil(shape.k * conv.sparsity.density));
  if (conv.weights.has_data()) {
    most = 0;
    for (std::size_t at = 0; at < conv.weights.size; at += shape.k) {
      most = std::max(most, count_weights(conv.weights, at, shape.k));
    }
  }
  return shape.pitch(most);
}

Tile conv_tile(const net::Conv& conv, Bytes pitch, std::uint32_t layer, std::uint32_t begin,
               std::uint32_t end) {
  Tile tile{.layer = layer, .channel_begin = begin, .channel_end = end};
  const std::uint32_t channels = end - begin;
  tile.scales_offset = channels * pitch;
  tile.bytes = tile.scales_offset + channels * isa::scale_pair_bytes;
  if (conv.lut.size != 0) {
    tile.lut_offset = align_up(tile.bytes, part_alignment);
    tile.bytes = tile.lut_offset + lut_bytes;
  }
  return tile;
}

/// The constants of a layer as one tile; a tile of no bytes where it has none.
Tile whole_tile(const net::Net& network, std::uint32_t index) {
  const net::Layer& layer = network.layers[index];
  Tile tile{.layer = index};
  if (const auto* conv = std::get_if<net::Conv>(&layer.op)) {
    return conv_tile(*conv, record_pitch(network, *conv), index, 0,
                     network.tensor(conv->out).shape.c);
  }
  if (const auto* matmul = std::get_if<net::MatMul>(&layer.op)) {
    tile.channel_end = network.tensor(matmul->out).shape.c;
    tile.bytes = Bytes{tile.channel_end} * isa::scale_pair_bytes;
  } else if (std::holds_alternative<net::Lut>(layer.op)) {
    tile.bytes = lut_bytes;
  } else if (const auto* norm = std::get_if<net::LayerNorm>(&layer.op)) {
    tile.bytes = (norm->gain.size + norm->shift.size) * sizeof(float);
  } else if (const auto* map = std::get_if<net::Map>(&layer.op)) {
    for (const net::Operand& operand : map->operands) {
      tile.bytes += operand.constant.size * sizeof(float);
    }
  }
  return tile;
}

/// What a layer's constants take where they stay in SRAM, in several tiles if they have to be.
Bytes resident_bytes(const net::Net& network, std::uint32_t index) {
  const Tile whole = whole_tile(network, index);
  const std::uint64_t more = whole.channel_end / most_channels;
  return align_up(whole.bytes, sram_alignment) +
         more * align_up(part_alignment + lut_bytes + sram_alignment, sram_alignment);
}

/// Tiles of at most `limit` bytes, of whole lane groups. A grouped convolution stays whole.
std::vector<Tile> split_conv(const net::Net& network, const Target& target, std::uint32_t index,
                             const net::Conv& conv, Bytes limit) {
  const std::uint32_t channels = network.tensor(conv.out).shape.c;
  const Bytes pitch = record_pitch(network, conv);
  const Bytes per_channel = pitch + isa::scale_pair_bytes;
  const Bytes room = limit - (part_alignment + lut_bytes);
  const std::uint64_t fitting =
      std::min(most_channels, room / per_channel) / target.lanes * target.lanes;
  if (fitting == 0 || (conv.groups > 1 && fitting < channels)) {
    throw ModelError(
        "layer '{}': the weights of {} output channels do not fit the {} bytes of SRAM that are "
        "left to stream "
        "weights through; more SRAM or a higher sparsity would do",
        network.layers[index].name, conv.groups > 1 ? channels : target.lanes, limit);
  }
  std::vector<Tile> tiles;
  for (std::uint64_t begin = 0; begin < channels; begin += fitting) {
    const std::uint64_t end = std::min<std::uint64_t>(channels, begin + fitting);
    tiles.push_back(conv_tile(conv, pitch, index, static_cast<std::uint32_t>(begin),
                              static_cast<std::uint32_t>(end)));
  }
  return tiles;
}

/// How many weights the blocks of a tile's records hold.
package::WeightPattern tile_pattern(const net::Net& network, const net::Conv& conv,
                                    const Tile& tile) {
  const numerics::RecordShape shape = record_shape(network, conv);
  package::WeightPattern pattern{.channels = tile.channel_end - tile.channel_begin,
                                 .blocks = shape.blocks(),
                                 .density = conv.sparsity.density};
  if (!conv.weights.has_data()) return pattern;
  for (std::uint32_t channel = tile.channel_begin; channel < tile.channel_end; ++channel) {
    const std::size_t row = std::size_t{channel} * shape.k;
    for (std::uint32_t begin = 0; begin < shape.k; begin += numerics::block) {
      const std::uint32_t weights = std::min(numerics::block, shape.k - begin);
      pattern.counts.push_back(
          static_cast<std::uint8_t>(count_weights(conv.weights, row + begin, weights)));
    }
  }
  return pattern;
}

/// The largest part of a DRAM-resident operand that a cluster reads in one step.
Bytes largest_cache_part(const net::Net& network, const ShardPlan& plan) {
  Bytes largest = 0;
  for (const std::uint32_t i : plan.layers) {
    const auto* matmul = std::get_if<net::MatMul>(&network.layers[i].op);
    if (matmul == nullptr || !network.tensor(matmul->b).resident_in_dram) continue;
    for (std::uint32_t cluster = 0; cluster < plan.participants; ++cluster) {
      const RowRange work = plan.work(network, network.layers[i], cluster);
      largest = std::max(largest, cache_part(network, *matmul, work).bytes);
    }
  }
  return largest;
}

template <typename T>
void copy_constant(const net::Constant<T>& constant, std::uint8_t* to) {
  std::memcpy(to, constant.data->data(), constant.data->size() * sizeof(T));
}

void encode_channel(const net::Weights& weights, std::uint32_t channel,
                    const numerics::RecordShape& shape, std::span<std::uint8_t> record) {
  const std::size_t begin = std::size_t{channel} * shape.k;
  if (weights.int8) {
    numerics::encode_record(std::span(*weights.int8).subspan(begin, shape.k), shape, record);
    return;
  }
  std::vector<numerics::Bf16> items(shape.k);
  std::transform(weights.bf16->data() + begin, weights.bf16->data() + begin + shape.k,
                 items.begin(), numerics::to_bf16);
  numerics::encode_record(std::span<const numerics::Bf16>(items), shape, record);
}

void encode_conv(const net::Net& network, const net::Conv& conv, const Tile& tile,
                 std::vector<std::uint8_t>& bytes) {
  const numerics::RecordShape shape = record_shape(network, conv);
  const Bytes pitch = tile.scales_offset / (tile.channel_end - tile.channel_begin);
  for (std::uint32_t channel = tile.channel_begin; channel < tile.channel_end; ++channel) {
    const std::uint32_t local = channel - tile.channel_begin;
    encode_channel(conv.weights, channel, shape, std::span(bytes).subspan(local * pitch, pitch));
    std::uint8_t* pair = bytes.data() + tile.scales_offset + local * isa::scale_pair_bytes;
    if (conv.bias.has_data()) std::memcpy(pair, &(*conv.bias.data)[channel], sizeof(std::int32_t));
    if (conv.bias_fp32.has_data()) {
      std::memcpy(pair, &(*conv.bias_fp32.data)[channel], sizeof(float));
    }
    std::memcpy(pair + sizeof(std::int32_t), &(*conv.multiplier.data)[channel], sizeof(float));
  }
  if (conv.lut.size != 0) copy_constant(conv.lut, bytes.data() + tile.lut_offset);
}

}  // namespace

CachePart cache_part(const net::Net& network, const net::MatMul& matmul, const RowRange& work) {
  if (work.empty()) return {};
  const net::Shape& out = network.tensor(matmul.out).shape;
  const net::Shape& b = network.tensor(matmul.b).shape;
  const std::uint64_t first = work.begin / out.h;
  const std::uint64_t last = (work.end - 1) / out.h;
  const Bytes image = b.h * network.tensor(matmul.b).row_bytes();
  return {first * image, (last - first + 1) * image};
}

void place_tiles(const net::Net& network, const Target& target, ShardPlan& plan) {
  Bytes all = 0;
  Bytes others = 0;  // of layers that are not convolutions: these always stay
  for (const std::uint32_t i : plan.layers) {
    const Bytes bytes = resident_bytes(network, i);
    all += bytes;
    if (!std::holds_alternative<net::Conv>(network.layers[i].op)) others += bytes;
  }
  const Bytes cache_bytes = align_up(largest_cache_part(network, plan), sram_alignment);
  const Bytes room = target.sram_bytes - plan.peak_sram_bytes;
  const bool all_stay = all + 2 * cache_bytes <= room;
  if (!all_stay && others + 2 * cache_bytes >= room) {
    throw ModelError(
        "chip {}: {} bytes of tables and {} bytes of cached operands do not fit the {} bytes of "
        "SRAM that activations leave in each cluster",
        plan.chip, others, 2 * cache_bytes, room);
  }
  plan.cache_buffer_bytes = cache_bytes;
  if (!all_stay) {
    const Bytes limit = std::min(stream_buffer_limit, (room - others) / 2 - cache_bytes);
    plan.stream_buffer_bytes = limit / sram_alignment * sram_alignment;
  }
  plan.cache_buffer_offset = align_up(plan.peak_sram_bytes, sram_alignment);
  plan.stream_buffer_offset = plan.cache_buffer_offset + 2 * plan.cache_buffer_bytes;
  Bytes next = plan.stream_buffer_offset + 2 * plan.stream_buffer_bytes;
  // What may still be given to convolutions that stay, beside the tables that must.
  Bytes spare = target.sram_bytes - next - (all_stay ? 0 : others);

  for (const std::uint32_t i : plan.layers) {
    Tile whole = whole_tile(network, i);
    if (whole.bytes == 0) continue;
    const auto* conv = std::get_if<net::Conv>(&network.layers[i].op);
    const Bytes bytes = resident_bytes(network, i);
    const bool stays = all_stay || conv == nullptr || bytes <= spare;
    std::vector<Tile> tiles{whole};
    if (conv != nullptr && (!stays || network.tensor(conv->out).shape.c > most_channels)) {
      tiles = split_conv(network, target, i, *conv, stays ? bytes : plan.stream_buffer_bytes);
    }
    for (Tile& tile : tiles) {
      if (!stays) break;
      tile.resident = true;
      tile.sram_offset = next;
      next += align_up(tile.bytes, sram_alignment);
      plan.resident_bytes += tile.bytes;
    }
    if (stays && !all_stay && conv != nullptr) spare -= bytes;
    for (Tile& tile : tiles) {
      if (conv != nullptr && conv->sparsity.encoding == numerics::Encoding::bitmap) {
        plan.patterns.push_back(tile_pattern(network, *conv, tile));
        tile.pattern = static_cast<std::uint32_t>(plan.patterns.size());
      }
      tile.dram_offset = plan.dram_bytes;
      plan.dram_bytes += align_up(tile.bytes, dram_alignment);
      plan.weight_bytes += tile.bytes;
      plan.tiles_of[i].push_back(static_cast<std::uint32_t>(plan.tiles.size()));
      plan.tiles.push_back(tile);
    }
  }
  plan.peak_sram_bytes = next;
}

std::vector<std::uint8_t> tile_bytes(const net::Net& network, const Tile& tile) {
  std::vector<std::uint8_t> bytes(tile.bytes);
  const net::Layer& layer = network.layers[tile.layer];
  if (const auto* conv = std::get_if<net::Conv>(&layer.op)) {
    encode_conv(network, *conv, tile, bytes);
  } else if (const auto* matmul = std::get_if<net::MatMul>(&layer.op)) {
    for (std::uint32_t channel = 0; channel < tile.channel_end; ++channel) {
      std::memcpy(bytes.data() + channel * isa::scale_pair_bytes + sizeof(std::int32_t),
                  &matmul->multiplier, sizeof(float));
    }
  } else if (const auto* lut = std::get_if<net::Lut>(&layer.op)) {
    copy_constant(lut->table, bytes.data());
  } else if (const auto* norm = std::get_if<net::LayerNorm>(&layer.op)) {
    copy_constant(norm->gain, bytes.data());
    copy_constant(norm->shift, bytes.data() + norm->gain.size * sizeof(float));
  } else if (const auto* map = std::get_if<net::Map>(&layer.op)) {
    std::uint8_t* to = bytes.data();
    for (const net::Operand& operand : map->operands) {
      if (operand.constant.size == 0) continue;
      copy_constant(operand.constant, to);
      to += operand.constant.size * sizeof(float);
    }
  }
  return bytes;
}

}  // namespace steppe::schedule
