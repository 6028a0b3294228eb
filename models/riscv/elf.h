// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace steppe {

/// Copies the loadable segments of a 32-bit RISC-V ELF file to `memory`, which begins at address 0;
/// returns the entry point. Throws ConfigError where it is no such file or does not fit.
std::uint32_t load_elf(std::span<const std::uint8_t> elf, std::span<std::uint8_t> memory);

}  // namespace steppe
