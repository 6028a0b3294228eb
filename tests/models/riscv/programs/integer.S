# SPDX-License-Identifier: Apache-2.0
# RV32I: arithmetic, comparisons, shifts, jumps, branches.
#include "check.inc"
        begin
        binary  1, add, 0x7fffffff, 1, 0x80000000
        binary  2, add, 0xffffffff, 0xffffffff, 0xfffffffe
        binary  3, sub, 0, 1, 0xffffffff
        binary  4, sub, 0x80000000, 1, 0x7fffffff
        binary  5, slt, 0xffffffff, 0, 1
        binary  6, slt, 0, 0xffffffff, 0
        binary  7, sltu, 0xffffffff, 0, 0
        binary  8, sltu, 0, 0xffffffff, 1
        binary  9, xor, 0xff00ff00, 0x0f0f0f0f, 0xf00ff00f
        binary  10, or, 0xff00ff00, 0x0f0f0f0f, 0xff0fff0f
        binary  11, and, 0xff00ff00, 0x0f0f0f0f, 0x0f000f00
        # Shifts take the low five bits of the amount: 33 is 1.
        binary  12, sll, 0x80000001, 33, 2
        binary  13, srl, 0x80000001, 33, 0x40000000
        binary  14, sra, 0x80000001, 33, 0xc0000000
        binary  15, sra, 0x80000000, 31, 0xffffffff
        binary  16, srl, 0x80000000, 31, 1
        unary   17, addi, 0, -2048, 0xfffff800
        unary   18, addi, 0xfffff801, 2047, 0
        unary   19, slti, 0x80000000, -1, 1
        unary   20, slti, 5, 5, 0
        unary   21, sltiu, 5, -1, 1        # the immediate is extended, then unsigned
        unary   22, sltiu, 0xffffffff, -1, 0
        unary   23, xori, 0x0f0f0f0f, -1, 0xf0f0f0f0
        unary   24, ori, 0x12345000, -2048, 0xfffff800
        unary   25, andi, 0xffffffff, 0x7ff, 0x7ff
        unary   26, slli, 1, 31, 0x80000000
        unary   27, srli, 0xf0000000, 28, 0xf
        unary   28, srai, 0xf0000000, 28, 0xffffffff
        lui     a3, 0xfffff
        check   29, a3, 0xfffff000
here:   auipc   a3, 0x12345
        la      a4, here
        sub     a3, a3, a4
        check   30, a3, 0x12345000

        # x0 stays 0, whatever writes to it.
        li      a1, 77
        add     x0, a1, a1
        lui     x0, 0x12345
        addi    a3, x0, 0
        check   31, a3, 0
        lw      x0, word
        addi    a3, x0, 0
        check   32, a3, 0

        # Links: jal and jalr leave the address behind them, jalr clears bit 0 of its target.
        jal     a3, 1f
0:      j       fail
1:      la      a4, 0b
        sub     a3, a3, a4
        check   33, a3, 0
        la      a1, 2f + 1
        jalr    a1, 0(a1)
0:      j       fail
2:      la      a4, 0b
        sub     a3, a1, a4
        check   34, a3, 0

        # Branches: taken and not, signed and unsigned, backwards.
        li      gp, 35
        li      a1, -1
        li      a2, 1
        beq     a1, a2, fail
        bne     a1, a1, fail
        blt     a2, a1, fail
        bge     a1, a2, fail
        bltu    a1, a2, fail
        bgeu    a2, a1, fail
        blt     a1, a1, fail
        bltu    a1, a1, fail
        beq     a1, a1, 1f
        j       fail
1:      bne     a1, a2, 1f
        j       fail
1:      blt     a1, a2, 1f
        j       fail
1:      bge     a2, a1, 1f
        j       fail
1:      bge     a1, a1, 1f
        j       fail
1:      bltu    a2, a1, 1f
        j       fail
1:      bgeu    a1, a2, 1f
        j       fail
1:      bgeu    a1, a1, 1f
        j       fail
1:      # 1 + 2 + … + 10
        li      a3, 0
        li      a4, 10
1:      add     a3, a3, a4
        addi    a4, a4, -1
        bnez    a4, 1b
        check   36, a3, 55
        fence
        fence.tso
        j       pass
        .data
word:   .word   0x12345678
        finish
