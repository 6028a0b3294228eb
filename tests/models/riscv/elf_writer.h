// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// A 32-bit RISC-V executable: one segment, loaded and begun at `base`, and symbols of double
/// words.
std::vector<std::uint8_t> write_elf(
    const std::vector<std::uint8_t>& memory, std::uint32_t base,
    const std::vector<std::pair<std::string, std::uint32_t>>& symbols);
