// SPDX-License-Identifier: Apache-2.0
#include "models/tensor/tensor_timing.h"

#include <algorithm>
#include <bit>

#include "models/numerics/numerics.h"

namespace steppe {
namespace {

/// The sizes that the costs follow from.
struct Sizes {
  std::uint64_t positions;
  std::uint64_t k;       ///< weights of an output channel
  std::uint64_t blocks;  ///< of 32 along K
  std::uint64_t block_cycles;
  std::uint64_t lane_groups;  ///< over all groups
  std::uint64_t column_groups;
};

Sizes sizes_of(const isa::Conv& conv, const EngineShape& shape) {
  Sizes sizes{};
  sizes.positions = std::uint64_t{conv.out_h} * conv.out_w;
  sizes.k = std::uint64_t{conv.kernel_h} * conv.kernel_w * conv.in_c;
  sizes.blocks = ceil_div<std::uint64_t>(sizes.k, numerics::block);
  sizes.block_cycles = numerics::block >> conv.ratio_log2;
  sizes.lane_groups = conv.groups * ceil_div<std::uint64_t>(conv.out_c / conv.groups, shape.lanes);
  sizes.column_groups = ceil_div<std::uint64_t>(sizes.positions, shape.columns);
  return sizes;
}

std::uint64_t array_cycles(const Sizes& sizes, const EngineShape& shape) {
  const std::uint64_t passes = sizes.lane_groups * sizes.column_groups;
  const std::uint64_t whole =
      ceil_div<std::uint64_t>(passes, shape.engines) * sizes.blocks * sizes.block_cycles;
  const std::uint64_t splits = std::min(shape.columns / sizes.positions, sizes.blocks);
  if (splits < 2) return whole;
  // Few positions: the columns share out K, and a tree adds their sums up.
  const auto levels = static_cast<std::uint64_t>(std::bit_width(splits - 1));
  const std::uint64_t pass = ceil_div(sizes.blocks, splits) * sizes.block_cycles + levels;
  return std::min(whole, ceil_div<std::uint64_t>(sizes.lane_groups, shape.engines) * pass);
}

Bytes bytes_read(const isa::Conv& conv, const Sizes& sizes, const EngineShape& shape) {
  const numerics::RecordShape record{static_cast<std::uint32_t>(sizes.k), conv.ratio_log2};
  const Bytes weights = conv.out_c * (record.value_bytes() + record.index_bytes());
  const Bytes lane_group_weights = weights / sizes.lane_groups;

  // The pixels under one column group, each once, however many kernel positions read it.
  const std::uint64_t columns = std::min<std::uint64_t>(shape.columns, sizes.positions);
  const std::uint64_t width =
      (columns - 1) * conv.stride_w + std::uint64_t{conv.kernel_w - 1} * conv.dilation_w + 1;
  const Bytes column_group_pixels =
      std::min<Bytes>(sizes.k * columns, Bytes{conv.in_c} * conv.kernel_h * width);
  const Bytes pixels = column_group_pixels * sizes.column_groups * conv.groups;
  const std::uint64_t lane_groups_a_group = sizes.lane_groups / conv.groups;

  // Half of the L1 keeps what is used again, the other half fills up meanwhile.
  const Bytes half = shape.l1_bytes / 2;
  Bytes least = pixels * lane_groups_a_group + weights * sizes.column_groups;
  if (column_group_pixels <= half) least = std::min(least, pixels + weights * sizes.column_groups);
  if (lane_group_weights <= half) {
    const std::uint64_t copies = std::min<std::uint64_t>(shape.engines, sizes.column_groups);
    least = std::min(least, pixels * lane_groups_a_group + weights * copies);
  }
  const Bytes residual = conv.has_residual != 0 ? sizes.positions * conv.out_c : 0;
  return least + residual + Bytes{conv.out_c} * isa::scale_pair_bytes;
}

}  // namespace

ConvCost conv_cost(const isa::Conv& conv, const EngineShape& shape) {
  const Sizes sizes = sizes_of(conv, shape);
  ConvCost cost;
  cost.cycles = shape.start + Cycles{array_cycles(sizes, shape)} + shape.drain;
  cost.read = bytes_read(conv, sizes, shape);
  cost.written = sizes.positions * conv.out_c * (conv.out_type == 1 ? sizeof(float) : 1);
  cost.dense_macs = sizes.positions * conv.out_c * sizes.k;
  cost.effective_macs = cost.dense_macs >> conv.ratio_log2;
  return cost;
}

}  // namespace steppe
