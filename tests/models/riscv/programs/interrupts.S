# SPDX-License-Identifier: Apache-2.0
# Timer and software interrupts of the CLINT, vectored: which comes first, what is saved, nesting, wfi. The handlers
# write what they saw at s8 and further: mcause, mepc, mstatus.
#include "check.inc"
.macro saw number, cause, label
        lw      a0, 0(s7)
        check   \number, a0, \cause
        lw      a0, 4(s7)
        la      a1, \label
        sub     a0, a0, a1
        check   \number, a0, 0
        lw      a0, 8(s7)
        check   \number, a0, 0x1880
        addi    s7, s7, 12
.endm
        begin
        li      s0, 0x02000000             # msip
        li      s1, 0x02004000             # mtimecmp
        li      s2, 0x0200bff8             # mtime
        la      s7, seen
        mv      s8, s7
        la      a0, vectors + 1
        csrw    mtvec, a0
        li      a0, 0x88                   # MTIE, MSIE
        csrw    mie, a0

        # Both pending while MIE is 0: nothing happens, mip tells.
        sw      x0, 4(s1)
        sw      x0, 0(s1)
        li      a0, 1
        sw      a0, 0(s0)
        csrr    a0, mip
        check   1, a0, 0x88
        sub     a0, s8, s7
        check   2, a0, 0
        # The software interrupt comes first, then the timer's, before the next instruction.
        csrsi   mstatus, 8
1:      sub     a0, s8, s7
        check   3, a0, 24
        saw     4, 0x80000003, 1b
        saw     5, 0x80000007, 1b
        csrr    a0, mstatus
        check   6, a0, 0x1888
        csrr    a0, mip
        check   7, a0, 0

        # mie selects.
        li      a0, 0x80
        csrw    mie, a0
        li      a0, 1
        sw      a0, 0(s0)
        nop
        sub     a0, s8, s7
        check   8, a0, 0
        csrwi   mie, 8
1:      saw     9, 0x80000003, 1b

        # wfi ends by a pending interrupt that mstatus holds back; it is taken as soon as MIE is set.
        csrci   mstatus, 8
        li      a0, 0x80
        csrw    mie, a0
        lw      a0, 0(s2)
        addi    a0, a0, 50
        sw      a0, 0(s1)
        wfi
        lw      a1, 0(s2)
        sltu    a1, a1, a0
        check   10, a1, 0                  # not before its time
        csrr    a0, mip
        check   11, a0, 0x80
        sub     a0, s8, s7
        check   12, a0, 0
        csrsi   mstatus, 8
1:      saw     13, 0x80000007, 1b

        # wfi with MIE set: mepc is the instruction behind it.
        lw      a0, 0(s2)
        addi    a0, a0, 50
        sw      a0, 0(s1)
        wfi
1:      saw     14, 0x80000007, 1b

        # Without a wfi, the timer interrupts a loop; an exception uses the base of the vectors.
        lw      a0, 0(s2)
        addi    a0, a0, 50
        sw      a0, 0(s1)
1:      beq     s8, s7, 1b
        saw     15, 0x80000007, 1b
        li      s9, 0
        ecall
        check   16, s9, 11

        # mret to code with interrupts on: the pending one is taken at once, before an instruction there.
        csrci   mstatus, 8
        csrwi   mie, 8
        li      a0, 1
        sw      a0, 0(s0)
        li      a0, 0x80                   # MPIE
        csrs    mstatus, a0
        la      a0, 1f
        csrw    mepc, a0
        mret
        j       fail
1:      saw     17, 0x80000003, 1b
        # The CLINT has words only.
        csrci   mstatus, 8
        li      s9, 0
        lb      a0, 0(s0)
        check   18, s9, 5
        li      s9, 0
        sh      a0, 0(s1)
        check   19, s9, 7
        j       pass

        .balign 64
vectors:
        j       exception
        j       fail
        j       fail
        j       software
        j       fail
        j       fail
        j       fail
        j       timer
software:
        sw      x0, 0(s0)
        j       note
timer:  li      t0, -1
        sw      t0, 0(s1)
note:   csrr    t0, mcause
        sw      t0, 0(s8)
        csrr    t0, mepc
        sw      t0, 4(s8)
        csrr    t0, mstatus
        sw      t0, 8(s8)
        addi    s8, s8, 12
        mret
exception:
        csrr    s9, mcause
        csrr    t0, mepc
        addi    t0, t0, 4
        csrw    mepc, t0
        mret
        .data
        .balign 4
seen:   .zero   256
        finish
