# SPDX-License-Identifier: Apache-2.0
# Reset: clears .bss, enables the external interrupt as a wake-up source, runs main. A trap is a bug of
# the firmware: READY reads 3 then, and the core sleeps for good.
        .section .text.start, "ax"
        .globl  _start
_start: la      sp, __stack_top
        la      t0, trap
        csrw    mtvec, t0
        la      t0, __bss_start
        la      t1, __bss_end
clear:  bgeu    t0, t1, ready
        sw      zero, 0(t0)
        addi    t0, t0, 4
        j       clear
ready:  li      t0, 0x800           # mie.MEIE; mstatus.MIE stays 0, so wfi wakes without a trap
        csrw    mie, t0
        call    main

        .balign 4
trap:   li      t0, 0x1000000c      # READY
        li      t1, 3
        sw      t1, 0(t0)
        csrw    mie, zero
sleep:  wfi
        j       sleep
