# SPDX-License-Identifier: Apache-2.0
# Takes interrupts of the PLIC, tells the bus which source it claimed, and completes it.
#include "check.inc"
        begin
        la      t0, handler
        csrw    mtvec, t0
        lui     s2, 0x10000
        li      s3, 0x0c000000
        li      t0, 3
        sw      t0, 8(s3)                  # source 2 has priority 3
        sw      t0, 0(s3)
        li      s4, 0x0c002000
        li      t0, 6                      # sources 1 and 2
        sw      t0, 0(s4)
        li      s5, 0x0c200000
        li      t0, 0x800                  # MEIE
        csrw    mie, t0
        csrsi   mstatus, 8
1:      wfi
        j       1b
        .balign 8
handler:
        lw      s6, 4(s5)
        sw      s6, 0(s2)
        sw      s6, 4(s5)
        mret
        finish
