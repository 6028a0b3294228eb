// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/models/dma/bench.h"

using namespace steppe;
using test::DmaBench;

// A burst of 4096 B from DRAM: the request's hop 20 ns, DRAM's latency 90 and 50 ns of data, the
// hop back 20: 180 ns alone. The write to SRAM lies within. An instruction starts 20 ns after its
// issue.

TEST_CASE("dma: bursts one at a time take their full round trip each") {
  DmaBench bench;
  bench.set("dma0.outstanding", "1");
  bench.build();
  CHECK(bench.run({DmaBench::copy(address::dram, address::sram, 65536)}).end_ps ==
        20'000 + 16 * 180'000);
  CHECK(bench.stat("dma0.bytes") == 65536);
  CHECK(bench.stat("dma0.copies") == 1);
}

TEST_CASE("dma: two bursts under way hide part of the round trip") {
  DmaBench bench;
  bench.set("dma0.outstanding", "2");
  bench.build();
  // The first pair ends at 200 and 250 ns; each pair follows the one before by 180 ns.
  CHECK(bench.run({DmaBench::copy(address::dram, address::sram, 65536)}).end_ps ==
        250'000 + 7 * 180'000);
}

TEST_CASE("dma: eight bursts under way reach the DRAM's bandwidth") {
  DmaBench bench;
  bench.build();
  // Nothing but the first latency is lost: 20 + 130 + 16 * 50 ns.
  CHECK(bench.run({DmaBench::copy(address::dram, address::sram, 65536)}).end_ps == 950'000);
  CHECK(bench.stat("dram.busy") == 16 * 50'000);
}

TEST_CASE("dma: to DRAM its writes are the slower side") {
  DmaBench bench;
  bench.build();
  // Hop 20, latency 90, no hop back: 20 + 110 + 16 * 50 ns.
  CHECK(bench.run({DmaBench::copy(address::sram, address::dram, 65536)}).end_ps == 930'000);
  CHECK(bench.stat("dma0.read_bound") == 0);
  CHECK(bench.stat("dma0.write_bound") > 0);
}

TEST_CASE("dma: two units share the DRAM and lose no bandwidth") {
  DmaBench bench;
  bench.build(2);
  const auto& first = bench.start(0, {DmaBench::copy(address::dram, address::sram, 65536)});
  const auto& second =
      bench.start(1, {DmaBench::copy(address::dram, address::sram + 65536, 65536)});
  sc_core::sc_start();
  // 32 bursts back to back. The first's window of 8 goes before the second's, and its next 8
  // follow as the first come back, before the second's: it has 24 of the places, 20 + 130 + 24
  // * 50.
  CHECK(first.end_ps == 1'350'000);
  CHECK(second.end_ps == 150'000 + 32 * 50'000);
  CHECK(bench.stat("dram.busy") == 32 * 50'000);
}

TEST_CASE("dma: four units share the DRAM and lose no bandwidth") {
  DmaBench bench;
  bench.build(4);
  std::vector<const DmaBench::Result*> results;
  for (std::size_t i = 0; i < 4; ++i) {
    results.push_back(
        &bench.start(i, {DmaBench::copy(address::dram, address::sram + i * 262144, 262144)}));
  }
  sc_core::sc_start();
  std::uint64_t last = 0;
  for (const auto* result : results) {
    last = std::max(last, result->end_ps);
    // Fair: none ends sooner than if the others' windows alone went before its last burst.
    CHECK(result->end_ps >= 150'000 + (256 - 3 * 8) * 50'000);
  }
  CHECK(last == 150'000 + 256 * 50'000);
}

TEST_CASE("dma: small rows are gathered to bursts") {
  DmaBench bench;
  bench.build();
  // 1024 rows of 64 B: 64 to a burst, so the time of 64 KiB in one row.
  CHECK(bench.run({DmaBench::copy(address::dram, address::sram, 64, 1024, 640, 64)}).end_ps ==
        950'000);
  CHECK(bench.stat("dma0.bytes") == 65536);
}

TEST_CASE("dma: rows side by side on both sides are one run") {
  DmaBench bench;
  bench.build();
  // 3000 rows of 7 B, 21000 B: 5 bursts and 520 B (6.348 ns at DRAM).
  CHECK(bench.run({DmaBench::copy(address::dram, address::sram, 7, 3000, 7, 7)}).end_ps ==
        150'000 + 5 * 50'000 + 6'348);
}

TEST_CASE("dma: a probe of the far end is no transaction of the memory's") {
  DmaBench bench;
  bench.build();
  CHECK_FALSE(bench.run({DmaBench::copy(address::dram, address::sram, 4096)}).fault);
  CHECK(bench.stat("dram.transactions") == 1);
  CHECK(bench.stat("sram.transactions") == 1);
}

TEST_CASE("dma: each burst is made of the bytes it moves, within a row and over rows") {
  using Reserved = std::vector<std::pair<std::uint64_t, Bytes>>;
  DmaBench bench(Mode::timing);
  bench.set("dma0.burst_bytes", "64");
  bench.build();
  const std::uint64_t begin = test::Registers::begin;
  REQUIRE_FALSE(bench
                    .run({DmaBench::copy(address::sram, begin, 100, 2, 256, 128),
                          DmaBench::copy(address::sram, begin, 30, 3, 30, 40)})
                    .fault);
  // Rows of 100 B in 64 and 36; rows of 30 B two to a burst.
  CHECK((bench.registers.reserved ==
         Reserved{{0, 64}, {64, 36}, {128, 64}, {192, 36}, {0, 60}, {80, 30}}));
}

namespace {

/// Copies of every shape: strided, gathered, in pieces, there and back, and a notification.
std::uint64_t mixed_end(Mode mode) {
  DmaBench bench(mode);
  bench.build();
  const auto result =
      bench.run({DmaBench::copy(address::dram, address::sram, 1000, 37, 1024, 1000),
                 DmaBench::copy(address::sram, address::dram + 4'000'000, 9000, 5, 9000, 10000),
                 DmaBench::copy(address::dram, address::sram, 3),
                 DmaBench::notify(test::Registers::begin, 7)});
  CHECK_FALSE(result.fault);
  return result.end_ps;
}
// In ps. Rows of 1000 B, 4 to a burst: 20'000 + 130'000 + 37'000 B at 81.92 GB/s, in 9 bursts of
// 4000 B, 48'829 each, and one of 1000 B, 12'208. Rows of 9000 B: 20'000 + 110'000 + 5 times (two
// of 4096 B, 50'000, and 808 B, 9'864). 3 B: 20'000 + 130'000 + 37. The word: 20'000 + 20'000 + 20.
constexpr std::uint64_t mixed_end_ps =
    (150'000 + 9 * 48'829 + 12'208) + (130'000 + 5 * (2 * 50'000 + 9'864)) + 150'037 + 40'020;

}  // namespace

TEST_CASE("dma: time of a functional run") { CHECK(mixed_end(Mode::functional) == mixed_end_ps); }
TEST_CASE("dma: time of a timing run, the same") { CHECK(mixed_end(Mode::timing) == mixed_end_ps); }
