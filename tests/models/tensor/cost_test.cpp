// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "models/tensor/tensor_timing.h"
#include "tests/models/tensor/conv_case.h"

using namespace steppe;
using test::same_conv;

namespace {
constexpr std::uint64_t overhead = 16 + 24;  // start and drain
constexpr Bytes half_l1 = 58'982 / 2;        // 29491
}  // namespace

TEST_CASE("conv cost: 3x3 256 to 256 on 14x14 at 16x") {
  const ConvCost cost = conv_cost(same_conv(14, 14, 256, 256, 3, 4), {});
  // K = 9 * 256 = 2304: 72 blocks of 2 cycles. 256 / 16 = 16 lane groups, ceil(196 / 32) = 7 column
  // groups: 112 passes, 14 for each of 8 engines.
  CHECK(cost.cycles.count == 14 * 72 * 2 + overhead);
  // A column group covers 3 rows of 32 + 2 pixels: 3 * 34 * 256 = 26112 B, which fit half an L1 and
  // are read once; a record is 144 values and 90 B of indices, and all are read for each column
  // group; 256 pairs of 8 B.
  CHECK(26'112 < half_l1);
  CHECK(cost.read == 7 * 26'112 + 7 * 256 * (144 + 90) + 256 * 8);
  CHECK(cost.written == 196 * 256);
  CHECK(cost.dense_macs == std::uint64_t{196} * 256 * 2304);
  CHECK(cost.effective_macs == cost.dense_macs / 16);
}

TEST_CASE("conv cost: the same, dense, takes 16 times the cycles of the array") {
  const ConvCost cost = conv_cost(same_conv(14, 14, 256, 256, 3, 0), {});
  CHECK(cost.cycles.count == 14 * 72 * 32 + overhead);
  // No indices. Lane group weights, 16 * 2304 B = 36864, do not fit half an L1.
  CHECK(cost.read == 7 * 26'112 + 7 * 256 * 2304 + 256 * 8);
  CHECK(cost.effective_macs == cost.dense_macs);
}

TEST_CASE("conv cost: one position splits K over the columns") {
  const ConvCost cost = conv_cost(same_conv(1, 1, 4096, 1000, 1, 4), {});
  // 128 blocks over 32 columns: 4 blocks of 2 cycles each, then 5 levels of additions: 13 cycles
  // for a lane group. ceil(1000 / 16) = 63 lane groups, 8 for the busiest engine.
  CHECK(cost.cycles.count == 8 * 13 + overhead);
  // The weights go by once: 256 values and 160 B of indices a channel.
  CHECK(cost.read == 4096 + 1000 * (256 + 160) + 1000 * 8);
  CHECK(cost.written == 1000);
}

TEST_CASE("conv cost: few positions, few blocks") {
  // 5 positions leave 6 columns to each, but there are only 3 blocks: 3 splits of one dense block,
  // 2 levels. One lane group.
  CHECK(conv_cost(same_conv(1, 5, 96, 16, 1, 0), {}).cycles.count == 32 + 2 + overhead);
  // 17 positions leave a single column to each: nothing to split.
  CHECK(conv_cost(same_conv(1, 17, 96, 16, 1, 0), {}).cycles.count == 3 * 32 + overhead);
  // One block cannot be split.
  CHECK(conv_cost(same_conv(1, 1, 32, 16, 1, 0), {}).cycles.count == 32 + overhead);
}

TEST_CASE("conv cost: each channel of a depthwise convolution fills a lane of its own pass") {
  isa::Conv conv = same_conv(56, 56, 1, 144, 3, 0);
  conv.groups = 144;
  const ConvCost cost = conv_cost(conv, {});
  // 144 groups of one lane group, 98 column groups: 14112 passes, 1764 an engine, of one block.
  CHECK(cost.cycles.count == 1764 * 32 + overhead);
  // Of 34 pixels in 3 rows, 102 B, once for each pass; weights of 9 B stay, a copy in each engine.
  CHECK(cost.read == 144 * 98 * 102 + 144 * 9 * 8 + 144 * 8);
}

TEST_CASE("conv cost: small weights stay in the L1, a copy in each engine") {
  const ConvCost cost = conv_cost(same_conv(56, 56, 64, 16, 1, 0), {});
  // 98 column groups of 32 * 64 B; 1024 B of weights to each of 8 engines.
  CHECK(cost.read == 98 * 2048 + 8 * 1024 + 16 * 8);
}

TEST_CASE("conv cost: where nothing fits the L1, every pass reads both") {
  const ConvCost cost = conv_cost(same_conv(1, 64, 4096, 32, 1, 0), {});
  CHECK(32 * 4096 > half_l1);  // pixels of a column group
  CHECK(16 * 4096 > half_l1);  // weights of a lane group
  // 2 lane groups by 2 column groups, and each reads 32 * 4096 B of pixels and 16 * 4096 of
  // weights.
  CHECK(cost.read == 4 * (32 * 4096 + 16 * 4096) + 32 * 8);
}

TEST_CASE("conv cost: a residual is read once, fp32 results take four bytes") {
  isa::Conv conv = same_conv(4, 8, 32, 16, 1, 0);
  const ConvCost plain = conv_cost(conv, {});
  conv.has_residual = 1;
  CHECK(conv_cost(conv, {}).read == plain.read + 4 * 8 * 16);
  conv.out_type = 1;
  CHECK(conv_cost(conv, {}).written == 4 * 8 * 16 * 4);
}

TEST_CASE("conv cost: the array's shape counts") {
  const isa::Conv conv = same_conv(8, 8, 32, 64, 1, 0);
  EngineShape shape{.engines = 2, .lanes = 8, .columns = 16, .start = {1}, .drain = {2}};
  // 8 lane groups by 4 column groups over 2 engines, 32 cycles each.
  CHECK(conv_cost(conv, shape).cycles.count == 16 * 32 + 3);
  shape.engines = 3;  // 11 passes for the busiest
  CHECK(conv_cost(conv, shape).cycles.count == 11 * 32 + 3);
}
