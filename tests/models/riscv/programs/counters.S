# SPDX-License-Identifier: Apache-2.0
# mcountinhibit: a counter that is stopped keeps its value, and takes a written one; the instruction that stops it
# still counts, the one that lets it go does not.
#include "check.inc"
        begin
        csrr    a0, mcountinhibit
        check   1, a0, 0
        csrw    minstret, x0
        csrwi   mcountinhibit, 4           # 1
        nop
        csrr    a0, minstret
        check   2, a0, 1
        csrr    a0, mcountinhibit
        check   3, a0, 4
        csrwi   minstret, 20
        nop
        csrr    a0, minstret
        check   4, a0, 20
        csrwi   minstreth, 3
        csrr    a0, instreth
        check   5, a0, 3
        csrwi   mcountinhibit, 0
        nop                                # 21
        nop                                # 22
        csrr    a0, minstret
        check   6, a0, 22
        csrr    a0, minstreth
        check   7, a0, 3
        # Cycles the same way; instructions go on. A CSR access takes 3.
        csrw    mcycle, x0
        csrwi   mcountinhibit, 1           # 3
        nop
        csrr    a0, mcycle
        check   8, a0, 3
        csrwi   minstret, 0
        nop
        csrr    a0, minstret
        check   9, a0, 1
        csrwi   mcountinhibit, 0
        nop                                # 4
        csrr    a0, mcycle
        check   10, a0, 4
        # Bit 1 belongs to no counter, nor do the hardware performance counters' bits.
        li      a0, -6
        csrw    mcountinhibit, a0
        csrr    a0, mcountinhibit
        check   11, a0, 0
        j       pass
        finish
