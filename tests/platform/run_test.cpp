// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <numeric>

#include "tests/platform/test_host.h"

using namespace steppe;
using namespace steppe::test;
namespace reg = steppe::control;

namespace {

enum : std::uint32_t { load0 = 0, store0 = 1, tensor0 = 2, vector0 = 3 };

/// Input to SRAM; each byte replaced by a table's; result to the host. The table is at DRAM + 0.
const std::vector<StreamText> lut_program{
    {load0,
     "copy src=b2 dst=0x100000000 row_bytes=64 rows=1 signal 1\n"
     "copy src=b1 dst=0x100001000 row_bytes=256 rows=1 signal 1\n"
     "end\n"},
    {vector0,
     "lut in=0x100000000 out=0x100000100 table=0x100001000 rows=1 elements=64 wait 1*2 signal 2\n"
     "end\n"},
    {store0, "copy src=0x100000100 dst=b3 row_bytes=64 rows=1 wait 2\nend\n"},
};

/// Value q + 1, wrapping; the entry of q is at q + 128.
std::vector<std::uint8_t> increment_table() {
  std::vector<std::uint8_t> table(256);
  for (int q = -128; q < 128; ++q)
    table[static_cast<std::size_t>(q + 128)] = static_cast<std::uint8_t>(q + 1);
  return table;
}

constexpr std::uint64_t input = TestHost::data;
constexpr std::uint64_t output = TestHost::data + 0x1000;

}  // namespace

TEST_CASE("a program of load, vector and store runs through the firmware, again and again") {
  CardBench bench("s4");
  bench.build();
  TestHost& host = *bench.host;
  host.run([&] {
    host.start(0);
    host.put(0, address::dram, increment_table());
    host.load_program(0, 1, lut_program);
    for (std::uint8_t round = 0; round < 3; ++round) {
      for (std::uint8_t i = 0; i < 64; ++i)
        *host.memory(input + i) = static_cast<std::uint8_t>(4 * i + round);
      const Completion done =
          host.command(0, reg::OP_RUN, {1, TestHost::address(input), TestHost::address(output)});
      CHECK(done.status == reg::STATUS_OK);
      for (std::uint8_t i = 0; i < 64; ++i) {
        CHECK(*host.memory(output + i) == static_cast<std::uint8_t>(4 * i + round + 1));
      }
    }
  });
  // Three runs of three queues: 3 + 2 + 2 instructions each.
  CHECK(bench.stat("card.chip0.cluster0.load.queue.instructions") == 9);
  CHECK(bench.stat("card.chip0.cluster0.vector.queue.instructions") == 6);
  CHECK(bench.stat("card.chip0.cluster0.store.queue.instructions") == 6);
  // One message for each completion: table, three streams, program, three runs.
  CHECK(host.messages(0) == 8);
}

TEST_CASE("a run's input is copied ahead while the run before it works") {
  CardBench bench("s4");
  bench.build();
  TestHost& host = *bench.host;
  constexpr std::uint64_t staging = address::dram + 0x100000;
  host.run([&] {
    host.start(0);
    host.put(0, address::dram, increment_table());
    host.load_program(0, 1, lut_program);
    for (std::uint8_t i = 0; i < 64; ++i) *host.memory(input + i) = i;
    // Two submissions, one doorbell: the first has nothing in front of it and reads the host, the
    // second finds its input in DRAM.
    const auto submit = [&](std::uint64_t to, bool ring) {
      host.submit(0, reg::OP_RUN, {1, TestHost::address(input), TestHost::address(to), 64, staging},
                  ring);
    };
    submit(output, false);
    submit(output + 0x100, true);
    CHECK(host.wait(0).status == reg::STATUS_OK);
    CHECK(host.wait(0).status == reg::STATUS_OK);
    const std::uint64_t back = input + 0x200;
    host.command(0, reg::OP_COPY, {staging, TestHost::address(back), 64});
    for (std::uint8_t i = 0; i < 64; ++i) {
      CHECK(*host.memory(output + i) == i + 1);
      CHECK(*host.memory(output + 0x100 + i) == i + 1);
      CHECK(*host.memory(back + i) == i);
    }
    // An address where nothing is: the run reads the host's memory all the same.
    submit(output, false);
    host.submit(0, reg::OP_RUN,
                {1, TestHost::address(input), TestHost::address(output), 64, 0xf0'0000'0000});
    CHECK(host.wait(0).status == reg::STATUS_OK);
    CHECK(host.wait(0).status == reg::STATUS_OK);
  });
}

TEST_CASE("a tensor program: a 1 x 1 convolution without sparsity") {
  CardBench bench("s4");
  bench.build();
  TestHost& host = *bench.host;
  host.run([&] {
    host.start(0);
    // One pixel of 4 channels, 2 output channels. Records of 4 values with a pitch of 16, then at
    // 0x40 (bias 10, multiplier 0.5) and (bias -3, multiplier 1).
    std::vector<std::uint8_t> constants(0x50, 0);
    const std::int8_t weights[2][4] = {{1, 2, 3, 4}, {-1, 0, 5, 1}};
    std::memcpy(constants.data(), weights[0], 4);
    std::memcpy(constants.data() + 16, weights[1], 4);
    const std::int32_t bias[] = {10, -3};
    const float multiplier[] = {0.5F, 1.0F};
    for (std::size_t c = 0; c < 2; ++c) {
      std::memcpy(constants.data() + 0x40 + 8 * c, &bias[c], 4);
      std::memcpy(constants.data() + 0x44 + 8 * c, &multiplier[c], 4);
    }
    host.put(0, address::dram, constants);
    host.load_program(
        0, 1,
        {{load0,
          "copy src=b2 dst=0x100000000 row_bytes=4 rows=1 signal 1\n"
          "copy src=b1 dst=0x100001000 row_bytes=80 rows=1 signal 1\nend\n"},
         {tensor0,
          "conv in=0x100000000 weights=0x100001000 scales=0x100001040 out=0x100000100 in_h=1 "
          "in_w=1 "
          "in_c=4 in_pixel=4 in_row=4 out_h=1 out_w=1 out_c=2 out_pixel=2 out_row=2 kernel_h=1 "
          "kernel_w=1 stride_h=1 stride_w=1 dilation_h=1 dilation_w=1 groups=1 weight_pitch=16 "
          "clamp_low=-128 clamp_high=127 wait 1*2 signal 2\nend\n"},
         {store0, "copy src=0x100000100 dst=b3 row_bytes=2 rows=1 wait 2\nend\n"}});
    const std::int8_t values[] = {10, 20, 30, 3};
    std::memcpy(host.memory(input), values, 4);
    const Completion done =
        host.command(0, reg::OP_RUN, {1, TestHost::address(input), TestHost::address(output)});
    CHECK(done.status == reg::STATUS_OK);
    // (10 + 10 + 40 + 90 + 12) * 0.5 = 81; -3 - 10 + 150 + 3 = 140, saturated.
    CHECK(static_cast<std::int8_t>(*host.memory(output)) == 81);
    CHECK(static_cast<std::int8_t>(*host.memory(output + 1)) == 127);
  });
}
