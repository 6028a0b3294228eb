// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// A few encodings, written from the manual's tables and independent of the decoder.
namespace encode {

constexpr std::uint32_t i_type(int imm, unsigned rs1, unsigned f3, unsigned rd, unsigned opcode) {
  return static_cast<std::uint32_t>(imm) << 20 | rs1 << 15 | f3 << 12 | rd << 7 | opcode;
}
constexpr std::uint32_t addi(unsigned rd, unsigned rs1, int imm) {
  return i_type(imm, rs1, 0, rd, 0x13);
}
constexpr std::uint32_t lui(unsigned rd, std::uint32_t page) { return page << 12 | rd << 7 | 0x37; }
constexpr std::uint32_t load(unsigned f3, unsigned rd, unsigned rs1, int imm) {
  return i_type(imm, rs1, f3, rd, 0x03);
}
constexpr std::uint32_t lw(unsigned rd, unsigned rs1, int imm) { return load(2, rd, rs1, imm); }
constexpr std::uint32_t store(unsigned f3, unsigned rs2, unsigned rs1, int imm) {
  const auto bits = static_cast<std::uint32_t>(imm);
  return (bits >> 5 & 0x7f) << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | (bits & 31) << 7 | 0x23;
}
constexpr std::uint32_t sw(unsigned rs2, unsigned rs1, int imm) { return store(2, rs2, rs1, imm); }
constexpr std::uint32_t mul(unsigned rd, unsigned rs1, unsigned rs2) {
  return 1U << 25 | rs2 << 20 | rs1 << 15 | rd << 7 | 0x33;
}
constexpr std::uint32_t div(unsigned rd, unsigned rs1, unsigned rs2) {
  return 1U << 25 | rs2 << 20 | rs1 << 15 | 4U << 12 | rd << 7 | 0x33;
}
constexpr std::uint32_t csrrw(unsigned rd, unsigned csr, unsigned rs1) {
  return csr << 20 | rs1 << 15 | 1U << 12 | rd << 7 | 0x73;
}
/// An unconditional jump over `halfwords` * 2 bytes, |offset| below 2 KiB.
constexpr std::uint32_t jump(int offset) {
  const auto bits = static_cast<std::uint32_t>(offset);
  return (bits >> 20 & 1) << 31 | (bits >> 1 & 0x3ff) << 21 | (bits >> 11 & 1) << 20 |
         (bits >> 12 & 0xff) << 12 | 0x6f;
}
/// bne, forwards by less than 2 KiB.
constexpr std::uint32_t bne(unsigned rs1, unsigned rs2, unsigned offset) {
  return (offset >> 5 & 0x3f) << 25 | rs2 << 20 | rs1 << 15 | 1U << 12 | (offset >> 1 & 15) << 8 |
         (offset >> 11 & 1) << 7 | 0x63;
}
constexpr std::uint32_t r_type(unsigned f7, unsigned rs2, unsigned rs1, unsigned f3, unsigned rd,
                               unsigned opcode = 0x33) {
  return f7 << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | rd << 7 | opcode;
}
/// A conditional branch by f3, |offset| below 4 KiB.
constexpr std::uint32_t branch(unsigned f3, unsigned rs1, unsigned rs2, int offset) {
  const auto bits = static_cast<std::uint32_t>(offset);
  return (bits >> 12 & 1) << 31 | (bits >> 5 & 0x3f) << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 |
         (bits >> 1 & 15) << 8 | (bits >> 11 & 1) << 7 | 0x63;
}
constexpr std::uint32_t jal(unsigned rd, int offset) { return jump(offset) | rd << 7; }
constexpr std::uint32_t jalr(unsigned rd, unsigned rs1, int imm) {
  return i_type(imm, rs1, 0, rd, 0x67);
}
constexpr std::uint32_t auipc(unsigned rd, std::uint32_t page) {
  return page << 12 | rd << 7 | 0x17;
}
/// lr, sc or a read-modify-write, by its five bits.
constexpr std::uint32_t amo(unsigned f5, unsigned rd, unsigned rs2, unsigned rs1) {
  return r_type(f5 << 2, rs2, rs1, 2, rd, 0x2f);
}
constexpr std::uint32_t lr(unsigned rd, unsigned rs1) { return amo(2, rd, 0, rs1); }
constexpr std::uint32_t sc(unsigned rd, unsigned rs2, unsigned rs1) { return amo(3, rd, rs2, rs1); }
/// A CSR access by f3: 1 to 3 with a register, 5 to 7 with five bits in its place.
constexpr std::uint32_t csr(unsigned f3, unsigned rd, unsigned number, unsigned rs1) {
  return number << 20 | rs1 << 15 | f3 << 12 | rd << 7 | 0x73;
}
inline constexpr std::uint32_t wfi = 0x1050'0073;
inline constexpr std::uint32_t mret = 0x3020'0073;
inline constexpr std::uint32_t ecall = 0x0000'0073;
inline constexpr std::uint32_t ebreak = 0x0010'0073;
inline constexpr std::uint32_t fence = 0x0ff0'000f;
inline constexpr std::uint32_t fence_i = 0x0000'100f;
inline constexpr std::uint32_t nop = 0x0000'0013;
inline constexpr unsigned mstatus = 0x300, mie = 0x304, mtvec = 0x305, mepc = 0x341, mcause = 0x342,
                          mtval = 0x343;

}  // namespace encode
