# SPDX-License-Identifier: Apache-2.0
# RV32C: every form, with immediates that exercise each bit of the scattered fields.
#include "check.inc"
        begin
        .option rvc
        c.li    a0, -32
        check   1, a0, -32
        c.li    a0, 31
        check   2, a0, 31
        c.addi  a0, -32
        check   3, a0, -1
        c.addi  a0, 31
        check   4, a0, 30
        c.lui   a0, 0xfffe0
        check   5, a0, 0xfffe0000
        c.lui   a0, 31
        check   6, a0, 0x1f000
        la      s0, room + 256
        mv      sp, s0
        c.addi16sp sp, -512
        sub     a0, sp, s0
        check   7, a0, -512
        c.addi16sp sp, 496
        sub     a0, sp, s0
        check   8, a0, -16
        .irp    offset, 4, 8, 16, 32, 64, 128, 256, 512, 1020
        c.addi4spn a0, sp, \offset
        sub     a0, a0, sp
        check   9, a0, \offset
        .endr
        c.li    a1, -1
        c.slli  a1, 31
        check   10, a1, 0x80000000
        c.srai  a1, 15
        check   11, a1, 0xffff0000
        c.srli  a1, 16
        check   12, a1, 0xffff
        c.andi  a1, -32
        check   13, a1, 0xffe0
        c.andi  a1, 31
        check   14, a1, 0
        c.mv    a2, s0
        sub     a2, a2, s0
        check   15, a2, 0
        li      a3, 100
        li      a4, 30
        c.add   a3, a4
        check   16, a3, 130
        c.sub   a3, a4
        check   17, a3, 100
        c.xor   a3, a4
        check   18, a3, 0x7a               # 0x64 ^ 0x1e
        c.or    a3, a4
        check   19, a3, 0x7e
        c.and   a3, a4
        check   20, a3, 0x1e
        c.nop

        # Word accesses: each bit of the offset by itself.
        li      a5, 1000
        .irp    offset, 4, 8, 16, 32, 64, 124
        addi    a5, a5, 1
        c.sw    a5, \offset(s0)
        lw      a4, \offset(s0)
        sub     a4, a4, a5
        check   21, a4, 0
        c.lw    a4, \offset(s0)
        sub     a4, a4, a5
        check   22, a4, 0
        .endr
        mv      sp, s0
        .irp    offset, 4, 8, 16, 32, 64, 128, 252
        addi    a5, a5, 1
        c.swsp  a5, \offset(sp)
        lw      a4, \offset(s0)
        sub     a4, a4, a5
        check   23, a4, 0
        c.lwsp  a4, \offset(sp)
        sub     a4, a4, a5
        check   24, a4, 0
        .endr

        # Branches and jumps, near and to the ends of their reach.
        li      gp, 25
        li      a4, 0
        li      a5, 1
        c.beqz  a5, bad
        c.bnez  a4, bad
        c.beqz  a4, 1f
bad:    j       fail
1:      c.bnez  a5, forward
back:   c.j     farther
        .option push
        .option norvc
        .zero   240, 0                     # no instruction: must be jumped over
        .option pop
forward: c.bnez a5, back                   # -242 bytes
        j       fail
        .zero   1780, 0
farther: la     a0, 1f
        c.jr    a0
        j       fail
1:      la      a0, 2f
        c.jalr  a0                         # the link is two bytes on
0:      j       fail
2:      la      a1, 0b
        sub     a1, a1, ra
        check   26, a1, 0
        c.jal   3f
0:      j       fail
3:      la      a1, 0b
        sub     a1, a1, ra
        check   27, a1, 0
        # A link of the register jumped through.
        la      ra, 4f
        c.jalr  ra
0:      j       fail
4:      la      a1, 0b
        sub     a1, a1, ra
        check   28, a1, 0
        # A 32-bit instruction that straddles a word.
        .balign 4
        c.nop
        .option norvc
        addi    a0, x0, 1234
        .option rvc
        check   29, a0, 1234
        j       pass
        .bss
        .balign 16
room:   .zero   2048
        finish
