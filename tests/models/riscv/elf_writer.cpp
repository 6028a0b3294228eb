// SPDX-License-Identifier: Apache-2.0
#include "tests/models/riscv/elf_writer.h"

#include <elf.h>

#include <cstring>

namespace {

template <typename T>
void append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

Elf32_Ehdr header(std::uint32_t base, std::size_t sections) {
  Elf32_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS32;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = EM_RISCV;
  header.e_version = EV_CURRENT;
  header.e_entry = base;
  header.e_phoff = sizeof(Elf32_Ehdr);
  header.e_shoff = static_cast<Elf32_Off>(sections);
  header.e_ehsize = sizeof(Elf32_Ehdr);
  header.e_phentsize = sizeof(Elf32_Phdr);
  header.e_phnum = 1;
  header.e_shentsize = sizeof(Elf32_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  return header;
}

Elf32_Shdr section(Elf32_Word name, Elf32_Word type, std::size_t offset, std::size_t bytes) {
  Elf32_Shdr section{};
  section.sh_name = name;
  section.sh_type = type;
  section.sh_offset = static_cast<Elf32_Off>(offset);
  section.sh_size = static_cast<Elf32_Word>(bytes);
  section.sh_addralign = 4;
  return section;
}

}  // namespace

std::vector<std::uint8_t> write_elf(
    const std::vector<std::uint8_t>& memory, std::uint32_t base,
    const std::vector<std::pair<std::string, std::uint32_t>>& symbols) {
  std::string names = std::string("\0.symtab", 8) + std::string("\0.strtab\0", 9);
  std::vector<Elf32_Sym> table(1);
  for (const auto& [name, value] : symbols) {
    Elf32_Sym symbol{};
    symbol.st_name = static_cast<Elf32_Word>(names.size());
    symbol.st_value = value;
    symbol.st_size = 8;
    symbol.st_info = ELF32_ST_INFO(STB_GLOBAL, STT_NOTYPE);
    symbol.st_shndx = SHN_ABS;
    table.push_back(symbol);
    names += name;
    names += '\0';
  }
  while (names.size() % 4 != 0) names += '\0';

  const std::size_t content = sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr);
  const std::size_t symtab = content + memory.size();
  const std::size_t strtab = symtab + table.size() * sizeof(Elf32_Sym);
  std::string elf;
  append(elf, header(base, strtab + names.size()));
  Elf32_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_offset = static_cast<Elf32_Off>(content);
  segment.p_vaddr = segment.p_paddr = base;
  segment.p_filesz = segment.p_memsz = static_cast<Elf32_Word>(memory.size());
  segment.p_flags = PF_R | PF_W | PF_X;
  segment.p_align = 4;
  append(elf, segment);
  elf.append(memory.begin(), memory.end());
  for (const Elf32_Sym& symbol : table) append(elf, symbol);
  elf += names;

  append(elf, Elf32_Shdr{});
  Elf32_Shdr symbols_header = section(1, SHT_SYMTAB, symtab, table.size() * sizeof(Elf32_Sym));
  symbols_header.sh_link = 2;
  symbols_header.sh_info = 1;
  symbols_header.sh_entsize = sizeof(Elf32_Sym);
  append(elf, symbols_header);
  append(elf, section(9, SHT_STRTAB, strtab, names.size()));
  return {elf.begin(), elf.end()};
}
