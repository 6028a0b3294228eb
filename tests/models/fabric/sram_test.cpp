// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/sram.h"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "models/base/address.h"
#include "tests/models/fabric/bench.h"

using namespace steppe;
using test::read_time;
using test::write_time;

namespace {

/// 8 banks, 64 B wide, 8 GB/s each: a word takes 8 ns, 64 GB/s in all; no latency.
struct BanksBench : test::Bench {
  std::vector<std::unique_ptr<test::Initiator>> ports;
  std::unique_ptr<Sram> sram;

  BanksBench() {
    set("sram.bandwidth", "64 GB/s");
    set("sram.latency", "0");
    set("sram.banks", "8");
  }
  void build(unsigned initiators) {
    sram = std::make_unique<Sram>("sram", scope.child("sram"), address::sram);
    for (unsigned i = 0; i < initiators; ++i) {
      ports.push_back(std::make_unique<test::Initiator>(("port" + std::to_string(i)).c_str()));
      ports.back()->socket.bind(sram->socket);
    }
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
  std::int64_t read(unsigned i, std::uint64_t offset, Bytes bytes) {
    return read_time(*ports[i], address::sram + offset, bytes);
  }
};

}  // namespace

TEST_CASE("sram banks: few banks give their part, all of them the whole") {
  BanksBench bench;
  bench.build(1);
  CHECK(bench.read(0, 0, 64) == 8'000);  // one bank
  // All banks at 64 GB/s: 4096 B in 64 ns, after the nanosecond that 64 B took of the whole.
  CHECK(bench.read(0, 0, 4096) == 65'000);
}

TEST_CASE("sram banks: two on the same bank wait, on others they do not") {
  BanksBench bench;
  bench.build(2);
  CHECK(bench.read(0, 0, 64) == 8'000);
  CHECK(bench.read(1, 512, 64) == 16'000);  // bank 0 again
  CHECK(bench.read(1, 64, 64) == 8'000);    // bank 1
  CHECK(bench.read(0, 0, 128) == 24'000);   // banks 0 and 1: bank 0 is free at 16
  CHECK(bench.stat("sram.conflicts") == 2);
  CHECK(bench.stat("sram.conflict_wait") == 8'000 + 16'000);
  CHECK(bench.stat("sram.peak_bandwidth") == 64e9);
}

TEST_CASE("sram banks: two and four initiators share all banks and lose nothing") {
  BanksBench bench;
  bench.build(4);
  for (int i = 1; i <= 40; ++i) {
    // 4096 B are 64 ns of all banks.
    CHECK(bench.read(static_cast<unsigned>(i) % 4, 0, 4096) == 64'000 * i);
  }
}

TEST_CASE("sram ports: a narrow port binds its initiator, two of them share one") {
  BanksBench bench;
  bench.set("sram.ports", "2");
  bench.set("sram.port_bandwidth", "16 GB/s");
  bench.build(3);
  CHECK(bench.read(0, 0, 4096) == 256'000);  // 4096 B at 16 GB/s
  CHECK(bench.read(1, 0, 4096) == 256'000);  // the other port
  CHECK(bench.read(2, 0, 4096) == 512'000);  // port 0 again
}

TEST_CASE("sram: one bank is plain bandwidth") {
  BanksBench bench;
  bench.set("sram.banks", "1");
  bench.build(1);
  CHECK(bench.read(0, 0, 64) == 1'000);
  CHECK(bench.read(0, 0, 640) == 11'000);
}
