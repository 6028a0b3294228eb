// SPDX-License-Identifier: Apache-2.0
//
// Nonsense as programs and as ELF files: nothing the guest does, and nothing in a file, harms the
// host.
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "models/base/error.h"
#include "models/riscv/core.h"
#include "models/riscv/elf.h"
#include "tests/models/riscv/random_program.h"
#include "tests/models/riscv/silent_bus.h"

using namespace steppe;

namespace {

std::uint32_t rounds(std::uint32_t otherwise) {
  const char* text = std::getenv("STEPPE_FUZZ_ROUNDS");
  return text == nullptr ? otherwise : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

/// Takes a file as steppe-iss does, and runs it for a while.
void take(const std::vector<std::uint8_t>& elf) {
  std::vector<std::uint8_t> memory(128 << 10);
  try {
    const AddressRange extent = elf_extent(elf, "fuzz");
    const auto base = static_cast<std::uint32_t>(extent.begin & ~std::uint64_t{0xfff});
    elf_symbol(elf, "tohost", "fuzz");
    SilentBus bus;
    const std::uint32_t entry = load_elf(elf, memory, base, "fuzz");
    RiscvCore core(memory, base, bus, {});
    core.reset(entry);
    core.run(2000);
  } catch (const ConfigError& error) {
    CHECK(std::strlen(error.what()) > 0);
  }
}

}  // namespace

TEST_CASE("fuzz: random bytes as a program") {
  for (std::uint32_t round = 0; round < rounds(200); ++round) {
    std::mt19937 random(round);
    std::vector<std::uint8_t> memory(4096);
    for (auto& byte : memory) byte = static_cast<std::uint8_t>(random());
    // Small values in the top bits of opcodes make legal instructions more likely.
    if (round % 2 == 1) {
      for (std::size_t at = 0; at < memory.size(); at += 4) memory[at] |= 3;
    }
    const std::uint32_t base = round % 3 == 0 ? 0 : round % 3 == 1 ? 0x8000'0000 : 0xffff'f000;
    SilentBus bus;
    RiscvCore core(memory, base, bus, {});
    core.reset(base + 2 * (random() % 2048));
    for (int slice = 0; slice < 50; ++slice) {
      core.set_interrupt(riscv::Interrupt::timer, random() % 2 == 0);
      core.set_interrupt(riscv::Interrupt::external, random() % 2 == 0);
      const std::uint64_t before = core.cycles();
      const RiscvCore::Stop stop = core.run(before + 200);
      if (stop == RiscvCore::Stop::halted) break;
      if (stop == RiscvCore::Stop::limit) CHECK(core.cycles() >= before + 200);
      const std::uint32_t address = base + random() % 4096;
      core.memory_changed(address, random() % 64);
    }
    CHECK(core.x(0) == 0);
  }
}

TEST_CASE("fuzz: ELF files with flipped bits, cut off, and of random bytes") {
  const auto good = random_program(1);
  const std::size_t symbols = good.size() - 300;
  for (std::uint32_t round = 0; round < rounds(300); ++round) {
    std::mt19937 random(round);
    auto elf = good;
    // Headers at the begin, symbols and sections at the end: there a bit matters.
    for (std::uint32_t flips = 1 + random() % 6; flips > 0; --flips) {
      const std::size_t at = random() % 2 == 0 ? random() % 84 : symbols + random() % 300;
      elf[at] ^= static_cast<std::uint8_t>(1U << random() % 8);
    }
    if (round % 4 == 0) elf.resize(random() % elf.size());
    if (round % 8 == 1) {
      for (std::size_t at = 16 + random() % 60; at < elf.size(); ++at) {
        elf[at] = static_cast<std::uint8_t>(random());
      }
    }
    take(elf);
  }
}
