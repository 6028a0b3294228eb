// SPDX-License-Identifier: Apache-2.0
//
// Instruction semantics, by programs that check themselves against values worked out by hand.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "models/riscv/core.h"
#include "models/riscv/elf.h"
#include "tests/models/riscv/silent_bus.h"

using namespace steppe;

namespace {

/// What the program tells: 1 for a pass, 2 n + 1 where check n failed, 0 if it never ends.
std::uint32_t run(const std::string& name) {
  const auto elf = read_file(STEPPE_RISCV_PROGRAMS "/" + name + ".elf");
  std::vector<std::uint8_t> memory(1 << 20);
  SilentBus bus;
  RiscvCore core(memory, 0, bus, {});
  core.reset(load_elf(elf, memory));
  const std::uint32_t tohost = elf_symbol(elf, "tohost", name).value();
  std::uint32_t told = 0;
  for (int i = 0; i < 1000 && told == 0; ++i) {
    core.run(core.cycles() + 100);
    std::memcpy(&told, memory.data() + tohost, sizeof told);
  }
  return told;
}

}  // namespace

TEST_CASE("integer instructions") { CHECK(run("integer") == 1); }
TEST_CASE("loads and stores") { CHECK(run("memory") == 1); }
TEST_CASE("multiplication and division") { CHECK(run("multiply") == 1); }
TEST_CASE("atomics") { CHECK(run("atomic") == 1); }
TEST_CASE("compressed instructions") { CHECK(run("compressed") == 1); }
TEST_CASE("control and status registers") { CHECK(run("csr") == 1); }
TEST_CASE("counters that are stopped") { CHECK(run("counters") == 1); }
TEST_CASE("memory protection and triggers") { CHECK(run("protection") == 1); }
TEST_CASE("exceptions") { CHECK(run("traps") == 1); }
TEST_CASE("self-modifying code") { CHECK(run("self_modifying") == 1); }
TEST_CASE("a failing check is told by its number") { CHECK(run("fails") == (2 << 1 | 1)); }
TEST_CASE("a program that never ends tells nothing") { CHECK(run("spins") == 0); }
