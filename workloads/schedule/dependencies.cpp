// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/dependencies.h"

#include <algorithm>
#include <limits>

namespace steppe::schedule {

void Dependencies::demand(const Region& region, bool write, std::array<Wait, queues>& waits) const {
  for (const Access& access : accesses_) {
    if ((!write && !access.write) || !access.region.overlaps(region)) continue;
    Wait& wait = waits[access.queue];
    wait = {true, wait.exists ? std::max(wait.number, access.number) : access.number};
  }
}

std::array<Dependencies::Wait, Dependencies::queues> Dependencies::add(
    isa::QueueKind queue, std::uint32_t number, const std::vector<Region>& reads,
    const std::vector<Region>& writes) {
  const auto own = static_cast<std::size_t>(queue);
  std::array<Wait, queues> waits{};
  for (const Region& region : reads) demand(region, false, waits);
  for (const Region& region : writes) demand(region, true, waits);
  waits[own] = {};
  for (std::size_t other = 0; other < queues; ++other) {
    if (!waits[other].exists) continue;
    std::uint32_t& waited = waited_[own][other];
    waits[other].exists = waits[other].number >= waited;
    waited = std::max(waited, waits[other].number + 1);
  }
  // What is written over by this operation needs no memory of its own any more: who has to wait for
  // it waits for this one.
  std::erase_if(accesses_, [&](const Access& access) {
    return std::ranges::any_of(writes, [&](const Region& region) {
      return region.begin <= access.region.begin && access.region.end <= region.end;
    });
  });
  for (const Region& region : reads) accesses_.push_back({region, own, number, false});
  for (const Region& region : writes) accesses_.push_back({region, own, number, true});
  return waits;
}

void Dependencies::fence(isa::QueueKind queue, std::uint32_t number) {
  constexpr Region everything{0, std::numeric_limits<std::uint64_t>::max()};
  accesses_ = {{everything, static_cast<std::size_t>(queue), number, true}};
}

}  // namespace steppe::schedule
