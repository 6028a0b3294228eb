# SPDX-License-Identifier: Apache-2.0
# Computes, while the timer interrupts every 20 ticks; tells the bus of each interrupt and of each 500th round.
#include "check.inc"
        begin
        la      t0, handler
        csrw    mtvec, t0
        lui     s2, 0x10000
        li      s3, 0x02004000             # mtimecmp
        li      s4, 20                     # the next interrupt
        sw      s4, 0(s3)
        sw      x0, 4(s3)
        li      t0, 0x80                   # MTIE
        csrw    mie, t0
        csrsi   mstatus, 8
        li      s0, 1
        li      s1, 0
        li      s6, 1664525
        li      s7, 1013904223
round:  mul     s0, s0, s6
        add     s0, s0, s7
        addi    s1, s1, 1
        li      t0, 500
        remu    t1, s1, t0
        bnez    t1, round
        sw      s0, 0(s2)
        csrr    t1, minstret
        sw      t1, 4(s2)
        li      t0, 5000
        bltu    s1, t0, round
        csrw    mie, x0
        wfi
handler:
        addi    s4, s4, 20
        sw      s4, 0(s3)
        sw      s0, 8(s2)
        csrr    s5, mepc
        sw      s5, 12(s2)
        mret
        finish
