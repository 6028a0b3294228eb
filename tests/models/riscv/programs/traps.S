# SPDX-License-Identifier: Apache-2.0
# Exceptions: mcause, mepc, mtval, mstatus and the way back. The handler keeps what it saw in s2 to s5 and goes on
# at s11.
#include "check.inc"
.macro expect number, cause, value
        check   \number, s2, \cause
        la      a0, 1b
        sub     a0, s3, a0
        check   \number, a0, 0             # mepc is the instruction at 1
        check   \number, s4, \value
.endm
        begin
        la      a0, handler
        csrw    mtvec, a0
        csrsi   mstatus, 8                 # MIE

        la      s11, 2f
1:      ecall
2:      expect  1, 11, 0
        check   2, s5, 0x1880              # MIE went to MPIE
        csrr    a0, mstatus
        check   3, a0, 0x1888              # and came back
        csrci   mstatus, 8
        la      s11, 2f
1:      ecall
2:      check   4, s5, 0x1800
        csrr    a0, mstatus
        check   5, a0, 0x1880

        la      s11, 2f
1:      ebreak
2:      check   6, s2, 3
        la      a0, 1b
        sub     a0, s4, a0
        check   7, a0, 0                   # mtval is the address
        .option rvc
        la      s11, 2f
1:      c.ebreak
2:      .option norvc
        check   8, s2, 3

        # Illegal: all zeros and all ones, compressed and reserved forms, and what is not there.
.macro  illegal number, word
        la      s11, 2f
1:      .word   \word
2:      expect  \number, 2, \word
.endm
        illegal 10, 0xffffffff
        illegal 11, 0x0000205b             # custom-2
        illegal 12, 0x40001033             # sll with funct7 of sub
        illegal 13, 0x40101013             # slli with bit 30
        illegal 14, 0x02101013             # slli by 33
        illegal 15, 0x00003003             # ld
        illegal 16, 0x00003023             # sd
        illegal 17, 0x00002063             # branch 2
        illegal 18, 0x00001067             # jalr with funct3 1
        illegal 19, 0x1012a2af             # lr.w with rs2
        illegal 20, 0x0002b2af             # amoadd.d
        illegal 21, 0x10200073             # sret
        illegal 22, 0x00004073             # SYSTEM with funct3 4
        illegal 23, 0xc0001073             # csrw cycle, x0: read-only
        illegal 24, 0xf1429073             # csrw mhartid, t0
        illegal 25, 0x180022f3             # csrr t0, satp
        illegal 26, 0x306022f3             # csrr t0, mcounteren: there is no lower mode
        illegal 27, 0x00002007             # flw
.macro  illegal_half number, half
        la      s11, 2f
1:      .half   \half
2:      expect  \number, 2, \half
.endm
        illegal_half 28, 0x0000
        illegal_half 29, 0x4002            # c.lwsp x0
        illegal_half 30, 0x6081            # c.lui ra, 0
        illegal_half 31, 0x8002            # c.jr x0
        illegal_half 32, 0x1502            # c.slli by 32
        illegal_half 33, 0x9101            # c.srli by 32
        illegal_half 34, 0x9d01            # c.subw
        illegal_half 35, 0x6101            # c.addi16sp 0
        illegal_half 36, 0x0004            # c.addi4spn 0
        illegal_half 37, 0x8000            # reserved
        illegal_half 38, 0x2000            # c.fld
        illegal_half 39, 0x6000            # c.flw

        illegal 60, 0x30200073 + 0x80      # mret with rd
        illegal 61, 0x12000073             # sfence.vma
        illegal 62, 0x30202373             # csrr t1, medeleg
        illegal 63, 0xc01022f3             # csrr t0, time
        illegal 64, 0x3a4022f3             # csrr t0, pmpcfg4
        illegal 65, 0x7b0022f3             # csrr t0, dcsr: debug mode only
        li      s2, 0
        la      s11, 2f
        csrsi   cycle, 0                   # set and clear of nothing only read
        csrc    instret, x0
2:      check   66, s2, 0

        # A trap inside a handler: mepc and mcause are the later one's, and MPIE is lost.
        csrsi   mstatus, 8
        la      a0, outer
        csrw    mtvec, a0
        la      s11, 2f
        ecall
2:      check   67, s2, 3
        la      a0, inner
        check   68, s5, 0x1800
        sub     a0, s3, a0
        check   68, a0, 0
        check   69, s6, 11                 # the outer cause
        csrr    a0, mstatus
        check   70, a0, 0x1880             # MIE from an MPIE of 0
        # mret goes where mepc says, whose bit 0 is always 0.
        la      a0, 3f + 1
        csrw    mepc, a0
        mret
        j       fail
3:      csrr    a0, mstatus
        check   71, a0, 0x1888             # MPIE was 1
        csrci   mstatus, 8

        # There is nothing at 0x40000000. A faulting load leaves its register alone.
        li      a1, 0x40000000
        li      a2, 55
.macro  fault number, cause, value, instruction:vararg
        la      s11, 2f
1:      \instruction
2:      expect  \number, \cause, \value
        check   \number, a2, 55
.endm
        fault   40, 5, 0x40000000, lw a2, 0(a1)
        fault   41, 5, 0x40000003, lbu a2, 3(a1)
        fault   42, 7, 0x40000004, sw a2, 4(a1)
        fault   43, 7, 0x3fffffff, sb a2, -1(a1)
        fault   44, 4, 0x40000002, lw a2, 2(a1)
        fault   45, 6, 0x40000001, sh a2, 1(a1)
        fault   46, 5, 0x40000000, lr.w a2, (a1)
        fault   47, 7, 0x40000000, sc.w a2, a2, (a1)
        fault   48, 7, 0x40000000, amoadd.w a2, a2, (a1)
        li      a1, 0xfffffffe             # past the end of the address space
        fault   49, 5, 0xffffffff, lb a2, 1(a1)
        # Atomics need alignment even in local memory.
        li      a1, 0x8002
        fault   50, 4, 0x8002, lr.w a2, (a1)
        fault   51, 6, 0x8002, sc.w a2, a2, (a1)
        fault   52, 6, 0x8002, amoswap.w a2, a2, (a1)

        # Jumps to where nothing can be fetched: the jump is done, the fetch traps.
.macro  fetch number, target
        check   \number, s2, 1
        check   \number, s3, \target
        check   \number, s4, \target
.endm
        la      s11, 2f
        li      a1, 0x40000001
        jalr    a3, 0(a1)                  # bit 0 is cleared
1:
2:      fetch   53, 0x40000000
        la      a0, 1b
        sub     a0, a0, a3
        check   54, a0, 0                  # the link was written
        la      s11, 2f
        jal     a3, _start - 0x1000
2:      check   55, s2, 1
        check   55, s3, -0x1000
        la      s11, 2f
        beq     x0, x0, _start - 0x800
2:      check   56, s2, 1
        check   56, s3, -0x800
        la      s11, 2f
        bne     x0, x0, _start - 0x800
        li      s2, 99
2:      check   57, s2, 99

        # The last halfword of memory (1 MiB here): a short instruction runs off the end, a long one straddles it.
        li      a1, 0xffffe
        li      a2, 0x0001                 # c.nop
        sh      a2, 0(a1)
        la      s11, 2f
        jr      a1
2:      fetch   58, 0x100000
        li      a2, 0x0013                 # the low half of nop
        sh      a2, 0(a1)
        la      s11, 2f
        jr      a1
2:      check   59, s2, 1
        check   59, s3, 0xffffe
        check   59, s4, 0x100000
        j       pass
        .balign 8                          # of 4 the assembler believes that instructions keep it
outer:  csrr    s6, mcause
        la      s5, handler
        csrw    mtvec, s5
inner:  ebreak
        .balign 8
handler:
        csrr    s2, mcause
        csrr    s3, mepc
        csrr    s4, mtval
        csrr    s5, mstatus
        csrw    mepc, s11
        mret
        finish
