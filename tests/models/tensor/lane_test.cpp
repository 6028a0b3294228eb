// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "models/tensor/lane_timing.h"
#include "models/tensor/row_skipping.h"
#include "tests/models/tensor/conv_case.h"

using namespace steppe;
using test::same_conv;

namespace {

using Cycles32 = std::vector<std::uint32_t>;

std::uint64_t timed(std::uint32_t depth, const std::vector<Cycles32>& blocks) {
  LaneQueues queues(static_cast<std::uint32_t>(blocks.front().size()), depth);
  queues.begin();
  for (const Cycles32& block : blocks) queues.add(block);
  return queues.end();
}

constexpr std::uint64_t overhead = 16 + 24;  // start and drain

}  // namespace

TEST_CASE("lanes: two lanes, three blocks, cycle by cycle") {
  // Lane A needs 4, 1, 1 cycles, lane B 1, 4, 1.
  const std::vector<Cycles32> blocks{{4, 1}, {1, 4}, {1, 1}};
  // Depth 1: a block is sent when both have ended the one before: 0, 4, 8; the end is 9.
  CHECK(timed(1, blocks) == 9);
  // Depth 2: block 1 is sent at 1, before A has ended block 0 (at 4): A takes it from 4 to 5, B
  // from 1 to 5. Block 2 needs the room of block 0, free at 4: A from 5 to 6, B from 5 to 6.
  CHECK(timed(2, blocks) == 6);
  // More depth cannot help: each lane has 6 cycles of work.
  CHECK(timed(8, blocks) == 6);
}

TEST_CASE("lanes: blocks that keep all lanes equally busy take their cycles, at any depth") {
  for (const std::uint32_t depth : {1U, 2U, 7U}) {
    CHECK(timed(depth, std::vector<Cycles32>(10, {3, 3, 3})) == 30);
  }
}

TEST_CASE("lanes: a block of no weights takes the cycle in which it is sent") {
  CHECK(timed(4, std::vector<Cycles32>(10, {0, 0})) == 10);
}

TEST_CASE("lanes: within the bounds of any schedule, and deeper queues are not slower") {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Cycles32> blocks(1 + random() % 30, Cycles32(1 + random() % 6));
    const std::size_t lanes = blocks.front().size();
    for (Cycles32& block : blocks) {
      block.resize(lanes);
      for (std::uint32_t& cycles : block) cycles = random() % 9;
    }
    std::uint64_t lockstep = 0;
    std::vector<std::uint64_t> sums(lanes);
    for (const Cycles32& block : blocks) {
      lockstep += std::max(1U, std::ranges::max(block));
      for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += block[lane];
    }
    std::uint64_t before = ~std::uint64_t{0};
    for (const std::uint32_t depth : {1U, 2U, 4U, 64U}) {
      const std::uint64_t end = timed(depth, blocks);
      CHECK(end <= lockstep);
      CHECK(end >= std::ranges::max(sums));
      CHECK(end <= before);
      before = end;
    }
  }
}

TEST_CASE("engines take the next pass as they come free") {
  // Two engines, passes of 5, 1, 1, 1, 1: the second takes all but the first and ends before it.
  const std::vector<std::uint64_t> passes{5, 1, 1, 1, 1};
  CHECK(last_end(passes, 1, 2) == 5);
  // Twice: 5 | 1 1 1 1 5 | then the first 1 1 1 1: 9 and 9.
  CHECK(last_end(passes, 2, 2) == 9);
  CHECK(last_end(passes, 2, 1) == 18);
  CHECK(last_end(passes, 1, 100) == 5);
}

TEST_CASE("pattern: balanced counts cost what balanced weights cost") {
  std::mt19937 random(2);
  for (int round = 0; round < 100; ++round) {
    isa::Conv conv = test::random_case(random).conv;
    conv.encoding = 1;
    conv.kept = test::draw(random, 1, 32);
    const EngineShape shape{.engines = test::draw(random, 1, 5),
                            .lanes = test::draw(random, 1, 20),
                            .columns = test::draw(random, 1, 40)};
    const WeightLoad expected = balanced_load(conv, shape);
    const std::uint32_t blocks = record_shape(conv).blocks();
    const std::vector<std::uint8_t> counts(std::size_t{conv.out_c} * blocks,
                                           static_cast<std::uint8_t>(conv.kept));
    conv.encoding = 2;
    const WeightLoad load = pattern_load(conv, shape, {conv.out_c, blocks, counts, 1.0});
    CHECK(load.cycles == expected.cycles);
    CHECK(load.values == expected.values);
  }
}

TEST_CASE("pattern: one full channel holds up its lane group alone") {
  // 32 channels, K = 64: 2 blocks. Channel 0 has 32 weights in each, the others 1. Group 0 takes 64
  // cycles, group 1 takes 2. 2 column groups on 1 engine: 2 * (64 + 2).
  isa::Conv conv = same_conv(1, 64, 64, 32, 1, 0);
  conv.encoding = 2;
  std::vector<std::uint8_t> counts(32 * 2, 1);
  counts[0] = counts[1] = 32;
  const numerics::WeightPattern pattern{32, 2, counts, 1.0};
  const WeightLoad load = pattern_load(conv, {.engines = 1}, pattern);
  CHECK(load.cycles == 132);
  CHECK(load.values == 64 + 62);
  const ConvCost cost = conv_cost(conv, {.engines = 1}, load);
  CHECK(cost.cycles.count == 132 + overhead);
  // Masks of 8 B a channel and 126 values, to one engine once, as they fit half its L1; 64 B of
  // each of 64 pixels for both lane groups, or the weights again for the second column group: the
  // latter.
  CHECK(cost.read == 64 * 64 + 2 * (32 * 8 + 126) + 32 * 8);
  CHECK(cost.effective_macs == 64 * 126);
}

TEST_CASE("pattern: a density alone gives counts with that mean, the same ones each time") {
  isa::Conv conv = same_conv(1, 32, 4096, 256, 1, 0);
  conv.encoding = 2;
  const numerics::WeightPattern pattern{256, 128, {}, 0.125};
  const WeightLoad load = pattern_load(conv, {}, pattern);
  const double mean = static_cast<double>(load.values) / (256 * 128);
  CHECK(mean == doctest::Approx(4.0).epsilon(0.02));  // 32 / 8
  CHECK(pattern_load(conv, {}, pattern).cycles == load.cycles);
  // Two passes an engine. No less than perfectly even lanes, 128 * 4 each, and no more than dense.
  CHECK(load.cycles > 2 * 128 * 4);
  CHECK(load.cycles < 2 * 128 * 8);
}

TEST_CASE("decoders: a rate below one weight a cycle slows the lanes") {
  const isa::Conv conv = same_conv(8, 8, 64, 16, 1, 4);  // 2 blocks of 2 values
  const auto cycles = [&](const EngineShape& shape) { return balanced_load(conv, shape).cycles; };
  CHECK(cycles({.engines = 1}) == 2 * 2 * 2);
  CHECK(cycles({.engines = 1, .decode_rate = {1, 0.5, 1}}) == 2 * 2 * 4);
  CHECK(cycles({.engines = 1, .decode_rate = {0.5, 1, 0.5}}) == 2 * 2 * 2);
}

TEST_CASE("bf16 weights take two cycles and two bytes") {
  isa::Conv conv = same_conv(8, 8, 64, 16, 1, 4);
  conv.in_type = 1;
  conv.out_type = 2;
  const ConvCost cost = conv_cost(conv, {.engines = 1});
  CHECK(cost.cycles.count == 2 * 2 * 2 * 2 + overhead);
  // 64 pixels of 128 B; 4 values of 2 B and 20 bits of indices for each of 16 channels; pairs.
  CHECK(cost.read == 64 * 128 + 16 * (8 + 3) + 16 * 8);
  CHECK(cost.written == 64 * 16 * 2);
}

TEST_CASE("dual sparsity: rows that are zero in all columns are skipped, as far as lanes look") {
  // One channel, one block of 32 dense weights, 2 positions. Rows 0 to 15 are zero at both, rows 16
  // to 23 at the first only.
  isa::Conv conv = same_conv(1, 2, 32, 1, 1, 0);
  test::Random random(3);
  test::ConvCase c = test::place(random, conv, 0);
  for (std::uint32_t k = 0; k < 32; ++k) {
    c.memory[c.conv.weights_offset + k] = 1;
    c.memory[c.conv.in_offset + k] = k < 24 ? 0 : 7;
    c.memory[c.conv.in_offset + 32 + k] = k < 16 ? 0 : 7;
  }
  const auto skipped = [&](EngineShape shape) {
    shape.dual_sparsity = true;
    return skip_rows<std::int8_t>(c.conv, shape, c.memory.data() + c.conv.in_offset,
                                  c.memory.data() + c.conv.weights_offset);
  };
  CHECK(skipped({.columns = 2, .skip_window = 4}).cycles == 16);
  CHECK(skipped({.columns = 2, .skip_window = 4}).rows == 32);
  CHECK(skipped({.columns = 2, .skip_window = 4}).zero == 16);
  CHECK(skipped({.columns = 2, .skip_window = 0}).cycles == 32);  // none looked past
  // One column at a time: 8 rows are left of the first position, 16 of the second.
  CHECK(skipped({.engines = 1, .columns = 1, .skip_window = 4}).cycles == 8 + 16);
  // At most 3 in 4 are looked past: 8 of 32 cycles remain at least.
  CHECK(skipped({.engines = 1, .columns = 1, .skip_window = 3}).cycles == 8 + 16);
  CHECK(skipped({.engines = 1, .columns = 1, .skip_window = 1}).cycles == 16 + 16);
  // Weights that are zero but stored take their cycle all the same.
  for (std::uint32_t k = 0; k < 31; ++k) c.memory[c.conv.weights_offset + k] = 0;
  CHECK(skipped({.columns = 2, .skip_window = 4}).cycles == 16);
}

TEST_CASE("dual sparsity: without zeros it changes nothing, in any shape") {
  test::Random random(4);
  for (int round = 0; round < 100; ++round) {
    isa::Conv conv = test::random_case(random).conv;
    conv.in_type = 0;
    conv.encoding = test::draw(random, 0, 1);
    conv.in_zero = 5;
    test::ConvCase c = test::place(random, conv, 0);
    std::fill_n(c.memory.begin() + static_cast<std::ptrdiff_t>(c.conv.in_offset),
                std::size_t{conv.in_h} * c.conv.in_row, std::uint8_t{3});
    EngineShape shape{.engines = test::draw(random, 1, 5),
                      .lanes = test::draw(random, 1, 20),
                      .columns = test::draw(random, 1, 40)};
    const std::uint64_t expected = balanced_load(c.conv, shape).cycles;
    shape.dual_sparsity = true;
    const SkippedRows skipped = skip_rows<std::int8_t>(
        c.conv, shape, c.memory.data() + c.conv.in_offset, c.memory.data() + c.conv.weights_offset);
    CHECK(skipped.zero == 0);
    CHECK(skipped.cycles == expected);
  }
}

TEST_CASE("dual sparsity: the statistic of runs without values") {
  const isa::Conv conv = same_conv(8, 8, 320, 16, 1, 2);  // 10 blocks of 8 values, 2 passes
  EngineShape shape{.engines = 1, .dual_sparsity = true, .zero_rows = 0.5};
  CHECK(balanced_load(conv, shape).cycles == 2 * 10 * 8 / 2);
  shape.zero_rows = 0.95;
  CHECK(balanced_load(conv, shape).cycles == 2 * 10 * 8 / 5);  // the window's limit
  shape.dual_sparsity = false;
  CHECK(balanced_load(conv, shape).cycles == 2 * 10 * 8);
}

TEST_CASE("dual sparsity: few positions whose K the columns share out") {
  // 1 position, K = 2048 (64 blocks), 256 outputs: 16 lane groups for 8 engines, two rounds. 32
  // columns share out the blocks: 2 each, 5 levels of sums. Blocks of 4 weights, evenly filled.
  isa::Conv conv = same_conv(1, 1, 2048, 256, 1, 1);
  EngineShape shape{.engines = 8, .dual_sparsity = true};
  for (const std::uint32_t kept : {32U, 4U}) {
    conv.kept = kept;
    const std::vector<std::uint8_t> counts(256 * 64, static_cast<std::uint8_t>(kept));
    const numerics::WeightPattern pattern{.channels = 256, .blocks = 64, .counts = counts};
    for (const double zero_rows : {0.0, 0.5, 0.75}) {
      shape.zero_rows = zero_rows;
      const auto cycles = static_cast<std::uint64_t>(2 * (2 * kept * (1 - zero_rows) + 5));
      CHECK(balanced_load(conv, shape).cycles == cycles);
      CHECK(pattern_load(conv, shape, pattern).cycles == cycles);
    }
  }
}
