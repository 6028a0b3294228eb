// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "models/queue/queue.h"

namespace steppe {

/// Who waits for whom: for each queue that waits for a semaphore, where and what for, and which
/// queues have an instruction left that would signal it, the first of each. Those that nobody is
/// left to signal come first: they are where to look.
std::string deadlock_report(std::span<Queue* const> queues);

}  // namespace steppe
