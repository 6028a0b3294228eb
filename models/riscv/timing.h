// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace steppe::riscv {

/// Cycles of an instruction by its class. An access outside the local memory takes the bus's time
/// on top.
struct Timing {
  std::uint32_t alu = 1;  ///< and branches that are not taken
  std::uint32_t multiply = 1;
  std::uint32_t divide = 34;
  std::uint32_t load = 2;
  std::uint32_t store = 1;
  std::uint32_t atomic = 4;
  std::uint32_t system = 3;      ///< CSR accesses, mret, fence.i, and entering a trap
  std::uint32_t taken_jump = 2;  ///< on top, for jumps and branches that are taken
};

}  // namespace steppe::riscv
