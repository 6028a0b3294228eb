// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>
#include <cstdlib>

#include "models/base/address.h"
#include "models/base/error.h"
#include "models/fabric/dram.h"
#include "models/fabric/sram.h"
#include "tests/models/fabric/bench.h"

using namespace steppe;
using test::read_time;
using test::write_time;

namespace {

struct SramBench : test::Bench {
  test::Initiator first{"first"};
  test::Initiator second{"second"};
  Sram sram{"sram", scope.child("sram"), address::sram};
  explicit SramBench(Mode mode = Mode::functional) : Bench(mode) {
    first.socket.bind(sram.socket);
    second.socket.bind(sram.socket);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
};

}  // namespace

TEST_CASE("sram: latency and bandwidth of the published figures") {
  SramBench bench;
  // 11700 B at 2.925 TB/s are 4 ns, and 5 ns latency.
  CHECK(read_time(bench.first, address::sram, 11700) == 9000);
  CHECK(bench.sram.size() == 21'495'808);
}

TEST_CASE("sram: two initiators share it and lose no bandwidth") {
  SramBench bench;
  for (int i = 1; i <= 10; ++i) {
    CHECK(read_time(bench.first, address::sram, 11700) == 5000 + 4000 * (2 * i - 1));
    CHECK(write_time(bench.second, address::sram, 11700) == 5000 + 4000 * 2 * i);
  }
  CHECK(bench.stat("sram.bytes") == 20 * 11700);
  CHECK(bench.stat("sram.busy") == 20 * 4000);
}

TEST_CASE("sram: bounds, values, direct memory") {
  SramBench bench;
  const Bytes size = bench.sram.size();
  CHECK(read_time(bench.first, address::sram + size - 4, 4) > 0);
  CHECK(read_time(bench.first, address::sram + size - 4, 5) == -1);
  CHECK(read_time(bench.first, address::sram - 1, 4) == -1);

  const std::array<std::uint8_t, 4> values{1, 2, 3, 4};
  sc_core::sc_time delay;
  REQUIRE(bench.first.write(address::sram + 100, values.data(), 4, delay));
  const std::uint8_t* direct = bench.second.direct(address::sram + 100, 4);
  REQUIRE(direct != nullptr);
  CHECK(std::equal(values.begin(), values.end(), direct));
  CHECK(direct[4] == 0);
  CHECK(bench.first.direct(address::sram + size - 4, 4) != nullptr);
  CHECK(bench.first.direct(address::sram + size - 4, 5) == nullptr);
}

TEST_CASE("dram: peak times efficiency, in a timing run as well, where values written stay") {
  test::Bench bench(Mode::timing);
  bench.set("dram.fidelity", "ideal");
  bench.set("dram.bandwidth", "100 GB/s");
  bench.set("dram.efficiency", "0.5");
  test::Initiator port("port");
  Dram dram("dram", bench.scope.child("dram"), address::dram);
  port.socket.bind(dram.socket);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  // 5000 B at 50 GB/s are 100 ns, and 90 ns latency.
  CHECK(read_time(port, address::dram, 5000) == 190'000);
  // Asked for in 1 us: nothing in the way.
  CHECK(write_time(port, address::dram, 5000, 1'000'000) == 1'190'000);

  const std::uint64_t last = address::dram + 20'000'000'000 - 4;
  std::uint32_t value = 0xfeedbeef;
  std::uint32_t back = 0;
  sc_core::sc_time delay;
  REQUIRE(port.write(last, &value, 4, delay));
  REQUIRE(port.read(last, &back, 4, delay));
  CHECK(back == value);
}

TEST_CASE("dram: the published bandwidth") {
  test::Bench bench;
  bench.set("dram.fidelity", "ideal");
  test::Initiator port("port");
  Dram dram("dram", bench.scope.child("dram"), address::dram);
  port.socket.bind(dram.socket);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  // 82 GB/s * 0.92 = 75.44 GB/s: 75440 B are 1 us; a picosecond for the rounding of 0.92.
  CHECK(std::abs(read_time(port, address::dram, 75440) - 1'090'000) <= 1);
}

TEST_CASE("dram: an unknown fidelity is refused by name") {
  test::Bench bench;
  bench.set("dram.fidelity", "idael");
  CHECK_THROWS_WITH_AS(Dram("dram", bench.scope.child("dram"), address::dram),
                       doctest::Contains("did you mean 'ideal'"), ConfigError);
}
