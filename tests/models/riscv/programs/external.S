# SPDX-License-Identifier: Apache-2.0
# In the firmware's manner: wfi with interrupts disabled in mstatus, then an access that makes the line fall.
#include "check.inc"
        begin
        lui     s2, 0x10000
        li      t0, 0x800                  # MEIE
        csrw    mie, t0
1:      wfi
        sw      x0, 0(s2)
        j       1b
        finish
