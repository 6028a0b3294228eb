// SPDX-License-Identifier: Apache-2.0
#include "platform/server.h"

#include <doctest/doctest.h>

#include "models/base/error.h"
#include "tests/platform/test_host.h"

using namespace steppe;
using namespace steppe::test;

namespace reg = control;

namespace {

constexpr std::uint64_t there = address::dram + 0x8000;

/// Has a chip copy the bytes that lie there to the same place of another one; the time in ps.
std::uint64_t copy_to(TestHost& host, std::uint32_t from, std::uint32_t chip,
                      const std::vector<std::uint8_t>& bytes) {
  const std::uint64_t begin = now_ps();
  CHECK(host.command(from, reg::OP_COPY, {there, address::on_chip(chip, there), bytes.size()})
            .status == reg::STATUS_OK);
  const std::uint64_t took = now_ps() - begin;
  std::vector<std::uint8_t> got(bytes.size());
  sc_core::sc_time delay;
  CHECK(host.mmio.read(address::on_chip(chip, there), got.data(), got.size(), delay));
  CHECK(got == bytes);
  return took;
}

}  // namespace

TEST_CASE("s30x2: two cards of three chips, numbered through, each at its path") {
  CardBench bench("s30x2");
  bench.build();
  const ServerDescription server = bench.server->description();
  CHECK(server.cards == 2);
  CHECK(server.chips == 6);
  CHECK(server.chips_of_card == 3);
  CHECK(server.chip_paths == std::vector<std::string>{"card0.chip0", "card0.chip1", "card0.chip2",
                                                      "card1.chip0", "card1.chip1", "card1.chip2"});
  // Chips of one card: two links of 250 ns and 110 ns of the switch. Of two: two more links, a
  // switch more and the root complex.
  CHECK(server.chip_link_latency == doctest::Approx(610e-9));
  CHECK(server.card_link_latency == doctest::Approx(4 * 250e-9 + 3 * 110e-9));
  CHECK(server.card_link_bandwidth == server.pcie_bandwidth);
  TestHost& host = *bench.host;
  host.run([&] {
    for (std::uint32_t chip = 0; chip < 6; ++chip) CHECK(host.read(chip, reg::CHIP_ID) == chip);
    std::uint32_t value = 0;
    sc_core::sc_time delay;
    CHECK(!host.mmio.read(address::on_chip(6, address::control), &value, 4, delay));
  });
}

TEST_CASE("what a chip writes to another card's goes through the root complex") {
  CardBench bench("s30x2");
  bench.build();
  TestHost& host = *bench.host;
  std::uint64_t took[2] = {};
  host.run([&] {
    host.start(0);
    std::vector<std::uint8_t> bytes(4096);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 5);
    host.put(0, there, bytes);
    for (const std::uint32_t chip : {1U, 4U}) took[chip / 4] = copy_to(host, 0, chip, bytes);
    // Memory that nobody has, beyond both cards.
    CHECK(host.command(0, reg::OP_COPY, {there, address::on_chip(7, there), 64}).status ==
          reg::STATUS_BAD_ADDRESS);
  });
  CHECK(bench.stat("card0.pcie.upstream.bytes") >= 4096);
  CHECK(bench.stat("card1.pcie.downstream.bytes") >= 4096);
  CHECK(bench.stat("card1.chip1.pcie.downstream.bytes") >= 4096);
  // Two links of 250 ns, a switch and the root complex more, of 110 ns each; nothing else differs
  // but where a polling core stands when the data are there.
  CHECK(took[1] - took[0] > 600'000);
  CHECK(took[1] - took[0] < 840'000);
}

TEST_CASE("s10x1x3: three servers of one card on a network") {
  CardBench bench("s10x1x3");
  bench.build();
  const ServerDescription all = bench.server->description();
  CHECK(all.servers == 3);
  CHECK(all.cards == 3);
  CHECK(all.chips == 6);
  // Four PCIe links of 250 ns, two switches, two roots and the network of 110 ns each, two NICs of
  // 1 us.
  CHECK(all.server_link_latency == doctest::Approx(4 * 250e-9 + 5 * 110e-9 + 2e-6));
  CHECK(all.server_link_bandwidth == 12.5e9);
  TestHost& host = *bench.host;
  std::uint64_t took[2] = {};
  host.run([&] {
    for (std::uint32_t chip = 0; chip < 6; ++chip) CHECK(host.read(chip, reg::CHIP_ID) == chip);
    host.start(2);
    const std::vector<std::uint8_t> bytes(4096, 77);
    host.put(2, there, bytes);
    for (const std::uint32_t chip : {3U, 5U}) took[chip / 4] = copy_to(host, 2, chip, bytes);
    std::uint32_t value = 0;
    sc_core::sc_time delay;
    CHECK(!host.mmio.read(address::on_chip(6, address::control), &value, 4, delay));
  });
  CHECK(bench.stat("server1.nic.upstream.bytes") >= 4096);
  CHECK(bench.stat("server2.nic.downstream.bytes") >= 4096);
  CHECK(bench.stat("server0.nic.downstream.bytes") < 4096);
  // Two PCIe links, a switch, two roots, the network and two NICs more than within a card, and 4096
  // B at 12.5 GB/s on each of these behind the first cut through.
  CHECK(took[1] - took[0] > 2'700'000);
  CHECK(took[1] - took[0] < 3'700'000);
}

TEST_CASE("cards by number, and counts that cannot be") {
  const auto check_refused = [](const std::string& preset, const std::string& part) {
    try {
      CardBench bench(preset, Mode::timing, "refused" + preset);
      bench.build();
      FAIL(preset << " was built");
    } catch (const ConfigError& error) {
      INFO(error.what());
      CHECK(std::string(error.what()).find(part) != std::string::npos);
    }
  };
  check_refused("s30x0", "server.cards");
  check_refused("s30x17", "server.cards");
  check_refused("s30x1x17", "network.servers");
  check_refused("s40x16x16", "at most 254 chips");
  check_refused("s31x2", "there is no preset 's31'");
  check_refused("s30x", "there is no preset 's30x'");
  CardBench bench("s10x2", Mode::timing, "uneven");
  bench.config.set("card1.chips", "1", "--set");
  CHECK_THROWS_WITH_AS(bench.build(), doctest::Contains("all cards have the same"), ConfigError);
}
