# SPDX-License-Identifier: Apache-2.0
# Prints through tohost, then passes; its signature is two words.
#include "check.inc"
        begin
        la      s0, text
1:      lbu     a0, 0(s0)
        beqz    a0, pass
        la      s1, tohost
        li      a1, 0x01010000             # device 1, command 1
        sw      a0, 0(s1)
        sw      a1, 4(s1)
2:      lw      a0, 0(s1)
        bnez    a0, 2b
        addi    s0, s0, 1
        j       1b
        .data
text:   .string "Bare, and a line\nor two"
        .balign 16
        .globl  begin_signature, end_signature
begin_signature:
        .word   0x600df00d, 7
end_signature:
        finish
