# SPDX-License-Identifier: Apache-2.0
# Never ends.
#include "check.h"
        begin
        j       .
        finish
