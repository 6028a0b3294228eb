# SPDX-License-Identifier: Apache-2.0
# Sleeps until the timer's interrupt; the handler writes to the bus first thing, the program what mcause was.
#include "check.inc"
        begin
        la      t0, handler
        csrw    mtvec, t0
        lui     s2, 0x10000
        li      t1, 0x02004000             # mtimecmp
        li      t2, 50
        sw      t2, 0(t1)
        sw      x0, 4(t1)
        li      t0, 0x80                   # MTIE
        csrw    mie, t0
        csrsi   mstatus, 8
        wfi
        sw      s1, 0(s2)
        j       pass
        .balign 4
handler:
        sw      x0, 4(s2)
        csrw    mie, x0
        csrr    s1, mcause
        mret
        finish
