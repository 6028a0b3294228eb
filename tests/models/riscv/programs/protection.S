# SPDX-License-Identifier: Apache-2.0
# Physical memory protection without locks, which machine mode does not feel, and trigger registers without triggers.
#include "check.inc"
        begin
        li      a1, -1
        csrw    pmpaddr0, a1
        csrr    a0, pmpaddr0
        check   1, a0, -1                  # all bits: a grain of 4 bytes
        csrw    pmpaddr15, a1
        csrr    a0, pmpaddr15
        check   2, a0, -1
        csrr    a0, pmpaddr1
        check   3, a0, 0
        csrw    pmpcfg0, a1
        csrr    a0, pmpcfg0
        check   4, a0, 0x1f1f1f1f          # A, X, W, R; the lock stays 0
        li      a0, 0x06020301             # by byte: XW and W are reserved, RW, R
        csrw    pmpcfg3, a0
        csrr    a0, pmpcfg3
        check   5, a0, 0x04000301
        # An entry over all of memory without any right: machine mode goes on.
        li      a0, 0x18
        csrw    pmpcfg0, a0
        la      a1, word
        sw      a0, 0(a1)
        lw      a2, 0(a1)
        check   6, a2, 0x18

        li      a1, -1
        csrw    tselect, a1
        csrr    a0, tselect
        check   7, a0, 0
        csrw    tdata1, a1
        csrr    a0, tdata1
        check   8, a0, 0                   # type 0: no trigger here
        csrw    tdata2, a1
        csrr    a0, tdata2
        check   9, a0, 0
        csrr    a0, tdata3
        check   10, a0, 0
        j       pass
        .data
        .balign 4
word:   .word   0
        finish
