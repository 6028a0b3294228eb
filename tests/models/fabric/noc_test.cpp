// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/noc.h"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "models/base/address.h"
#include "tests/models/fabric/bench.h"

using namespace steppe;
using test::read_time;
using test::write_time;

namespace {

constexpr std::uint64_t slice0 = address::sram_of(0);
constexpr std::uint64_t slice1 = address::sram_of(1);
constexpr std::uint32_t own_chip = 1;

/// Four initiators and two instant memories on chip 1's network; 4096 B take 20 ns at a port, a hop
/// takes 20 ns.
struct NocBench : test::Bench {
  Noc noc{"noc", scope.child("noc"), own_chip};
  std::vector<std::unique_ptr<test::Initiator>> ports;
  std::vector<std::unique_ptr<Sram>> slices;

  NocBench() {
    for (unsigned i = 0; i < 4; ++i) {
      ports.push_back(std::make_unique<test::Initiator>(("port" + std::to_string(i)).c_str()));
      noc.add_initiator(noc.add_port("initiator" + std::to_string(i)));
      ports.back()->socket.bind(noc.from);
    }
    for (unsigned i = 0; i < 2; ++i) {
      const std::string name = "sram" + std::to_string(i);
      make_instant(name);
      slices.push_back(
          std::make_unique<Sram>(name.c_str(), scope.child(name), address::sram_of(i)));
      noc.add_target(noc.add_port("slice" + std::to_string(i)), address::sram_of(i),
                     slices.back()->size());
      noc.to.bind(slices.back()->socket);
    }
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
  MemoryPort& port(std::size_t i) { return *ports[i]; }
};

}  // namespace

TEST_CASE("noc: a write takes a hop and its length, a read a hop more") {
  NocBench bench;
  CHECK(write_time(bench.port(0), slice0, 4096) == 20'000 + 20'000);
  CHECK(read_time(bench.port(1), slice1, 4096) == 20'000 + 20'000 + 20'000);
}

TEST_CASE("noc: four initiators at one target share its port and lose no bandwidth") {
  NocBench bench;
  for (int i = 0; i < 12; ++i) {
    CHECK(write_time(bench.port(i % 4), slice0, 4096) == 20'000 + 20'000 * (i + 1));
  }
  CHECK(bench.stat("noc.slice0.out.busy") == 12 * 20'000);
  CHECK(bench.stat("noc.initiator0.in.bytes") == 3 * 4096);
}

TEST_CASE("noc: a write to several slices leaves its port once and reaches all") {
  NocBench bench;
  constexpr std::uint64_t both = address::sram_of_first(2);
  CHECK(write_time(bench.port(0), both, 4096) == 40'000);  // as to one of them
  CHECK(bench.stat("noc.initiator0.in.bytes") == 4096);
  CHECK(bench.stat("noc.slice0.out.bytes") == 4096);
  CHECK(bench.stat("noc.slice1.out.bytes") == 4096);
  // A slice that is busy holds the write up.
  CHECK(write_time(bench.port(1), slice1, 4096) == 60'000);
  CHECK(write_time(bench.port(2), both, 4096) == 80'000);
  std::uint8_t value = 42;
  sc_core::sc_time delay;
  CHECK(bench.port(0).write(both + 5, &value, 1, delay));
  CHECK(*bench.port(0).direct(slice0 + 5, 1) == 42);
  CHECK(*bench.port(0).direct(slice1 + 5, 1) == 42);
}

TEST_CASE("noc: several slices cannot be read, nor written beyond those that there are") {
  NocBench bench;
  sc_core::sc_time delay;
  CHECK(!bench.port(0).reserve(tlm::TLM_READ_COMMAND, address::sram_of_first(2), 4, delay));
  CHECK(!bench.port(0).reserve(tlm::TLM_WRITE_COMMAND, address::sram_of_first(3), 4, delay));
  CHECK(bench.port(0).direct(address::sram_of_first(2), 4) == nullptr);
}

TEST_CASE("noc: separate pairs do not disturb each other") {
  NocBench bench;
  CHECK(write_time(bench.port(0), slice0, 4096) == 40'000);
  CHECK(write_time(bench.port(1), slice1, 4096) == 40'000);
}

TEST_CASE("noc: an initiator's own port is shared over its targets, each way for itself") {
  NocBench bench;
  CHECK(write_time(bench.port(0), slice0, 4096) == 40'000);
  CHECK(write_time(bench.port(0), slice1, 4096) == 60'000);
  CHECK(read_time(bench.port(0), slice0, 4096) == 60'000);  // the other way: no waiting
}

TEST_CASE("noc: an address that leads nowhere, or leaves its target, is an error") {
  NocBench bench;
  const Bytes size = bench.slices[0]->size();
  CHECK(read_time(bench.port(0), address::dram, 4) == -1);
  CHECK(read_time(bench.port(0), slice0 + size - 4, 8) == -1);
  CHECK(read_time(bench.port(0), address::on_chip(2, slice0), 4) == -1);
  CHECK(read_time(bench.port(0), address::host_bit, 4) == -1);
  CHECK(bench.port(0).direct(address::dram, 4) == nullptr);
}

TEST_CASE("noc: both forms of an own address reach the same byte") {
  NocBench bench;
  const std::uint64_t named = address::on_chip(own_chip, slice1 + 8);
  CHECK(write_time(bench.port(0), named, 4096) == 40'000);
  std::uint8_t* short_form = bench.port(0).direct(slice1 + 8, 16);
  std::uint8_t* long_form = bench.port(0).direct(named, 16);
  REQUIRE(short_form != nullptr);
  CHECK(short_form == long_form);
  // The cached regions keep to their form: the end of the slice is the end in both.
  const Bytes size = bench.slices[1]->size();
  CHECK(bench.port(0).direct(address::on_chip(own_chip, slice1 + size - 1), 2) == nullptr);
  CHECK(bench.port(0).direct(address::on_chip(own_chip, slice1 + size - 1), 1) != nullptr);
}

TEST_CASE("noc: a chip with a target of its own goes there, all else outside") {
  test::Bench bench;
  Noc noc("noc", bench.scope.child("noc"), own_chip);
  test::Initiator port("port");
  noc.add_initiator(noc.add_port("initiator"));
  port.socket.bind(noc.from);
  Sram neighbour("neighbour", bench.scope.child("neighbour"), address::on_chip(2, slice0));
  Sram host("host", bench.scope.child("host"), address::host_bit);
  noc.add_chip_target(noc.add_port("link"), 2);
  noc.to.bind(neighbour.socket);
  noc.add_outside_target(noc.add_port("pcie"));
  noc.to.bind(host.socket);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);

  CHECK(write_time(port, address::on_chip(2, slice0), 64) > 0);
  CHECK(write_time(port, address::host_bit, 128) > 0);
  CHECK(write_time(port, address::on_chip(3, slice0), 64) == -1);  // outside does not hold it
  CHECK(bench.stat("neighbour.bytes") == 64);
  CHECK(bench.stat("host.bytes") == 128);
  CHECK(port.direct(address::host_bit + 4, 4) == port.direct(address::host_bit, 8) + 4);
}
