// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/models/dma/bench.h"

using namespace steppe;
using test::DmaBench;
using test::Registers;

namespace {

std::uint8_t pattern(std::uint64_t i) {
  return static_cast<std::uint8_t>(i * 31 + (i >> 8) * 7 + 1);
}

/// Fills DRAM's first `bytes` with the pattern and the SRAM's with 0xee, when the simulation runs.
struct Filled : DmaBench {
  std::uint8_t* dram_bytes = nullptr;
  std::uint8_t* sram_bytes = nullptr;
  explicit Filled(Mode mode = Mode::functional, Bytes bytes = 1 << 20) : DmaBench(mode) {
    build();
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    dram_bytes = units[0]->port.direct(address::dram, bytes);
    sram_bytes = units[0]->port.direct(address::sram, bytes);
    for (Bytes i = 0; i < bytes; ++i) dram_bytes[i] = pattern(i);
    std::fill(sram_bytes, sram_bytes + bytes, 0xee);
  }
};

/// The destination by the definition of Copy, byte by byte; 0xee where nothing is written.
std::vector<std::uint8_t> expected(const isa::Copy& c, std::size_t bytes) {
  std::vector<std::uint8_t> out(bytes, 0xee);
  for (std::uint64_t row = 0; row < c.rows; ++row) {
    for (std::uint64_t i = 0; i < c.row_bytes; ++i) {
      out[c.dst_offset - address::sram + row * c.dst_pitch + i] =
          pattern(c.src_offset - address::dram + row * c.src_pitch + i);
    }
  }
  return out;
}

void check_copy(const isa::Copy& copy) {
  Filled bench;
  REQUIRE_FALSE(bench.run({copy}).fault);
  const auto want = expected(copy, 1 << 20);
  CHECK(std::equal(want.begin(), want.end(), bench.sram_bytes));
}

}  // namespace

TEST_CASE("dma values: strided on both sides, rows gathered to bursts") {
  check_copy(DmaBench::copy(address::dram + 5, address::sram + 11, 37, 500, 100, 64));
}
TEST_CASE("dma values: strided on both sides, rows longer than a burst") {
  check_copy(DmaBench::copy(address::dram + 1, address::sram + 3, 10001, 7, 20003, 11111));
}
TEST_CASE("dma values: rows side by side") {
  check_copy(DmaBench::copy(address::dram, address::sram, 129, 300, 129, 129));
}
TEST_CASE("dma values: a pitch of 0 repeats one row") {
  check_copy(DmaBench::copy(address::dram + 64, address::sram, 50, 20, 0, 50));
}

TEST_CASE("dma values: base registers are added to the offsets") {
  Filled bench;
  bench.base[3] = address::dram + 1000;
  bench.base[4] = address::sram;
  isa::Copy copy = DmaBench::copy(24, 8, 16);
  copy.src_base = 3;
  copy.dst_base = 4;
  REQUIRE_FALSE(bench.run({copy}).fault);
  for (std::uint64_t i = 0; i < 16; ++i) CHECK(bench.sram_bytes[8 + i] == pattern(1024 + i));
}

TEST_CASE("dma values: to and from registers without direct memory") {
  Filled bench;
  REQUIRE_FALSE(bench
                    .run({DmaBench::copy(address::dram, Registers::begin, 4, 2, 4, 4),
                          DmaBench::copy(Registers::begin, address::sram, 8)})
                    .fault);
  for (std::uint64_t i = 0; i < 8; ++i) CHECK(bench.sram_bytes[i] == pattern(i));
}

TEST_CASE("dma values: a timing run moves none") {
  Filled bench(Mode::timing);
  REQUIRE_FALSE(bench.run({DmaBench::copy(address::dram, address::sram, 4096)}).fault);
  CHECK(bench.sram_bytes[0] == 0xee);
}

TEST_CASE("dma values: a notification is seen when it arrives, behind the bytes before it") {
  Filled bench;
  std::uint8_t last_byte = 0;
  bench.registers.on_write = [&] { last_byte = bench.sram_bytes[65535]; };
  const auto result = bench.run({DmaBench::copy(address::dram, address::sram, 65536),
                                 DmaBench::notify(Registers::begin + 8, 0x12345678)});
  REQUIRE_FALSE(result.fault);
  CHECK(bench.registers.values[2] == 0x12345678);
  CHECK(last_byte == pattern(65535));
  // The copy ends at 950 ns (timing_test.cpp); 20 ns issue, 20 ns hop, 4 B at 204.8 GB/s in 20 ps.
  CHECK(bench.registers.written_at == 950'000 + 40'020);
  CHECK(result.end_ps == bench.registers.written_at);
}
