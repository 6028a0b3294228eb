# SPDX-License-Identifier: Apache-2.0
# RV32M with its edges: division by zero and the overflow of -2^31 / -1 (table 7.1 of the manual).
#include "check.inc"
        begin
        binary  1, mul, 0xffffffff, 0xffffffff, 1
        binary  2, mul, 0x10001, 0x10001, 0x20001              # (2^16+1)^2 = 2^32 + 2^17 + 1
        binary  3, mulh, 0x80000000, 0x80000000, 0x40000000    # 2^62
        binary  4, mulh, 0xffffffff, 1, 0xffffffff             # -1
        binary  5, mulhu, 0xffffffff, 0xffffffff, 0xfffffffe   # 2^64 - 2^33 + 1
        binary  6, mulhsu, 0xffffffff, 0xffffffff, 0xffffffff  # -1 * (2^32-1) = -2^32 + 1
        binary  7, mulhsu, 0x7fffffff, 0x80000000, 0x3fffffff  # 2^62 - 2^31
        binary  8, mulhsu, 0x80000000, 0xffffffff, 0x80000000  # -2^63 + 2^31
        binary  9, div, 20, -6, -3
        binary  10, div, -20, 6, -3
        binary  11, rem, 20, -6, 2
        binary  12, rem, -20, 6, -2
        binary  13, divu, 0xffffffec, 6, 0x2aaaaaa7            # 4294967276 = 6 * 715827879 + 2
        binary  14, remu, 0xffffffec, 6, 2
        binary  15, div, 5, 0, -1
        binary  16, divu, 5, 0, 0xffffffff
        binary  17, rem, 5, 0, 5
        binary  18, remu, 5, 0, 5
        binary  19, rem, -5, 0, -5
        binary  20, div, 0x80000000, -1, 0x80000000
        binary  21, rem, 0x80000000, -1, 0
        binary  22, divu, 0x80000000, 0xffffffff, 0
        binary  23, remu, 0x80000000, 0xffffffff, 0x80000000
        j       pass
        finish
