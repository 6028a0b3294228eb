# SPDX-License-Identifier: Apache-2.0
# RV32A: each read-modify-write gives the old value and leaves the new one; reservations.
#include "check.inc"
.macro amo number, op, memory, operand, new
        li      a1, \memory
        sw      a1, 0(s0)
        li      a2, \operand
        \op     a3, a2, (s0)
        check   \number, a3, \memory
        lw      a3, 0(s0)
        check   \number, a3, \new
.endm
        begin
        la      s0, word
        amo     1, amoswap.w, 5, 7, 7
        amo     2, amoadd.w, 0xffffffff, 2, 1
        amo     3, amoxor.w, 0xff00, 0x0ff0, 0xf0f0
        amo     4, amoand.w, 0xff00, 0x0ff0, 0x0f00
        amo     5, amoor.w, 0xff00, 0x0ff0, 0xfff0
        amo     6, amomin.w, 0xffffffff, 1, 0xffffffff
        amo     7, amomin.w, 1, 0xffffffff, 0xffffffff
        amo     8, amomax.w, 0xffffffff, 1, 1
        amo     9, amomax.w, 1, 0xffffffff, 1
        amo     10, amominu.w, 0xffffffff, 1, 1
        amo     11, amominu.w, 1, 0xffffffff, 1
        amo     12, amomaxu.w, 0xffffffff, 1, 0xffffffff
        amo     13, amomaxu.w, 1, 0xffffffff, 0xffffffff
        amo     14, amomin.w, 0x80000000, 0x7fffffff, 0x80000000
        amo     15, amoadd.w.aqrl, 1, 1, 2
        # The destination is the operand, or x0.
        li      a1, 10
        sw      a1, 0(s0)
        li      a2, 3
        amoadd.w a2, a2, (s0)
        check   16, a2, 10
        amoadd.w x0, a2, (s0)
        lw      a3, 0(s0)
        check   17, a3, 23

        # A pair succeeds once.
        lr.w    a1, (s0)
        check   18, a1, 23
        addi    a1, a1, 1
        sc.w    a2, a1, (s0)
        check   19, a2, 0
        li      a1, 99
        sc.w    a2, a1, (s0)
        check   20, a2, 1
        lw      a3, 0(s0)
        check   21, a3, 24
        # At another address it fails, and the reservation is gone.
        lr.w    a1, (s0)
        addi    s1, s0, 4
        sc.w    a2, a1, (s1)
        check   22, a2, 1
        lw      a3, 0(s1)
        check   23, a3, 0
        sc.w    a2, a1, (s0)
        check   24, a2, 1
        j       pass
        .data
        .balign 8
word:   .word   0, 0
        finish
