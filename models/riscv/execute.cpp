// SPDX-License-Identifier: Apache-2.0
//
// The dispatch loop. It keeps what every instruction needs in locals, counts once for a block (see
// BlockCache), and jumps from one operation straight to the next: labels as values, a GCC and Clang
// extension, since one shared jump is predicted worse.
#include <array>
#include <cstring>

#include "models/riscv/core.h"

namespace steppe {
namespace {

using riscv::Record;

constexpr std::int32_t s(std::uint32_t value) { return static_cast<std::int32_t>(value); }
constexpr std::uint32_t u(std::int32_t value) { return static_cast<std::uint32_t>(value); }
constexpr std::uint32_t high(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}
constexpr std::int64_t wide(std::uint32_t value) { return s(value); }

// Division by zero and overflow have results, not traps: RV32M, table 7.1.
constexpr std::uint32_t divide(std::uint32_t a, std::uint32_t b) {
  if (b == 0) return ~0U;
  return a == 0x8000'0000 && b == ~0U ? a : u(s(a) / s(b));
}
constexpr std::uint32_t remainder(std::uint32_t a, std::uint32_t b) {
  if (b == 0) return a;
  return a == 0x8000'0000 && b == ~0U ? 0 : u(s(a) % s(b));
}

template <typename T>
T get(const std::uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

#define ALU(name, expression)           \
  name : {                              \
    const std::uint32_t a = x[at->rs1]; \
    const std::uint32_t b = x[at->rs2]; \
    const std::uint32_t imm = at->imm;  \
    (void)a, (void)b, (void)imm;        \
    x[at->rd] = (expression);           \
    NEXT();                             \
  }
#define LOAD(name, type, wide_type)                                                             \
  name : {                                                                                      \
    const std::uint32_t offset = x[at->rs1] + at->imm;                                          \
    if (offset > size - sizeof(type)) [[unlikely]]                                              \
      goto leave;                                                                               \
    x[at->rd] = static_cast<std::uint32_t>(static_cast<wide_type>(get<type>(memory + offset))); \
    NEXT();                                                                                     \
  }
#define STORE(name, type)                                                   \
  name : {                                                                  \
    const std::uint32_t offset = x[at->rs1] + at->imm;                      \
    if (offset > size - sizeof(type) || code[offset / 4] != 0) [[unlikely]] \
      goto leave;                                                           \
    const auto value = static_cast<type>(x[at->rs2]);                       \
    std::memcpy(memory + offset, &value, sizeof value);                     \
    NEXT();                                                                 \
  }
#define BRANCH(name, condition)         \
  name : {                              \
    const std::uint32_t a = x[at->rs1]; \
    const std::uint32_t b = x[at->rs2]; \
    if (!(condition)) NEXT();           \
    instructions -= at[1].count;        \
    cycles -= at[1].cycles;             \
    cycles += taken;                    \
    index = at->imm;                    \
    ENTER();                            \
  }
#define GO() goto* labels[static_cast<unsigned>(at->op)]
#define NEXT() \
  do {         \
    ++at;      \
    GO();      \
  } while (false)
// Begins the block at halfword `index`.
#define ENTER()                       \
  do {                                \
    if (cycles >= until) [[unlikely]] \
      goto limit;                     \
    at = pool + blocks[index];        \
    instructions += at->count;        \
    cycles += at->cycles;             \
    GO();                             \
  } while (false)

const Record* RiscvCore::execute(std::uint64_t until) {
#define LABEL(name) &&name,
#define LABEL_SLOW(name) &&leave,
  static const void* const labels[] = {&&undecoded,
                                       STEPPE_RISCV_FAST(LABEL) STEPPE_RISCV_SLOW(LABEL_SLOW)};
#undef LABEL
#undef LABEL_SLOW
  std::uint32_t* const x = x_.data();
  std::uint8_t* const memory = memory_.data();
  const std::uint8_t* const code = cache_.code();
  const Record* const pool = cache_.pool();
  const std::uint32_t* const blocks = cache_.blocks();
  const std::size_t size = memory_.size();
  const std::uint32_t taken = timing_.taken_jump;
  std::uint64_t cycles = cycles_;
  std::uint64_t instructions = instructions_;
  const Record* at = nullptr;
  std::uint32_t index = (pc_ - base_) / 2;
  ENTER();

undecoded:
  at = cache_.translate(index);
  instructions += at->count;
  cycles += at->cycles;
  GO();

  ALU(constant, imm)
  ALU(addi, a + imm)
  ALU(slti, s(a) < s(imm) ? 1 : 0)
  ALU(sltiu, a < imm ? 1 : 0)
  ALU(xori, a ^ imm)
  ALU(ori, a | imm)
  ALU(andi, a & imm)
  ALU(slli, a << imm)
  ALU(srli, a >> imm)
  ALU(srai, u(s(a) >> imm))
  ALU(add, a + b)
  ALU(sub, a - b)
  ALU(sll, a << (b & 31))
  ALU(slt, s(a) < s(b) ? 1 : 0)
  ALU(sltu, a < b ? 1 : 0)
  ALU(xor_, a ^ b)
  ALU(srl, a >> (b & 31))
  ALU(sra, u(s(a) >> (b & 31)))
  ALU(or_, a | b)
  ALU(and_, a & b)
  ALU(mul, a * b)
  ALU(mulh, high(static_cast<std::uint64_t>(wide(a) * wide(b))))
  ALU(mulhsu, high(static_cast<std::uint64_t>(wide(a) * static_cast<std::int64_t>(b))))
  ALU(mulhu, high(std::uint64_t{a} * b))
  ALU(div, divide(a, b))
  ALU(divu, b == 0 ? ~0U : a / b)
  ALU(rem, remainder(a, b))
  ALU(remu, b == 0 ? a : a % b)
  LOAD(lb, std::int8_t, std::int32_t)
  LOAD(lh, std::int16_t, std::int32_t)
  LOAD(lw, std::uint32_t, std::uint32_t)
  LOAD(lbu, std::uint8_t, std::uint32_t)
  LOAD(lhu, std::uint16_t, std::uint32_t)
  STORE(sb, std::uint8_t)
  STORE(sh, std::uint16_t)
  STORE(sw, std::uint32_t)
  BRANCH(beq, a == b)
  BRANCH(bne, a != b)
  BRANCH(blt, s(a) < s(b))
  BRANCH(bge, s(a) >= s(b))
  BRANCH(bltu, a < b)
  BRANCH(bgeu, a >= b)

jal:
  x[at->rd] = at->pc + at->length;
  index = at->imm;
  ENTER();

jalr : {
  const std::uint32_t offset = ((x[at->rs1] + at->imm) & ~1U) - base_;
  x[at->rd] = at->pc + at->length;
  index = offset / 2;
  if (offset < size) [[likely]]
    ENTER();
  goto limit;  // where the caller finds that pc_ is outside
}

chain:
  index = at->imm;
  ENTER();

limit:
  cycles_ = cycles;
  instructions_ = instructions;
  pc_ = base_ + index * 2;
  return nullptr;

leave:
  cycles_ = cycles - at->cycles;
  instructions_ = instructions - at->count;
  pc_ = at->pc;
  return at;
}

}  // namespace steppe
