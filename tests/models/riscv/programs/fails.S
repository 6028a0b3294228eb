# SPDX-License-Identifier: Apache-2.0
# A check that must fail: the harness itself is tested with it.
#include "check.inc"
        begin
        binary  1, add, 1, 1, 2
        binary  2, add, 1, 1, 3
        j       pass
        finish
