// SPDX-License-Identifier: Apache-2.0
#include "models/riscv/elf.h"

#include <elf.h>

#include <cstring>

#include "models/base/error.h"

namespace steppe {
namespace {

template <typename T>
T part(std::span<const std::uint8_t> elf, std::uint64_t offset) {
  if (offset > elf.size() || sizeof(T) > elf.size() - offset) {
    throw ConfigError("the firmware's ELF file is truncated");
  }
  T value;
  std::memcpy(&value, elf.data() + offset, sizeof value);
  return value;
}

}  // namespace

std::uint32_t load_elf(std::span<const std::uint8_t> elf, std::span<std::uint8_t> memory) {
  const auto header = part<Elf32_Ehdr>(elf, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS32 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != EM_RISCV) {
    throw ConfigError("the firmware is no 32-bit RISC-V ELF file");
  }
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const auto segment =
        part<Elf32_Phdr>(elf, header.e_phoff + std::uint64_t{i} * header.e_phentsize);
    if (segment.p_type != PT_LOAD) continue;
    const bool fits = segment.p_filesz <= segment.p_memsz && segment.p_paddr <= memory.size() &&
                      segment.p_memsz <= memory.size() - segment.p_paddr;
    if (!fits) throw ConfigError("the firmware does not fit {} bytes of memory", memory.size());
    if (segment.p_offset > elf.size() || segment.p_filesz > elf.size() - segment.p_offset) {
      throw ConfigError("the firmware's ELF file is truncated");
    }
    std::memcpy(memory.data() + segment.p_paddr, elf.data() + segment.p_offset, segment.p_filesz);
  }
  return header.e_entry;
}

}  // namespace steppe
