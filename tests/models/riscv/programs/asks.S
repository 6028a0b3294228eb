# SPDX-License-Identifier: Apache-2.0
# Asks the host for a system call, which nobody answers.
#include "check.inc"
        begin
        la      s1, tohost
        li      a0, 0x1000
        sw      a0, 0(s1)
        j       .
        finish
