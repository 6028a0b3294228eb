// SPDX-License-Identifier: Apache-2.0
#include "models/queue/semaphore_file.h"

#include <algorithm>

namespace steppe {

SemaphoreFile::SemaphoreFile(sc_core::sc_module_name name, const Scope& scope)
    : sc_module(name),
      latency_param_(scope, "latency", 10e-9, "s", "from a signal to the start of who waited",
                     {0, 1e-3}),
      latency_(latency_param_, sc_core::SC_SEC),
      tokens_(count, 0),
      last_giver_(count, Giver::remote),
      events_(count) {
  scope.stat("gives", "", "signals given", gives_);
}

void SemaphoreFile::take(std::uint32_t id, std::uint32_t tokens) {
  if (id == isa::no_semaphore) return;
  STEPPE_CHECK(tokens_[id] >= tokens, "semaphore {} holds {}", id, tokens_[id]);
  tokens_[id] -= tokens;
}

void SemaphoreFile::give(std::uint32_t id, std::uint32_t tokens, Giver giver) {
  if (id >= count) return;
  tokens_[id] += tokens;
  last_giver_[id] = giver;
  ++gives_;
  events_[id].notify(sc_core::SC_ZERO_TIME);
}

void SemaphoreFile::reset() { std::ranges::fill(tokens_, 0); }

}  // namespace steppe
