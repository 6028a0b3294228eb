// SPDX-License-Identifier: Apache-2.0
#include "models/tensor/tensor_timing.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "models/tensor/lane_timing.h"

namespace steppe {
namespace {

constexpr Bytes item_bytes(std::uint32_t in_type) { return in_type == 0 ? 1 : 2; }

/// Bytes of one result by `out_type`.
constexpr Bytes result_bytes(std::uint32_t out_type) {
  return out_type == 0 ? 1 : out_type == 2 ? 2 : 4;
}

/// The cycles that are left of a pass where zero activation rows are skipped: lanes look past a
/// few weights in a cycle, and each block takes the cycle of its broadcast at least. The lanes'
/// queues are taken to even out what one lane skips and another does not.
std::uint64_t after_skipping(std::uint64_t cycles, std::uint64_t blocks, const EngineShape& shape) {
  if (!shape.dual_sparsity) return cycles;
  const double left = std::max(1.0 - shape.zero_rows, 1.0 / (1.0 + shape.skip_window));
  const auto some = static_cast<std::uint64_t>(std::ceil(static_cast<double>(cycles) * left));
  return std::max(some, std::min(blocks, cycles));
}

Bytes bytes_read(const isa::Conv& conv, const ConvSizes& sizes, const EngineShape& shape,
                 std::uint64_t values) {
  const Bytes item = item_bytes(conv.in_type);
  const numerics::RecordShape record{.k = static_cast<std::uint32_t>(sizes.k),
                                     .encoding = static_cast<numerics::Encoding>(conv.encoding),
                                     .kept = conv.kept,
                                     .item_bytes = static_cast<std::uint32_t>(item)};
  const Bytes weights = values * item + conv.out_c * record.index_bytes();
  const Bytes lane_group_weights = weights / sizes.lane_groups;

  // The pixels under one column group, each once, however many kernel positions read it.
  const std::uint64_t columns = std::min<std::uint64_t>(shape.columns, sizes.positions);
  const std::uint64_t width =
      (columns - 1) * conv.stride_w + std::uint64_t{conv.kernel_w - 1} * conv.dilation_w + 1;
  const Bytes column_group_pixels =
      item * std::min<Bytes>(sizes.k * columns, Bytes{conv.in_c} * conv.kernel_h * width);
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
  const Bytes results = sizes.positions * conv.out_c;
  // Sums are stored as they are, without a residual.
  const bool sums = conv.out_type == 1 || conv.out_type == 3;
  const bool adds = conv.has_residual != 0 && !sums;
  const Bytes residual = adds ? results * result_bytes(conv.out_type) : 0;
  const Bytes partial = conv.has_partial != 0 ? results * sizeof(std::uint32_t) : 0;
  return least + residual + partial + Bytes{conv.out_c} * isa::scale_pair_bytes;
}

/// Weights of each block, drawn one by one with the density as their chance.
std::vector<std::uint8_t> drawn_counts(const numerics::WeightPattern& pattern) {
  std::vector<std::uint8_t> counts(std::size_t{pattern.channels} * pattern.blocks);
  // The sum of the binomial distribution up to each count, against which one number is held.
  std::array<double, numerics::block + 1> up_to{};
  double chance = std::pow(1 - pattern.density, numerics::block);
  double sum = 0;
  for (std::uint32_t n = 0; n <= numerics::block; ++n) {
    sum += chance;
    up_to[n] = sum;
    chance *= (numerics::block - n) / (n + 1.0) * pattern.density / (1 - pattern.density);
  }
  std::minstd_rand random(1);
  for (std::uint8_t& count : counts) {
    const double x = static_cast<double>(random()) / std::minstd_rand::max();
    count = static_cast<std::uint8_t>(std::min<std::ptrdiff_t>(
        std::ranges::lower_bound(up_to, x) - up_to.begin(), numerics::block));
  }
  return counts;
}

}  // namespace

ConvSizes::ConvSizes(const isa::Conv& conv, const EngineShape& shape)
    : positions(std::uint64_t{conv.out_h} * conv.out_w),
      k(std::uint64_t{conv.kernel_h} * conv.kernel_w * conv.in_c),
      blocks(ceil_div<std::uint64_t>(k, numerics::block)),
      lane_groups(conv.groups * ceil_div<std::uint64_t>(conv.out_c / conv.groups, shape.lanes)),
      column_groups(ceil_div<std::uint64_t>(positions, shape.columns)),
      splits(std::min(shape.columns / positions, blocks)) {}

WeightLoad balanced_load(const isa::Conv& conv, const EngineShape& shape) {
  const ConvSizes sizes(conv, shape);
  const bool indexed = conv.encoding == static_cast<std::uint32_t>(numerics::Encoding::indexed);
  const std::uint32_t kept = indexed ? conv.kept : numerics::block;
  const std::uint64_t a_block = block_cycles(conv, shape, kept);
  const auto pass = [&](std::uint64_t blocks) {
    return after_skipping(blocks * a_block, blocks, shape);
  };
  WeightLoad load;
  load.values = conv.out_c * (indexed ? sizes.blocks * kept : sizes.k);
  const std::uint64_t passes = sizes.lane_groups * sizes.column_groups;
  load.cycles = ceil_div<std::uint64_t>(passes, shape.engines) * pass(sizes.blocks);
  if (sizes.splits >= 2) {
    // Few positions: the columns share out K, and a tree adds their sums up.
    const std::uint64_t split =
        pass(ceil_div(sizes.blocks, sizes.splits)) + reduction_levels(sizes.splits);
    load.cycles =
        std::min(load.cycles, ceil_div<std::uint64_t>(sizes.lane_groups, shape.engines) * split);
  }
  return load;
}

WeightLoad pattern_load(const isa::Conv& conv, const EngineShape& shape,
                        const numerics::WeightPattern& pattern) {
  if (pattern.counts.empty() && pattern.density >= 1) return balanced_load(conv, shape);
  std::vector<std::uint8_t> drawn;
  if (pattern.counts.empty()) drawn = drawn_counts(pattern);
  const std::span<const std::uint8_t> counts = drawn.empty() ? pattern.counts : drawn;

  std::array<std::uint32_t, 256> cycles_of{};
  for (std::uint32_t n = 0; n < cycles_of.size(); ++n) cycles_of[n] = block_cycles(conv, shape, n);
  const auto cycles = [&](std::uint32_t channel, std::uint64_t block) {
    return cycles_of[counts[std::uint64_t{channel} * pattern.blocks + block]];
  };
  PassTimer timer(conv, shape);
  const ConvSizes& sizes = timer.sizes();
  const auto time = [&](std::uint64_t splits, std::uint64_t rounds) {
    std::vector<std::uint64_t> passes;
    timer.add_passes(splits, cycles, passes);
    const std::uint64_t levels = reduction_levels(splits);
    const std::uint64_t blocks = ceil_div(sizes.blocks, splits);
    for (std::uint64_t& pass : passes) pass = after_skipping(pass - levels, blocks, shape) + levels;
    return last_end(passes, rounds, shape.engines);
  };
  WeightLoad load;
  for (const std::uint8_t count : counts) load.values += count;
  load.cycles = time(1, sizes.column_groups);
  if (sizes.splits >= 2) load.cycles = std::min(load.cycles, time(sizes.splits, 1));
  return load;
}

ConvCost conv_cost(const isa::Conv& conv, const EngineShape& shape, const WeightLoad& load) {
  const ConvSizes sizes(conv, shape);
  ConvCost cost;
  cost.cycles = shape.start + Cycles{load.cycles} + shape.drain;
  cost.read = bytes_read(conv, sizes, shape, load.values);
  cost.written = sizes.positions * conv.out_c * result_bytes(conv.out_type);
  cost.dense_macs = sizes.positions * conv.out_c * sizes.k;
  cost.effective_macs = std::min(sizes.positions * load.values, cost.dense_macs);
  return cost;
}

}  // namespace steppe
