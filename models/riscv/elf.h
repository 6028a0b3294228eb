// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace steppe {

/// Copies the loadable segments of a 32-bit little-endian RISC-V ELF file into `memory`, which
/// begins at address `base`, by their physical addresses; clears what a segment does not fill.
/// Returns the entry address. Throws ConfigError, beginning with `name`, where the file is damaged,
/// of another kind, or does not fit.
std::uint32_t load_elf(std::span<const std::uint8_t> elf, std::span<std::uint8_t> memory,
                       std::uint32_t base = 0, const std::string& name = "firmware");

/// The lowest and the end address that the loadable segments take.
struct AddressRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};
AddressRange elf_extent(std::span<const std::uint8_t> elf, const std::string& name);

/// The value of a symbol; nothing where the file has none of that name.
std::optional<std::uint32_t> elf_symbol(std::span<const std::uint8_t> elf,
                                        const std::string& symbol, const std::string& name);

/// The bytes of a file; throws ConfigError where it cannot be read.
std::vector<std::uint8_t> read_file(const std::string& path);

}  // namespace steppe
