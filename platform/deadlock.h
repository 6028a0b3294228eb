// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "models/queue/queue.h"

namespace steppe {

/// Who waits for whom: for each queue that waits for a semaphore, where and what for, then each
/// place in the streams of all queues that gives to that semaphore, and what the queue there is
/// doing. Notifications through base registers are taken with the registers' present values.
std::string deadlock_report(std::span<Queue* const> queues);

}  // namespace steppe
