// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace steppe::riscv {

/// The 32-bit form of a 16-bit RV32C instruction; 0, which is no instruction, where there is none.
std::uint32_t expand(std::uint32_t half);

}  // namespace steppe::riscv
