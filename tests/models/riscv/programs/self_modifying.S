# SPDX-License-Identifier: Apache-2.0
# Code that changes: stores are seen at once, also in the block that is running, also in part of an instruction.
#include "check.inc"
        begin
        lw      s0, one                    # addi a0, x0, 1
        lw      s1, two
        # The instruction right behind the store.
        la      a1, 1f
        sw      s1, 0(a1)
1:      addi    a0, x0, 1
        check   1, a0, 2
        # One that has run before, with fence.i.
        li      s2, 0
1:      addi    a0, x0, 1
        la      a1, 1b
        bnez    s2, 2f
        li      s2, 1
        sw      s1, 0(a1)
        fence.i
        j       1b
2:      check   2, a0, 2
        # Back and forth in a function, without a fence.
        li      s2, 0
        li      s3, 100
        la      a1, function
1:      sw      s0, 0(a1)
        jal     ra, function
        add     s2, s2, a0
        sw      s1, 0(a1)
        jal     ra, function
        add     s2, s2, a0
        addi    s3, s3, -1
        bnez    s3, 1b
        check   3, s2, 300                 # 100 times 1 + 2
        # The upper half, which holds the immediate: sh, sb, and a misaligned sw.
        li      a2, 0x0070
        sh      a2, 2(a1)
        jal     ra, function
        check   4, a0, 7
        li      a2, 0x12
        sb      a2, 3(a1)
        jal     ra, function
        check   5, a0, 0x127
        li      a2, 0x00500513             # addi a0, x0, 5: its upper half, then the ret's lower half
        lw      a3, 2(a1)
        srli    a3, a3, 16
        slli    a3, a3, 16
        ori     a3, a3, 0x50
        sw      a3, 2(a1)
        jal     ra, function
        check   6, a0, 5
        # An atomic that changes code.
        li      a2, 0x00100000             # immediate + 1
        amoadd.w x0, a2, (a1)
        jal     ra, function
        check   7, a0, 6

        # A long run of instructions, entered at its begin and in its middle.
        li      a0, 0
        j       1f
        .balign 4
1:      .rept   100
        addi    a0, a0, 1
        .endr
middle: .rept   100
        addi    a0, a0, 1
        .endr
        li      t6, 250
        bltu    t6, a0, 2f
        j       middle
2:      check   8, a0, 300
        j       pass
        .balign 4
function:
        addi    a0, x0, 1
        ret
one:    addi    a0, x0, 1
two:    addi    a0, x0, 2
        finish
