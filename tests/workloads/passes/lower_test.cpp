// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/lower.h"
