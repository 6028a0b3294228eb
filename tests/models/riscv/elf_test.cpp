// SPDX-License-Identifier: Apache-2.0
#include "models/riscv/elf.h"

#include <doctest/doctest.h>
#include <elf.h>

#include <cstring>

#include "models/base/error.h"

using namespace steppe;

namespace {

std::vector<std::uint8_t> good() { return read_file(STEPPE_RISCV_PROGRAMS "/memory.elf"); }

/// What loading says to the user; empty where it is taken.
std::string complaint(const std::vector<std::uint8_t>& elf, std::size_t memory_bytes = 65536,
                      std::uint32_t base = 0) {
  std::vector<std::uint8_t> memory(memory_bytes);
  try {
    load_elf(elf, memory, base, "fw.elf");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

template <typename T>
void poke(std::vector<std::uint8_t>& elf, std::size_t at, T value) {
  std::memcpy(elf.data() + at, &value, sizeof value);
}

bool says(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a good file is loaded, what it does not fill is cleared") {
  std::vector<std::uint8_t> memory(65536, 0xee);
  const auto elf = good();
  CHECK(load_elf(elf, memory) == 0);
  const std::uint32_t tohost = elf_symbol(elf, "tohost", "memory.elf").value();
  CHECK(tohost % 8 == 0);
  CHECK(memory[tohost] == 0);
  CHECK(memory[65535] == 0xee);
  CHECK_FALSE(elf_symbol(elf, "nothing", "memory.elf"));
  const AddressRange range = elf_extent(elf, "memory.elf");
  CHECK(range.begin == 0);
  CHECK(range.end > tohost);
  CHECK(range.end < 65536);
}

TEST_CASE("what is no executable for this core is refused") {
  CHECK(says(complaint({}), "fw.elf: not an ELF file"));
  CHECK(says(complaint({1, 2, 3}), "not an ELF file"));
  CHECK(says(complaint(std::vector<std::uint8_t>(1000, 7)), "not an ELF file"));
  auto elf = good();
  elf[EI_CLASS] = ELFCLASS64;
  CHECK(says(complaint(elf), "32-bit"));
  elf = good();
  elf[EI_DATA] = ELFDATA2MSB;
  CHECK(says(complaint(elf), "RISC-V"));
  elf = good();
  poke(elf, offsetof(Elf32_Ehdr, e_machine), std::uint16_t{EM_ARM});
  CHECK(says(complaint(elf), "RISC-V"));
  elf = good();
  poke(elf, offsetof(Elf32_Ehdr, e_type), std::uint16_t{ET_REL});
  CHECK(says(complaint(elf), "executable"));
  CHECK_THROWS_AS(read_file("/nonexistent/fw.elf"), ConfigError);
}

TEST_CASE("what does not fit the memory is refused, with both ranges") {
  CHECK(says(complaint(good(), 64), "does not fit the memory, 0x0 to 0x40"));
  CHECK(says(complaint(good(), 65536, 0x8000'0000), "does not fit"));
  auto elf = good();
  poke(elf, offsetof(Elf32_Ehdr, e_entry), std::uint32_t{0x20000});
  CHECK(says(complaint(elf), "entry 0x20000"));
}

TEST_CASE("a file cut off anywhere gets an error or loads, and nothing worse") {
  const auto elf = good();
  std::size_t refused = 0;
  for (std::size_t size = 0; size < elf.size(); size += 13) {
    if (!complaint({elf.begin(), elf.begin() + static_cast<std::ptrdiff_t>(size)}).empty())
      ++refused;
  }
  CHECK(refused > 0);
  // Half of a loadable segment is missing.
  CHECK(says(complaint({elf.begin(), elf.begin() + 0x1100}), "cut off or damaged"));
}

TEST_CASE("no bit of the headers crashes the loader") {
  const auto elf = good();
  for (std::size_t bit = 0; bit < (sizeof(Elf32_Ehdr) + 2 * sizeof(Elf32_Phdr)) * 8; ++bit) {
    auto damaged = elf;
    damaged[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
    complaint(damaged);
    try {
      elf_symbol(damaged, "tohost", "damaged");
      elf_extent(damaged, "damaged");
    } catch (const ConfigError&) {
    }
  }
}
