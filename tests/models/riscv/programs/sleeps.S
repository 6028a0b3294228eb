# SPDX-License-Identifier: Apache-2.0
# Sleeps for good: no interrupt is enabled.
#include "check.inc"
        begin
        wfi
        j       pass
        finish
