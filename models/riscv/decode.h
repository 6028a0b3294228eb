// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "models/riscv/operations.def"

namespace steppe::riscv {

enum class Op : std::uint8_t {
#define STEPPE_RISCV_NAME(name) name,
  undecoded,
  STEPPE_RISCV_FAST(STEPPE_RISCV_NAME) STEPPE_RISCV_SLOW(STEPPE_RISCV_NAME)
#undef STEPPE_RISCV_NAME
};

/// A decoded instruction. What `imm` holds by operation: see operations.def.
struct Record {
  Op op = Op::undecoded;
  std::uint8_t rd = 0;  ///< 32 instead of 0: a register that nobody reads
  std::uint8_t rs1 = 0;
  std::uint8_t rs2 = 0;
  std::uint32_t imm = 0;
  std::uint32_t pc = 0;
  std::uint8_t length = 0;   ///< bytes of the instruction: 2 or 4
  std::uint8_t count = 0;    ///< instructions from this one to the end of its block
  std::uint16_t cycles = 0;  ///< what they take, branches not taken
};
static_assert(sizeof(Record) == 16);

/// The register that writes to x0 go to.
inline constexpr std::uint8_t sink = 32;

/// Decodes the instruction at `pc`: RV32IMAC, Zicsr, Zifencei and machine mode. `bits` is the
/// 32-bit instruction, or a compressed one in the low half. Fills op, rd, rs1, rs2, imm (the
/// immediate as it stands, added to pc where it is relative to it), pc and length.
Record decode(std::uint32_t bits, std::uint32_t pc);

/// Whether an instruction always ends a block: a jump, or one that leaves the dispatch loop.
constexpr bool ends_block(Op op) { return op >= Op::jal; }
constexpr bool is_slow(Op op) { return op > Op::chain; }

}  // namespace steppe::riscv
