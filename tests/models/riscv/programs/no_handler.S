# SPDX-License-Identifier: Apache-2.0
# A trap with mtvec pointing to nothing.
#include "check.inc"
        begin
        li      a0, 0x40000000
        csrw    mtvec, a0
        ecall
        j       pass
        finish
