// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/isa/isa.h"

namespace steppe::schedule {

/// Bytes [begin, end) of the chip's address space.
struct Region {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  [[nodiscard]] bool overlaps(const Region& other) const {
    return begin < other.end && other.begin < end;
  }
};

/// The order between operations on one cluster's queues that its memory demands: who reads waits
/// for who wrote, who writes for who read and wrote. Queues do one operation after another, so that
/// of each queue only the latest operation matters.
class Dependencies {
 public:
  static constexpr std::size_t queues = 4;  ///< load, store, tensor, vector

  /// The number of a queue's operation to wait for; none where `exists` is false.
  struct Wait {
    bool exists = false;
    std::uint32_t number = 0;
  };

  /// Notes the accesses of operation `number` of a queue; tells for each queue which operation it
  /// has to wait for and has not waited for yet. Numbers of a queue rise.
  std::array<Wait, queues> add(isa::QueueKind queue, std::uint32_t number,
                               const std::vector<Region>& reads, const std::vector<Region>& writes);

  /// Whatever comes behind the operation waits for it.
  void fence(isa::QueueKind queue, std::uint32_t number);

 private:
  struct Access {
    Region region;
    std::size_t queue = 0;
    std::uint32_t number = 0;
    bool write = false;
  };
  void demand(const Region& region, bool write, std::array<Wait, queues>& waits) const;

  std::vector<Access> accesses_;
  /// [who waits][for whom]: operations below this number have been waited for.
  std::array<std::array<std::uint32_t, queues>, queues> waited_{};
};

}  // namespace steppe::schedule
