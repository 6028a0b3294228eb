# SPDX-License-Identifier: Apache-2.0
# Zicsr and the registers of machine mode.
#include "check.inc"
        begin
        csrr    a0, misa
        check   1, a0, 0x40001105          # RV32 with A, C, I, M
        csrr    a0, mhartid
        check   2, a0, 0
        csrr    a0, mvendorid
        check   3, a0, 0
        csrr    a0, mstatus
        check   4, a0, 0x1800              # MPP is machine mode
        # Each form gives the old value and sets, clears or replaces.
        li      a1, 0xf0f0
        csrrw   a0, mscratch, a1
        check   5, a0, 0
        li      a1, 0x0ff0
        csrrs   a0, mscratch, a1
        check   6, a0, 0xf0f0
        li      a1, 0x00f0
        csrrc   a0, mscratch, a1
        check   7, a0, 0xfff0
        csrrwi  a0, mscratch, 21
        check   8, a0, 0xff00
        csrrsi  a0, mscratch, 10
        check   9, a0, 21
        csrrci  a0, mscratch, 16
        check   10, a0, 31
        csrr    a0, mscratch
        check   11, a0, 15
        # The source is the destination.
        li      a0, 1
        csrrw   a0, mscratch, a0
        check   12, a0, 15
        # Fields that are fixed.
        li      a1, -1
        csrw    mstatus, a1
        csrr    a0, mstatus
        csrw    mstatus, x0
        check   13, a0, 0x1888
        csrw    mie, a1
        csrr    a0, mie
        csrw    mie, x0
        check   14, a0, 0x888
        csrw    mip, a1
        csrr    a0, mip
        check   15, a0, 0
        csrw    mtvec, a1
        csrr    a0, mtvec
        check   16, a0, -3
        csrw    mepc, a1
        csrr    a0, mepc
        check   17, a0, -2
        csrw    misa, x0
        csrr    a0, misa
        check   18, a0, 0x40001105
        csrw    mcountinhibit, a1
        csrr    a0, mcountinhibit
        csrw    mcountinhibit, x0
        check   19, a0, 5                  # mcycle and minstret can be stopped
        csrw    mhpmcounter3, a1
        csrr    a0, mhpmcounter3
        check   20, a0, 0
        csrr    a0, mhpmevent31
        check   21, a0, 0

        # minstret: the instruction that writes does not count, the one that reads not yet.
        csrw    minstret, x0
        csrr    a0, minstret
        check   22, a0, 0
        csrw    minstret, x0
        nop
        nop
        csrr    a0, minstret
        check   23, a0, 2
        csrw    minstret, a1               # carries into the high half
        csrw    minstreth, x0
        nop
        csrr    a0, minstreth
        check   24, a0, 1
        csrr    a0, instreth
        check   25, a0, 1
        # A loop of 3 instructions, 4 times, in the default timing.
        li      a2, 4
        csrw    minstret, x0
        csrw    mcycle, x0
1:      nop
        addi    a2, a2, -1
        bnez    a2, 1b
        csrr    a3, mcycle
        csrr    a0, minstret
        check   26, a0, 14                 # csrw mcycle, 12, csrr mcycle
        check   27, a3, 18                 # 12 of one cycle, 3 taken branches of 2 more
        csrw    mcycle, a1
        csrw    mcycleh, x0
        csrr    a0, cycleh
        check   28, a0, 0                  # as written
        j       pass
        finish
