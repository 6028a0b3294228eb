# SPDX-License-Identifier: Apache-2.0
# Loads and stores of every width, sign and alignment.
#include "check.inc"
.macro load number, op, offset, expected
        \op     a3, \offset(s0)
        check   \number, a3, \expected
.endm
        begin
        la      s0, bytes
        load    1, lb, 0, 0x11
        load    2, lb, 3, 0xffffff88
        load    3, lbu, 3, 0x88
        load    4, lh, 0, 0x2211
        load    5, lh, 2, 0xffff8844
        load    6, lhu, 2, 0x8844
        load    7, lw, 0, 0x88442211
        load    8, lw, 4, 0xccbbaa99
        # Misaligned.
        load    9, lh, 1, 0x4422
        load    10, lh, 3, 0xffff9988
        load    11, lhu, 3, 0x9988
        load    12, lw, 1, 0x99884422
        load    13, lw, 2, 0xaa998844
        load    14, lw, 3, 0xbbaa9988

        la      s0, room
        li      a1, 0xa1b2c3d4
        sw      a1, 0(s0)
        sb      a1, 1(s0)
        load    15, lw, 0, 0xa1b2d4d4
        sh      a1, 2(s0)
        load    16, lw, 0, 0xc3d4d4d4
        sw      a1, 5(s0)                  # bytes 5 to 8
        load    17, lw, 4, 0xb2c3d400
        load    18, lw, 8, 0x000000a1
        sh      a1, 11(s0)
        load    19, lw, 8, 0xd40000a1
        load    20, lw, 12, 0x000000c3
        # The base register is the destination, offsets are signed.
        addi    s1, s0, 16
        sw      s0, 0(s1)
        lw      s1, -16(s1)
        check   21, s1, 0xc3d4d4d4
        j       pass
        .data
bytes:  .byte   0x11, 0x22, 0x44, 0x88, 0x99, 0xaa, 0xbb, 0xcc
        .balign 4
room:   .zero   32
        finish
