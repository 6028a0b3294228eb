// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "models/base/address.h"
#include "models/fabric/pcie.h"
#include "tests/models/fabric/bench.h"

using namespace steppe;
using test::read_time;
using test::write_time;

namespace {

/// A host and three chips, each behind a generation 3 x16 link on one switch; instant memories.
///
/// 4096 B take 284.375 ns on a link (see link_test.cpp), a link 250 ns each way, the switch 110 ns.
struct SwitchBench : test::Bench {
  static constexpr std::size_t ends = 4;  // the host, then the chips
  PcieSwitch hub{"hub", scope.child("hub")};
  std::vector<std::unique_ptr<test::Initiator>> ports;
  std::vector<std::unique_ptr<PcieLink>> links;
  std::vector<std::unique_ptr<Sram>> memories;

  SwitchBench() {
    for (std::size_t i = 0; i < ends; ++i) {
      const std::string n = std::to_string(i);
      make_instant("memory" + n);
      ports.push_back(std::make_unique<test::Initiator>(("port" + n).c_str()));
      links.push_back(std::make_unique<PcieLink>(("link" + n).c_str(), scope.child("link" + n)));
      memories.push_back(
          std::make_unique<Sram>(("memory" + n).c_str(), scope.child("memory" + n), address_of(i)));
      attach(i);
    }
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
  static std::uint64_t address_of(std::size_t end) {
    return end == 0 ? address::host_bit
                    : address::on_chip(static_cast<std::uint32_t>(end - 1), address::sram);
  }
  MemoryPort& chip(std::size_t n) { return *ports[n + 1]; }
  MemoryPort& host() { return *ports[0]; }

 private:
  /// The host sits at end a of its link, a chip at end b.
  void attach(std::size_t i) {
    PcieLink& link = *links[i];
    auto& device_in = i == 0 ? link.a_in : link.b_in;
    auto& device_out = i == 0 ? link.a_out : link.b_out;
    auto& hub_in = i == 0 ? link.b_in : link.a_in;
    auto& hub_out = i == 0 ? link.b_out : link.a_out;
    ports[i]->socket.bind(device_in);
    device_out.bind(memories[i]->socket);
    hub_out.bind(hub.from);
    hub.to.bind(hub_in);
  }
};

}  // namespace

TEST_CASE("switch: chip to chip, host to chip, chip to host take the same way") {
  SwitchBench bench;
  constexpr std::int64_t one_way = 250'000 + 110'000 + 250'000;
  CHECK(write_time(bench.chip(0), bench.address_of(2), 4096) == one_way + 284'375);
  CHECK(read_time(bench.host(), bench.address_of(3), 4096) == 2 * one_way + 284'375);
  CHECK(write_time(bench.chip(1), address::host_bit, 4096) == one_way + 284'375);
}

TEST_CASE("switch: chip to chip traffic leaves the host link alone") {
  SwitchBench bench;
  for (int i = 0; i < 4; ++i) CHECK(write_time(bench.chip(0), bench.address_of(2), 4096) > 0);
  CHECK(bench.stat("link0.upstream.busy") == 0);
  CHECK(bench.stat("link0.downstream.busy") == 0);
  CHECK(bench.stat("link1.upstream.bytes") == 4 * 4096);
  CHECK(bench.stat("link2.downstream.bytes") == 4 * 4096);
}

TEST_CASE("switch: two chips share the host link, two pairs of chips share nothing") {
  SwitchBench bench;
  constexpr std::int64_t one_way = 250'000 + 110'000 + 250'000;
  CHECK(write_time(bench.chip(0), address::host_bit, 4096) == one_way + 284'375);
  CHECK(write_time(bench.chip(1), address::host_bit, 4096) == one_way + 2 * 284'375);
  // Chip 2's link is free both ways.
  CHECK(write_time(bench.chip(2), bench.address_of(1), 4096) == one_way + 284'375);
}

TEST_CASE("switch: an address without a chip, or of one too many, leads nowhere") {
  SwitchBench bench;
  CHECK(write_time(bench.host(), address::sram, 64) == -1);
  CHECK(write_time(bench.host(), address::on_chip(3, address::sram), 64) == -1);
  CHECK(bench.host().direct(address::on_chip(3, address::sram), 64) == nullptr);
}

TEST_CASE("switch: direct memory of a chip is the same from everywhere") {
  SwitchBench bench;
  std::uint8_t* from_host = bench.host().direct(bench.address_of(2), 64);
  REQUIRE(from_host != nullptr);
  CHECK(bench.chip(0).direct(bench.address_of(2), 64) == from_host);
  CHECK(bench.chip(0).direct(bench.address_of(3), 64) != from_host);
}
