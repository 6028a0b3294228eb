// SPDX-License-Identifier: Apache-2.0
//
// What the host sees of the core: the bus, interrupts, time, changes from outside.
#include "models/riscv/core.h"

#include <doctest/doctest.h>

#include <cstring>
#include <initializer_list>
#include <vector>

#include "tests/models/riscv/encode.h"

using namespace steppe;
using namespace encode;
using Stop = RiscvCore::Stop;
using riscv::Interrupt;

namespace {

constexpr std::uint64_t long_time = 1 << 20;

/// Answers reads with `value` and keeps what was asked last; faults where `ok` is false.
struct RecordingBus : riscv::Bus {
  Answer read(std::uint32_t at, std::uint32_t& to, unsigned width) override {
    address = at;
    bytes = width;
    to = value;
    return {ok, cycles};
  }
  Answer write(std::uint32_t at, std::uint32_t from, unsigned width) override {
    address = at;
    bytes = width;
    value = from;
    return {ok, cycles};
  }
  std::uint32_t address = 0, value = 0;
  unsigned bytes = 0;
  bool ok = true;
  std::uint64_t cycles = 0;
};

struct Fixture {
  void put(std::uint32_t at, std::initializer_list<std::uint32_t> words) {
    std::memcpy(memory.data() + at, words.begin(), words.size() * 4);
  }
  std::uint32_t csr(std::uint32_t number) { return core.csrs().read(number).value(); }

  std::vector<std::uint8_t> memory = std::vector<std::uint8_t>(1 << 16);
  RecordingBus bus;
  RiscvCore core{memory, 0, bus, {}};
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "bus: address, width, extension, a stop after each access") {
  bus.value = 0xdead'8180;
  put(0, {lui(1, 0x10000), load(0, 2, 1, 5), load(4, 3, 1, 6), load(1, 4, 1, 6), load(5, 5, 1, -2),
          lw(6, 1, 4)});
  CHECK(core.run(long_time) == Stop::bus);
  CHECK(core.x(2) == 0xffff'ff80);
  CHECK(bus.address == 0x1000'0005);
  CHECK(bus.bytes == 1);
  CHECK(core.pc() == 8);
  CHECK(core.run(long_time) == Stop::bus);
  CHECK(core.x(3) == 0x80);
  CHECK(core.run(long_time) == Stop::bus);
  CHECK(core.x(4) == 0xffff'8180);
  CHECK(bus.bytes == 2);
  CHECK(core.run(long_time) == Stop::bus);
  CHECK(core.x(5) == 0x8180);
  CHECK(bus.address == 0x0fff'fffe);
  CHECK(core.run(long_time) == Stop::bus);
  CHECK(core.x(6) == 0xdead'8180);
  CHECK(bus.bytes == 4);
  CHECK(core.instructions() == 6);
}

TEST_CASE_FIXTURE(Fixture, "bus: stores hand over the low bits, its cycles are added") {
  bus.cycles = 100;
  put(0, {lui(1, 0x10000), addi(2, 0, 0x7a5), sw(2, 1, 8), store(0, 2, 1, 3)});
  CHECK(core.run(long_time) == Stop::bus);
  CHECK(bus.address == 0x1000'0008);
  CHECK(bus.value == 0x7a5);
  CHECK(core.cycles() == 1 + 1 + 1 + 100);
  CHECK(core.run(long_time) == Stop::bus);
  CHECK(bus.bytes == 1);
  CHECK((bus.value & 0xff) == 0xa5);
}

TEST_CASE_FIXTURE(Fixture,
                  "bus: a refused access traps at its instruction, which does not retire") {
  bus.ok = false;
  put(0, {lui(1, 0x10000), addi(2, 0, 0x100), csrrw(0, mtvec, 2), lw(3, 1, 4), addi(4, 0, 1)});
  CHECK(core.run(long_time) == Stop::bus);
  CHECK(core.pc() == 0x100);
  CHECK(csr(mcause) == 5);
  CHECK(csr(mepc) == 12);
  CHECK(csr(mtval) == 0x1000'0004);
  CHECK(core.instructions() == 3);
  CHECK(core.traps() == 1);
}

namespace {

/// All three lines rise at once; each falls when its handler begins.
void check_priorities(Fixture& f, bool is_vectored) {
  const std::uint32_t loop = 28;
  f.put(0,
        {lui(1, 1), addi(1, 1, -0x778), csrrw(0, mie, 1), addi(2, 0, is_vectored ? 0x401 : 0x400),
         csrrw(0, mtvec, 2), addi(3, 0, 8), csrrw(0, mstatus, 3), jump(0)});
  f.core.run(1000);
  REQUIRE(f.core.pc() == loop);
  for (const auto line : {Interrupt::timer, Interrupt::software, Interrupt::external}) {
    f.core.set_interrupt(line, true);
  }
  for (std::uint32_t handler = 0x400; handler < 0x430; handler += 4) f.put(handler, {mret});
  // Each run ends with the next interrupt taken and its handler not begun.
  for (const auto line : {Interrupt::external, Interrupt::software, Interrupt::timer}) {
    const auto number = static_cast<std::uint32_t>(line);
    f.core.run(f.core.cycles() + 1);
    CHECK(f.core.pc() == 0x400 + (is_vectored ? 4 * number : 0));
    CHECK(f.csr(mcause) == (0x8000'0000 | number));
    CHECK(f.csr(mepc) == loop);
    CHECK(f.csr(mtval) == 0);
    CHECK(f.csr(mstatus) == 0x1880);
    f.core.set_interrupt(line, false);
  }
  f.core.run(f.core.cycles() + 1);
  CHECK(f.core.pc() == loop);
  CHECK(f.csr(mstatus) == 0x1888);
  CHECK(f.core.interrupts() == 3);
  CHECK(f.core.traps() == 0);
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "interrupts: external, software, timer, all to one handler") {
  check_priorities(*this, false);
}
TEST_CASE_FIXTURE(Fixture, "interrupts: external, software, timer, each to its vector") {
  check_priorities(*this, true);
}

TEST_CASE_FIXTURE(Fixture, "exceptions go to the base of a vectored mtvec") {
  put(0, {addi(2, 0, 0x401), csrrw(0, mtvec, 2), ecall});
  put(0x400, {jump(0)});
  core.run(1000);
  CHECK(core.pc() == 0x400);
}

TEST_CASE_FIXTURE(Fixture, "wfi sleeps until what mie enables is pending, whatever mstatus says") {
  put(0, {lui(1, 1), addi(1, 1, -0x800), csrrw(0, mie, 1), wfi, addi(4, 0, 1), jump(0)});
  CHECK(core.run(1000) == Stop::sleep);
  CHECK(core.pc() == 16);
  core.set_interrupt(Interrupt::timer, true);
  CHECK_FALSE(core.wakes());
  core.set_interrupt(Interrupt::external, true);
  CHECK(core.wakes());
  CHECK(core.run(1000) == Stop::limit);
  CHECK(core.x(4) == 1);
  CHECK(core.interrupts() == 0);
}

TEST_CASE_FIXTURE(Fixture, "wfi with an interrupt pending goes on") {
  put(0, {lui(1, 1), addi(1, 1, -0x800), csrrw(0, mie, 1), wfi, addi(4, 0, 1), jump(0)});
  core.set_interrupt(Interrupt::external, true);
  CHECK(core.run(1000) == Stop::limit);
  CHECK(core.x(4) == 1);
}

TEST_CASE_FIXTURE(Fixture, "cycles by class of instruction") {
  put(0, {addi(1, 0, 0x100),  // 1
          mul(2, 1, 1),       // 1
          div(2, 2, 1),       // 34
          sw(2, 1, 0),        // 1
          lw(3, 1, 0),        // 2
          bne(1, 1, 8),       // 1, not taken
          bne(1, 0, 8),       // 1 + 2, taken
          0, jump(8),         // 1 + 2
          0, wfi});           // 3
  CHECK(core.run(long_time) == Stop::sleep);
  CHECK(core.cycles() == 1 + 1 + 34 + 1 + 2 + 1 + 3 + 3 + 3);
  CHECK(core.instructions() == 9);
  CHECK(core.x(3) == 0x100);
}

TEST_CASE_FIXTURE(Fixture, "worked example of the README: ends of instructions, cycle by cycle") {
  bus.cycles = 37;
  put(0,
      {addi(10, 0, 0x100), addi(12, 0, 3), lw(11, 10, 0), r_type(0, 11, 13, 0, 13), addi(10, 10, 4),
       addi(12, 12, -1), branch(1, 12, 0, -16), lui(14, 0x10000), sw(13, 14, 0), wfi});
  put(0x100, {5, 70, 900});
  CHECK(core.run(2) == Stop::limit);  // to the end of the block: the first taken branch
  CHECK(core.cycles() == 10);
  CHECK(core.run(11) == Stop::limit);
  CHECK(core.cycles() == 18);
  CHECK(core.run(long_time) == Stop::bus);
  CHECK(core.cycles() == 63);
  CHECK(bus.value == 975);
  CHECK(core.run(long_time) == Stop::sleep);
  CHECK(core.cycles() == 66);
  CHECK(core.instructions() == 20);
}

TEST_CASE_FIXTURE(Fixture, "run passes its limit by less than a block of 64") {
  for (std::uint32_t at = 0; at < 4000; at += 4) put(at, {nop});
  put(4000, {jump(0)});
  CHECK(core.run(100) == Stop::limit);
  CHECK(core.cycles() >= 100);
  CHECK(core.cycles() < 164);
  CHECK(core.instructions() == core.cycles());
  CHECK(core.pc() == 4 * core.instructions());
}

TEST_CASE_FIXTURE(Fixture, "a trap without a handler to fetch halts, with the reason") {
  put(0, {lui(1, 0x40000), csrrw(0, mtvec, 1), ecall});
  CHECK(core.run(long_time) == Stop::halted);
  CHECK(core.halt_reason().find("0x40000000") != std::string::npos);
  CHECK(core.halt_reason().find("mcause 1") != std::string::npos);
  CHECK(core.run(2 * long_time) == Stop::halted);
}

TEST_CASE_FIXTURE(Fixture, "a handler that begins with an illegal instruction halts") {
  put(0, {addi(1, 0, 0x100), csrrw(0, mtvec, 1), ecall});
  CHECK(core.run(long_time) == Stop::halted);
  CHECK(core.halt_reason().find("mcause 2") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "traps that make progress do not halt") {
  put(0, {addi(1, 1, 1), ecall});  // mtvec is 0
  CHECK(core.run(1000) == Stop::limit);
  CHECK(core.x(1) > 100);
}

TEST_CASE_FIXTURE(Fixture, "code that others change is seen after they say so") {
  put(0, {addi(1, 1, 1), jump(-4)});
  core.run(4 * 10);  // a round takes 1 + 3 cycles
  CHECK(core.x(1) == 10);
  put(0, {addi(1, 1, 100)});
  core.memory_changed(0, 4);
  core.run(4 * 20);
  CHECK(core.x(1) == 10 + 10 * 100);
}

TEST_CASE_FIXTURE(Fixture, "code that others change is seen after fence.i") {
  put(0, {addi(1, 1, 1), fence_i, jump(-8)});
  core.run(7 * 10);  // a round takes 1 + 3 + 3 cycles
  CHECK(core.x(1) == 10);
  put(0, {addi(1, 1, 100)});
  core.run(7 * 20);
  CHECK(core.x(1) == 10 + 10 * 100);
}

TEST_CASE_FIXTURE(Fixture, "a write of others breaks a reservation there and nowhere else") {
  put(0, {addi(1, 0, 0x200), lr(2, 1), wfi, sc(3, 1, 1), lr(2, 1), wfi, sc(4, 1, 1), wfi});
  CHECK(core.run(1000) == Stop::sleep);
  core.memory_changed(0x203, 1);
  CHECK(core.run(1000) == Stop::sleep);
  core.memory_changed(0x204, 4);
  core.memory_changed(0x1f0, 16);
  CHECK(core.run(1000) == Stop::sleep);
  CHECK(core.x(3) == 1);
  CHECK(core.x(4) == 0);
}

TEST_CASE("more code than the cache holds at once") {
  std::vector<std::uint8_t> memory(512 << 10);
  RecordingBus bus;
  RiscvCore core(memory, 0, bus, {});
  const std::uint16_t add_one = 0x0085;  // c.addi x1, 1
  const std::size_t count = (memory.size() - 4) / 2;
  for (std::size_t i = 0; i < count; ++i) std::memcpy(memory.data() + 2 * i, &add_one, 2);
  std::memcpy(memory.data() + 2 * count, &wfi, 4);
  for (int round = 0; round < 2; ++round) {
    CHECK(core.run(core.cycles() + 2 * count) == Stop::sleep);
    CHECK(core.x(1) == count);
    core.reset(0);
    CHECK(core.x(1) == 0);
  }
  CHECK(core.instructions() == 2 * (count + 1));
}

TEST_CASE("a memory that does not begin at 0") {
  std::vector<std::uint8_t> memory(4096);
  RecordingBus bus;
  RiscvCore core(memory, 0x8000'0000, bus, {}, 5);
  const std::uint32_t program[] = {lui(1, 0x80000), sw(1, 1, 0x100), lw(2, 1, 0x100),
                                   csrrw(3, 0xf14, 0)};
  std::memcpy(memory.data(), program, sizeof program);
  core.reset(0x8000'0000);
  CHECK(core.run(4) == Stop::limit);
  CHECK(core.x(2) == 0x8000'0000);
  CHECK(core.csrs().read(0xf14) == 5);
}
