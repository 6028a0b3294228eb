// SPDX-License-Identifier: Apache-2.0
#include "models/riscv/decode.h"

#include <array>

#include "models/riscv/compressed.h"

// The RISC-V Instruction Set Manual, volume I (20191213): RV32I 2.1, Zifencei 2.0, Zicsr 2.0,
// M 2.0, A 2.1, C 2.0; volume II (20211203): machine mode 1.12.
namespace steppe::riscv {
namespace {

constexpr std::uint32_t field(std::uint32_t word, unsigned low, unsigned count) {
  return (word >> low) & ((1U << count) - 1);
}
constexpr std::uint32_t shift_signed(std::uint32_t word, unsigned count) {
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(word) >> count);
}
constexpr std::uint32_t imm_i(std::uint32_t w) { return shift_signed(w, 20); }
constexpr std::uint32_t imm_s(std::uint32_t w) {
  return (shift_signed(w, 20) & ~31U) | field(w, 7, 5);
}
constexpr std::uint32_t imm_b(std::uint32_t w) {
  return (shift_signed(w, 19) & ~0xfffU) | field(w, 7, 1) << 11 | field(w, 25, 6) << 5 |
         field(w, 8, 4) << 1;
}
constexpr std::uint32_t imm_u(std::uint32_t w) { return w & ~0xfffU; }
constexpr std::uint32_t imm_j(std::uint32_t w) {
  return (shift_signed(w, 11) & ~0xfffffU) | (w & 0xff000) | field(w, 20, 1) << 11 |
         field(w, 21, 10) << 1;
}

struct Choice {
  Op op = Op::illegal;
  std::uint32_t imm = 0;
};

Choice immediate(std::uint32_t w) {
  constexpr std::array ops = {Op::addi, Op::slli, Op::slti, Op::sltiu,
                              Op::xori, Op::srli, Op::ori,  Op::andi};
  const std::uint32_t f3 = field(w, 12, 3);
  const std::uint32_t f7 = w >> 25;
  if (f3 != 1 && f3 != 5) return {ops[f3], imm_i(w)};
  if (f7 == 0) return {ops[f3], field(w, 20, 5)};
  if (f7 == 0x20 && f3 == 5) return {Op::srai, field(w, 20, 5)};
  return {};
}

Choice register_register(std::uint32_t w) {
  constexpr std::array plain = {Op::add,  Op::sll, Op::slt, Op::sltu,
                                Op::xor_, Op::srl, Op::or_, Op::and_};
  constexpr std::array multiply = {Op::mul, Op::mulh, Op::mulhsu, Op::mulhu,
                                   Op::div, Op::divu, Op::rem,    Op::remu};
  const std::uint32_t f3 = field(w, 12, 3);
  switch (w >> 25) {
    case 0:
      return {plain[f3]};
    case 1:
      return {multiply[f3]};
    case 0x20:
      if (f3 == 0) return {Op::sub};
      if (f3 == 5) return {Op::sra};
      return {};
    default:
      return {};
  }
}

Choice load(std::uint32_t w) {
  constexpr std::array ops = {Op::lb,  Op::lh,  Op::lw,      Op::illegal,
                              Op::lbu, Op::lhu, Op::illegal, Op::illegal};
  return {ops[field(w, 12, 3)], imm_i(w)};
}

Choice store(std::uint32_t w) {
  constexpr std::array ops = {Op::sb, Op::sh, Op::sw};
  const std::uint32_t f3 = field(w, 12, 3);
  return f3 < ops.size() ? Choice{ops[f3], imm_s(w)} : Choice{};
}

Choice branch(std::uint32_t w, std::uint32_t pc) {
  constexpr std::array ops = {Op::beq, Op::bne, Op::illegal, Op::illegal,
                              Op::blt, Op::bge, Op::bltu,    Op::bgeu};
  return {ops[field(w, 12, 3)], pc + imm_b(w)};
}

Choice atomic(std::uint32_t w) {
  if (field(w, 12, 3) != 2) return {};
  switch (w >> 27) {
    case 0x00:
      return {Op::amoadd};
    case 0x01:
      return {Op::amoswap};
    case 0x02:
      return {field(w, 20, 5) == 0 ? Op::lr : Op::illegal};
    case 0x03:
      return {Op::sc};
    case 0x04:
      return {Op::amoxor};
    case 0x08:
      return {Op::amoor};
    case 0x0c:
      return {Op::amoand};
    case 0x10:
      return {Op::amomin};
    case 0x14:
      return {Op::amomax};
    case 0x18:
      return {Op::amominu};
    case 0x1c:
      return {Op::amomaxu};
    default:
      return {};
  }
}

Choice system(std::uint32_t w) {
  switch (w) {
    case 0x0000'0073:
      return {Op::ecall};
    case 0x0010'0073:
      return {Op::ebreak};
    case 0x1050'0073:
      return {Op::wfi};
    case 0x3020'0073:
      return {Op::mret};
    default:
      return field(w, 12, 3) % 4 != 0 ? Choice{Op::csr, w >> 20} : Choice{};
  }
}

Choice choose(std::uint32_t w, std::uint32_t pc) {
  const std::uint32_t f3 = field(w, 12, 3);
  switch (w & 0x7f) {
    case 0x03:
      return load(w);
    case 0x0f:  // memory is in order, so that a fence has nothing to do
      return f3 == 0 ? Choice{Op::constant} : f3 == 1 ? Choice{Op::fence_i} : Choice{};
    case 0x13:
      return immediate(w);
    case 0x17:
      return {Op::constant, pc + imm_u(w)};
    case 0x23:
      return store(w);
    case 0x2f:
      return atomic(w);
    case 0x33:
      return register_register(w);
    case 0x37:
      return {Op::constant, imm_u(w)};
    case 0x63:
      return branch(w, pc);
    case 0x67:
      return f3 == 0 ? Choice{Op::jalr, imm_i(w)} : Choice{};
    case 0x6f:
      return {Op::jal, pc + imm_j(w)};
    case 0x73:
      return system(w);
    default:
      return {};
  }
}

}  // namespace

Record decode(std::uint32_t bits, std::uint32_t pc) {
  const bool is_short = (bits & 3) != 3;
  if (is_short) bits &= 0xffff;
  const std::uint32_t word = is_short ? expand(bits) : bits;
  const Choice choice = choose(word, pc);
  Record record;
  record.op = choice.op;
  record.pc = pc;
  record.length = is_short ? 2 : 4;
  if (choice.op == Op::illegal) {
    record.imm = bits;
    return record;
  }
  const bool is_fence = (word & 0x7f) == 0x0f;
  const auto rd = static_cast<std::uint8_t>(field(word, 7, 5));
  record.rd = rd == 0 || is_fence ? sink : rd;
  record.rs1 = static_cast<std::uint8_t>(field(word, 15, 5));
  record.rs2 = static_cast<std::uint8_t>(field(word, 20, 5));
  record.imm = choice.imm;
  if (choice.op == Op::csr) record.rs2 = static_cast<std::uint8_t>(field(word, 12, 3));
  return record;
}

}  // namespace steppe::riscv
