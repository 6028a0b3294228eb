// SPDX-License-Identifier: Apache-2.0
#include "models/riscv/control_core.h"

#include <doctest/doctest.h>
#include <tlm_utils/simple_target_socket.h>

#include <cstring>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "models/fabric/transport.h"
#include "models/riscv/elf.h"

using namespace steppe;

namespace {

/// What came over the bus, and when.
struct Access {
  std::uint64_t ps;
  std::uint64_t address;
  std::uint32_t value;
  bool operator==(const Access&) const = default;
};

/// A register block at 0x1000'0000 that takes 37 ns an access, and has nothing past 0x100 bytes.
struct Registers : sc_core::sc_module {
  tlm_utils::simple_target_socket<Registers> socket{"socket"};
  std::vector<Access> accesses;
  std::function<void()> on_access;

  explicit Registers(sc_core::sc_module_name name) : sc_module(name) {
    socket.register_b_transport(this, &Registers::b_transport);
  }
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    std::uint32_t value = 0;
    if (payload.is_write()) std::memcpy(&value, payload.get_data_ptr(), payload.get_data_length());
    accesses.push_back({now_ps(), payload.get_address(), value});
    delay += sc_core::sc_time(37, sc_core::SC_NS);
    const bool ok = payload.get_address() - 0x1000'0000 < 0x100;
    payload.set_response_status(ok ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
    if (on_access) on_access();
  }
};

/// Reaches the core's local memory from outside.
struct Outside : sc_core::sc_module {
  MemoryPort port{"port"};
  explicit Outside(sc_core::sc_module_name name) : sc_module(name) {}
};

/// Keeps slices as text.
struct RecordingTimeline : Timeline {
  std::vector<std::string> slices;
  Track add_track(const std::string& path) override {
    CHECK(path == "core");
    return 3;
  }
  void slice(Track track, std::string_view name, std::uint64_t begin_ps,
             std::uint64_t end_ps) override {
    CHECK(track == 3);
    slices.push_back(fmt::format("{} {} {}", name, begin_ps, end_ps));
  }
};

/// A core at 1 GHz with its bus, and a port to its local memory.
struct Bench {
  explicit Bench(const std::string& name, const std::string& program,
                 const std::string& quantum = "1 us", Timeline* timeline = nullptr) {
    config.set(name + ".clock", "1 GHz", "test");
    config.set(name + ".quantum", quantum, "test");
    context.timeline = timeline;
    core = std::make_unique<ControlCore>(name.c_str(), Scope(context, name));
    registers = std::make_unique<Registers>((name + "_registers").c_str());
    core->bus.socket.bind(registers->socket);
    outside = std::make_unique<Outside>((name + "_outside").c_str());
    port = &outside->port;
    port->socket.bind(core->memory);
    elf = read_file(STEPPE_RISCV_PROGRAMS "/" + program + ".elf");
    core->load(elf, program);
  }
  double stat(const std::string& name) { return context.stats.value("core." + name); }
  std::uint32_t word(std::uint32_t address) {
    std::uint32_t value = 0;
    std::memcpy(&value, port->direct(address, 4), 4);
    return value;
  }
  std::uint32_t told() { return word(elf_symbol(elf, "tohost", "program").value()); }

  Config config;
  SimContext context{config};
  std::unique_ptr<ControlCore> core;
  std::unique_ptr<Registers> registers;
  std::unique_ptr<Outside> outside;
  MemoryPort* port = nullptr;
  std::vector<std::uint8_t> elf;
};

void run_for(double us) { sc_core::sc_start(us, sc_core::SC_US); }

/// Does something at a time.
struct At : sc_core::sc_module {
  SC_HAS_PROCESS(At);
  At(sc_core::sc_module_name name, std::uint64_t ps, std::function<void()> what)
      : sc_module(name), ps_(ps), what_(std::move(what)) {
    SC_THREAD(process);
  }
  void process() {
    wait(from_ps(ps_));
    what_();
  }
  std::uint64_t ps_;
  std::function<void()> what_;
};

}  // namespace

TEST_CASE("timer: wfi ends at the very time that mtime reaches mtimecmp") {
  Bench bench("core", "timer");
  run_for(100);
  // mtime counts at 10 MHz, so that 50 is 5 us. Entering the handler takes 3 cycles of 1 ns; its
  // first instruction goes to the bus for 37 cycles, and takes 1 more; then come three of 3 cycles.
  const std::vector<Access> expected{
      {5'003'000, 0x1000'0004, 0}, {5'003'000 + 37'000 + 1'000 + 9'000, 0x1000'0000, 0x8000'0007}};
  CHECK(bench.registers->accesses == expected);
  CHECK(bench.told() == 1);
  CHECK(bench.stat("interrupts") == 1);
  CHECK(bench.stat("traps") == 0);
  CHECK(bench.stat("bus_accesses") == 2);
}

TEST_CASE("external interrupt: wakes at once, busy and asleep add up") {
  RecordingTimeline timeline;
  Bench bench("core", "external", "1 us", &timeline);
  bench.registers->on_access = [&] { bench.core->set_external_interrupt(false); };
  At first("first", 1'234'567, [&] { bench.core->set_external_interrupt(true); });
  At second("second", 3'000'000, [&] { bench.core->set_external_interrupt(true); });
  run_for(5);
  CHECK(bench.core->asleep());
  const std::vector<Access> expected{{1'234'567, 0x1000'0000, 0}, {3'000'000, 0x1000'0000, 0}};
  CHECK(bench.registers->accesses == expected);
  // lui, lui, addi; csrw 3; wfi 3. Then twice: sw 37 + 1, j 1 + 2, wfi 3.
  CHECK(bench.stat("busy") == 9'000 + 2 * 44'000);
  CHECK(bench.stat("cycles") == 9 + 2 * 44);
  CHECK(bench.stat("sleep") == 5'000'000 - (9'000 + 2 * 44'000));
  CHECK(bench.stat("instructions") == 5 + 2 * 3);
  CHECK(bench.stat("interrupts") == 0);
  const std::vector<std::string> slices{"active 0 9000", "sleep 9000 1234567",
                                        "active 1234567 1278567", "sleep 1278567 3000000",
                                        "active 3000000 3044000"};
  CHECK(timeline.slices == slices);
}

TEST_CASE("statistics: a reset while asleep counts from there") {
  Bench bench("core", "external");
  run_for(2);
  bench.context.stats.reset();
  run_for(3);
  CHECK(bench.stat("sleep") == 3'000'000);
  CHECK(bench.stat("busy") == 0);
}

TEST_CASE("external interrupt: a line that falls before the core sees it does not wake it") {
  Bench bench("core", "external");
  At pulse("pulse", 1'000'000, [&] {
    bench.core->set_external_interrupt(true);
    bench.core->set_external_interrupt(false);
  });
  run_for(5);
  CHECK(bench.registers->accesses.empty());
  CHECK(bench.core->asleep());
}

TEST_CASE("plic: two sources at once are served by priority, each as long as its line is high") {
  Bench bench("core", "plic");
  bench.registers->on_access = [&] {
    bench.core->set_external_interrupt(false, bench.registers->accesses.back().value);
  };
  At both("both", 1'000'000, [&] {
    bench.core->set_external_interrupt(true, 1);
    bench.core->set_external_interrupt(true, 2);
  });
  run_for(5);
  // Entering takes 3 cycles of 1 ns, lw 2. Then sw 37 + 1, sw 1, mret 3, and again entering and lw.
  const std::vector<Access> expected{{1'005'000, 0x1000'0000, 2},
                                     {1'005'000 + 47'000, 0x1000'0000, 1}};
  CHECK(bench.registers->accesses == expected);
  CHECK(bench.stat("interrupts") == 2);
  CHECK(bench.core->asleep());
}

TEST_CASE("temporal decoupling: no quantum changes what happens, or when") {
  Bench shortest("core_a", "quantum", "1 ns");
  Bench usual("core_b", "quantum", "1 us");
  Bench longest("core_c", "quantum", "1 s");
  run_for(1000);
  // 10 times two accesses of the loop, and two for every interrupt.
  CHECK(usual.registers->accesses.size() > 20 + 2 * 20);
  CHECK(shortest.registers->accesses == usual.registers->accesses);
  CHECK(longest.registers->accesses == usual.registers->accesses);
  CHECK(shortest.core->core().instructions() == usual.core->core().instructions());
  CHECK(longest.core->core().cycles() == usual.core->core().cycles());
  CHECK(usual.core->asleep());
  // The generator's state after 500 rounds, from 1: x = 1664525 x + 1013904223.
  std::uint32_t x = 1;
  for (int i = 0; i < 500; ++i) x = 1664525U * x + 1013904223U;
  for (const Access& access : usual.registers->accesses) {
    if (access.address != 0x1000'0000) continue;
    CHECK(access.value == x);
    break;
  }
}

TEST_CASE("local memory: others read and write it, and code they write is run") {
  Bench bench("core", "spins");
  At change("change", 2'000'000, [&] {
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    std::uint32_t word = 0;
    CHECK(bench.port->read(0, &word, 4, delay));
    CHECK(word == 0x0000'006f);  // j .
    CHECK(to_ps(delay) == 1000);
    word = 0x0000'0013;  // nop
    CHECK(bench.told() == 0);
    CHECK(bench.port->write(0, &word, 4, delay));
    CHECK(bench.port->reserve(tlm::TLM_WRITE_COMMAND, 0, 4096, delay));
    CHECK(to_ps(delay) == 3000);
    CHECK_FALSE(bench.port->write(bench.core->memory_bytes() - 2, &word, 4, delay));
  });
  run_for(5);
  CHECK(bench.told() == 1);
  CHECK(bench.core->memory_bytes() == 256 << 10);
  CHECK(bench.port->direct(0, bench.core->memory_bytes()) != nullptr);
}

TEST_CASE("a program without a trap handler halts the core, not the simulation") {
  Bench bench("core", "no_handler");
  run_for(5);
  CHECK(bench.core->halted());
  CHECK(bench.core->halt_reason().find("0x40000000") != std::string::npos);
  CHECK(sc_core::sc_time_stamp() == sc_core::sc_time(5, sc_core::SC_US));
  CHECK(bench.stat("traps") == 2);  // the ecall, and the fetch of the handler's first instruction
}

TEST_CASE("a memory that is not whole KiB, and firmware too large for it, are refused") {
  Config config;
  config.set("core.memory", "5000", "test");
  SimContext context{config};
  CHECK_THROWS_AS(ControlCore("core", Scope(context, "core")), ConfigError);
  Config small;
  small.set("small.memory", "4096", "test");
  SimContext other{small};
  ControlCore core("small", Scope(other, "small"));
  CHECK_THROWS_AS(core.load(read_file(STEPPE_RISCV_PROGRAMS "/compressed.elf")), ConfigError);
}
