// SPDX-License-Identifier: Apache-2.0
#include "platform/energy.h"

#include <doctest/doctest.h>

#include <systemc>

using namespace steppe;

TEST_CASE("energy: counters times the energy of each, and static power over the time") {
  Config config;
  config.set("chip0.energy.int8_mac", "2 pJ", "test");
  config.set("chip0.energy.bf16_mac", "3 pJ", "test");
  config.set("chip0.energy.vector_op", "5 pJ", "test");
  config.set("chip0.energy.special_op", "7 pJ", "test");
  config.set("chip0.energy.sram_byte", "11 pJ", "test");
  config.set("chip0.energy.dram_byte", "13 pJ", "test");
  config.set("chip0.energy.noc_byte", "17 pJ", "test");
  config.set("chip0.energy.pcie_byte", "19 pJ", "test");
  config.set("chip0.energy.instruction", "23 pJ", "test");
  config.set("chip0.energy.static_power", "2 W", "test");
  SimContext context{config};
  const Scope chip(context, "chip0");
  std::map<std::string, Counter> counters;
  const auto count = [&](const std::string& name, std::uint64_t value) {
    counters[name].value = value;
    chip.stat(name, "", "", counters[name]);
  };
  // Two clusters; 1000 multiply-accumulates, 100 of them bf16.
  count("cluster0.tensor.effective_macs", 600);
  count("cluster1.tensor.effective_macs", 400);
  count("cluster0.tensor.bf16_macs", 100);
  count("cluster1.tensor.bf16_macs", 0);
  count("cluster0.vector.lane_ops", 10);
  count("cluster1.vector.lane_ops", 20);
  count("cluster0.vector.special_ops", 1);
  count("cluster1.vector.special_ops", 0);
  count("cluster0.sram.bytes", 100);
  count("cluster1.sram.bytes", 200);
  count("dram.bytes", 50);
  count("noc.a.in.bytes", 3);
  count("noc.b.in.bytes", 4);
  count("noc.b.out.bytes", 1000);  // the same bytes on their way out
  count("pcie.upstream.bytes", 5);
  count("pcie.downstream.bytes", 6);
  count("core.instructions", 9);
  const EnergyModel energy(chip.child("energy"), chip, 2);
  context.stats.on_reset([] {});
  sc_core::sc_start(3, sc_core::SC_NS);
  const auto picojoules = [&](const char* part) {
    return context.stats.value(std::string("chip0.energy.") + part) * 1e12;
  };
  CHECK(picojoules("tensor") == doctest::Approx(900 * 2 + 100 * 3));
  CHECK(picojoules("vector") == doctest::Approx(30 * 5 + 7));
  CHECK(picojoules("sram") == doctest::Approx(300 * 11));
  CHECK(picojoules("dram") == doctest::Approx(50 * 13));
  CHECK(picojoules("noc") == doctest::Approx(7 * 17));
  CHECK(picojoules("pcie") == doctest::Approx(11 * 19));
  CHECK(picojoules("core") == doctest::Approx(9 * 23));
  CHECK(picojoules("static") == doctest::Approx(3e-9 * 2 * 1e12));
  CHECK(picojoules("total") == doctest::Approx(2100 + 157 + 3300 + 650 + 119 + 209 + 207 + 6000));
}
