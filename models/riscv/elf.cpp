// SPDX-License-Identifier: Apache-2.0
#include "models/riscv/elf.h"

#include <libelf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

#include "models/base/error.h"

namespace steppe {
namespace {

struct Close {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using Handle = std::unique_ptr<Elf, Close>;

/// Opens an image, having checked that it is an executable for this core.
Handle open(std::span<const std::uint8_t> bytes, const std::string& name) {
  elf_version(EV_CURRENT);
  // libelf reads a memory image without changing it, but does not say so in its type.
  auto* image = reinterpret_cast<char*>(const_cast<std::uint8_t*>(bytes.data()));
  if (bytes.size() < sizeof(Elf32_Ehdr) || std::memcmp(image, ELFMAG, SELFMAG) != 0) {
    throw ConfigError("{}: not an ELF file", name);
  }
  Handle elf(elf_memory(image, bytes.size()));
  const Elf32_Ehdr* header = elf ? elf32_getehdr(elf.get()) : nullptr;
  if (header == nullptr || header->e_machine != EM_RISCV ||
      header->e_ident[EI_DATA] != ELFDATA2LSB) {
    throw ConfigError("{}: not a 32-bit little-endian RISC-V ELF file", name);
  }
  if (header->e_type != ET_EXEC) {
    throw ConfigError("{}: not an executable; link it with addresses", name);
  }
  return elf;
}

/// A copy of what libelf points to in the image, where a damaged file may place it at any address.
template <typename T>
T copied(const T* from) {
  T copy;
  std::memcpy(&copy, static_cast<const void*>(from), sizeof copy);
  return copy;
}
template <typename T>
std::vector<T> copied(const void* from, std::size_t count) {
  std::vector<T> copy(count);
  if (count != 0) std::memcpy(copy.data(), from, count * sizeof(T));
  return copy;
}

/// The segments; those to load are within the file.
std::vector<Elf32_Phdr> segments(Elf* elf, std::size_t file_bytes, const std::string& name) {
  std::size_t count = 0;
  const Elf32_Phdr* first = elf32_getphdr(elf);
  if (first == nullptr || elf_getphdrnum(elf, &count) != 0) {
    throw ConfigError("{}: no program headers, or cut off before their end", name);
  }
  auto all = copied<Elf32_Phdr>(first, count);
  for (std::size_t i = 0; i < count; ++i) {
    const Elf32_Phdr& segment = all[i];
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_filesz > segment.p_memsz || segment.p_offset > file_bytes ||
        segment.p_filesz > file_bytes - segment.p_offset) {
      throw ConfigError("{}: segment {} lies outside of the file: cut off or damaged", name, i);
    }
  }
  return all;
}

/// Searches one symbol table.
std::optional<std::uint32_t> find_symbol(Elf* elf, Elf_Scn* section, const Elf32_Shdr& header,
                                         const std::string& symbol) {
  const Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return std::nullopt;
  for (const Elf32_Sym& entry : copied<Elf32_Sym>(data->d_buf, data->d_size / sizeof(Elf32_Sym))) {
    const char* found = elf_strptr(elf, header.sh_link, entry.st_name);
    if (found != nullptr && symbol == found) return entry.st_value;
  }
  return std::nullopt;
}

}  // namespace

std::uint32_t load_elf(std::span<const std::uint8_t> elf, std::span<std::uint8_t> memory,
                       std::uint32_t base, const std::string& name) {
  const Handle handle = open(elf, name);
  const auto parts = segments(handle.get(), elf.size(), name);
  const std::uint64_t end = std::uint64_t{base} + memory.size();
  for (const Elf32_Phdr& segment : parts) {
    if (segment.p_type != PT_LOAD || segment.p_memsz == 0) continue;
    const std::uint64_t segment_end = std::uint64_t{segment.p_paddr} + segment.p_memsz;
    if (segment.p_paddr < base || segment_end > end) {
      throw ConfigError("{}: a segment at {:#x} to {:#x} does not fit the memory, {:#x} to {:#x}",
                        name, segment.p_paddr, segment_end, base, end);
    }
  }
  for (const Elf32_Phdr& segment : parts) {
    if (segment.p_type != PT_LOAD) continue;
    const auto place =
        memory.subspan(segment.p_memsz == 0 ? 0 : segment.p_paddr - base, segment.p_memsz);
    const auto from = elf.subspan(segment.p_offset, segment.p_filesz);
    std::ranges::fill(std::ranges::copy(from, place.begin()).out, place.end(), std::uint8_t{0});
  }
  const std::uint32_t entry = elf32_getehdr(handle.get())->e_entry;
  if (entry < base || entry >= end || entry % 2 != 0) {
    throw ConfigError("{}: the entry {:#x} is not in the memory, {:#x} to {:#x}", name, entry, base,
                      end);
  }
  return entry;
}

AddressRange elf_extent(std::span<const std::uint8_t> elf, const std::string& name) {
  const Handle handle = open(elf, name);
  AddressRange range{~std::uint64_t{0}, 0};
  for (const Elf32_Phdr& segment : segments(handle.get(), elf.size(), name)) {
    if (segment.p_type != PT_LOAD || segment.p_memsz == 0) continue;
    range.begin = std::min<std::uint64_t>(range.begin, segment.p_paddr);
    range.end = std::max(range.end, std::uint64_t{segment.p_paddr} + segment.p_memsz);
  }
  if (range.end == 0) throw ConfigError("{}: nothing to load", name);
  return range;
}

std::optional<std::uint32_t> elf_symbol(std::span<const std::uint8_t> elf,
                                        const std::string& symbol, const std::string& name) {
  const Handle handle = open(elf, name);
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(handle.get(), section)) != nullptr) {
    const Elf32_Shdr* found = elf32_getshdr(section);
    if (found == nullptr) continue;
    const Elf32_Shdr header = copied(found);
    if (header.sh_type != SHT_SYMTAB) continue;
    if (const auto value = find_symbol(handle.get(), section, header, symbol)) return value;
  }
  return std::nullopt;
}

std::vector<std::uint8_t> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ConfigError("{}: cannot be opened", path);
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) throw ConfigError("{}: cannot be read", path);
  return bytes;
}

}  // namespace steppe
