# SPDX-License-Identifier: Apache-2.0
# Never ends.
#include "check.inc"
        begin
        j       .
        finish
