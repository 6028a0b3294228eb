// SPDX-License-Identifier: Apache-2.0
#include "models/riscv/compressed.h"

// The RISC-V Instruction Set Manual, volume I, chapter "C" (version 2.0).
namespace steppe::riscv {
namespace {

constexpr std::uint32_t bits(std::uint32_t word, unsigned low, unsigned count) {
  return (word >> low) & ((1U << count) - 1);
}
constexpr std::uint32_t extend(std::uint32_t value, unsigned width) {
  const std::uint32_t sign = 1U << (width - 1);
  return (value ^ sign) - sign;
}
constexpr std::uint32_t i_type(std::uint32_t imm, std::uint32_t rs1, std::uint32_t f3,
                               std::uint32_t rd, std::uint32_t opcode) {
  return imm << 20 | rs1 << 15 | f3 << 12 | rd << 7 | opcode;
}
constexpr std::uint32_t s_type(std::uint32_t imm, std::uint32_t rs2, std::uint32_t rs1) {
  return bits(imm, 5, 7) << 25 | rs2 << 20 | rs1 << 15 | 2U << 12 | bits(imm, 0, 5) << 7 | 0x23;
}
constexpr std::uint32_t r_type(std::uint32_t f7, std::uint32_t rs2, std::uint32_t rs1,
                               std::uint32_t f3, std::uint32_t rd) {
  return f7 << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | rd << 7 | 0x33;
}
constexpr std::uint32_t branch(std::uint32_t imm, std::uint32_t rs1, std::uint32_t f3) {
  return bits(imm, 12, 1) << 31 | bits(imm, 5, 6) << 25 | rs1 << 15 | f3 << 12 |
         bits(imm, 1, 4) << 8 | bits(imm, 11, 1) << 7 | 0x63;
}
constexpr std::uint32_t jump(std::uint32_t imm, std::uint32_t rd) {
  return bits(imm, 20, 1) << 31 | bits(imm, 1, 10) << 21 | bits(imm, 11, 1) << 20 |
         bits(imm, 12, 8) << 12 | rd << 7 | 0x6f;
}
constexpr std::uint32_t imm6(std::uint32_t h) {
  return extend(bits(h, 12, 1) << 5 | bits(h, 2, 5), 6);
}

std::uint32_t quadrant0(std::uint32_t h) {
  const std::uint32_t rs1 = 8 + bits(h, 7, 3);
  const std::uint32_t rd = 8 + bits(h, 2, 3);
  const std::uint32_t offset = bits(h, 10, 3) << 3 | bits(h, 6, 1) << 2 | bits(h, 5, 1) << 6;
  switch (bits(h, 13, 3)) {
    case 0: {
      const std::uint32_t imm =
          bits(h, 11, 2) << 4 | bits(h, 7, 4) << 6 | bits(h, 6, 1) << 2 | bits(h, 5, 1) << 3;
      return imm == 0 ? 0 : i_type(imm, 2, 0, rd, 0x13);
    }
    case 2:
      return i_type(offset, rs1, 2, rd, 0x03);
    case 6:
      return s_type(offset, rd, rs1);
    default:
      return 0;
  }
}

std::uint32_t arithmetic(std::uint32_t h) {
  const std::uint32_t rd = 8 + bits(h, 7, 3);
  const std::uint32_t rs2 = 8 + bits(h, 2, 3);
  switch (bits(h, 10, 2)) {
    case 0:
      return bits(h, 12, 1) != 0 ? 0 : i_type(bits(h, 2, 5), rd, 5, rd, 0x13);
    case 1:
      return bits(h, 12, 1) != 0 ? 0 : i_type(0x400 | bits(h, 2, 5), rd, 5, rd, 0x13);
    case 2:
      return i_type(imm6(h) & 0xfff, rd, 7, rd, 0x13);
    default:
      break;
  }
  if (bits(h, 12, 1) != 0) return 0;
  constexpr std::uint32_t functions[] = {0, 4, 6, 7};
  const std::uint32_t which = bits(h, 5, 2);
  return r_type(which == 0 ? 0x20 : 0, rs2, rd, functions[which], rd);
}

std::uint32_t quadrant1(std::uint32_t h) {
  const std::uint32_t rd = bits(h, 7, 5);
  const std::uint32_t to =
      extend(bits(h, 12, 1) << 11 | bits(h, 11, 1) << 4 | bits(h, 9, 2) << 8 | bits(h, 8, 1) << 10 |
                 bits(h, 7, 1) << 6 | bits(h, 6, 1) << 7 | bits(h, 3, 3) << 1 | bits(h, 2, 1) << 5,
             12);
  const std::uint32_t near = extend(bits(h, 12, 1) << 8 | bits(h, 10, 2) << 3 | bits(h, 5, 2) << 6 |
                                        bits(h, 3, 2) << 1 | bits(h, 2, 1) << 5,
                                    9);
  switch (bits(h, 13, 3)) {
    case 0:
      return i_type(imm6(h) & 0xfff, rd, 0, rd, 0x13);
    case 1:
      return jump(to, 1);
    case 2:
      return i_type(imm6(h) & 0xfff, 0, 0, rd, 0x13);
    case 3: {
      if (rd != 2) return imm6(h) == 0 ? 0 : imm6(h) << 12 | rd << 7 | 0x37;
      const std::uint32_t imm =
          extend(bits(h, 12, 1) << 9 | bits(h, 6, 1) << 4 | bits(h, 5, 1) << 6 |
                     bits(h, 3, 2) << 7 | bits(h, 2, 1) << 5,
                 10);
      return imm == 0 ? 0 : i_type(imm & 0xfff, 2, 0, 2, 0x13);
    }
    case 4:
      return arithmetic(h);
    case 5:
      return jump(to, 0);
    case 6:
      return branch(near, 8 + bits(h, 7, 3), 0);
    default:
      return branch(near, 8 + bits(h, 7, 3), 1);
  }
}

std::uint32_t quadrant2(std::uint32_t h) {
  const std::uint32_t rd = bits(h, 7, 5);
  const std::uint32_t rs2 = bits(h, 2, 5);
  const bool high = bits(h, 12, 1) != 0;
  switch (bits(h, 13, 3)) {
    case 0:
      return high ? 0 : i_type(rs2, rd, 1, rd, 0x13);
    case 2: {
      const std::uint32_t offset = bits(h, 12, 1) << 5 | bits(h, 4, 3) << 2 | bits(h, 2, 2) << 6;
      return rd == 0 ? 0 : i_type(offset, 2, 2, rd, 0x03);
    }
    case 4:
      if (rs2 != 0) return r_type(0, rs2, high ? rd : 0, 0, rd);
      if (rd == 0) return high ? 0x00100073 : 0;
      return i_type(0, rd, 0, high ? 1 : 0, 0x67);
    case 6:
      return s_type(bits(h, 9, 4) << 2 | bits(h, 7, 2) << 6, rs2, 2);
    default:
      return 0;
  }
}

}  // namespace

std::uint32_t expand(std::uint32_t half) {
  switch (half & 3) {
    case 0:
      return quadrant0(half);
    case 1:
      return quadrant1(half);
    default:
      return quadrant2(half);
  }
}

}  // namespace steppe::riscv
