// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/base/scope.h"
#include "models/base/units.h"

namespace steppe {

/// The timeline of one shared resource: who has it when.
///
/// A reservation takes the first gap at or after its start that is long enough, so that one made
/// early for a distant moment does not hold up others before it. Times are picoseconds.
class Occupancy {
 public:
  enum class Trace : std::uint8_t { no, yes };

  /// Registers bytes, transactions, busy and waiting time under `prefix` in the scope; with
  /// Trace::yes it is a track of the timeline as well, where there is one.
  Occupancy(const Scope& scope, const std::string& prefix, Trace trace = Trace::no);

  /// Reserves `duration` at or after `start`; `now` is the present, before which nothing is asked
  /// any more. Returns the end. A duration of 0 is a probe: it takes nothing and is not counted.
  std::uint64_t reserve(std::uint64_t now, std::uint64_t start, std::uint64_t duration,
                        Bytes bytes);

  [[nodiscard]] std::uint64_t busy_ps() const { return busy_.value; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_.value; }

 private:
  struct Interval {
    std::uint64_t begin;
    std::uint64_t end;
  };
  std::vector<Interval> intervals_;  ///< sorted, apart from each other
  Timeline* timeline_ = nullptr;
  Timeline::Track track_ = 0;
  Counter bytes_;
  Counter transactions_;
  Counter busy_;
  Counter waiting_;
};

/// Picoseconds that `bytes` take at `bandwidth` bytes per second, rounded up.
std::uint64_t transfer_ps(Bytes bytes, double bandwidth);

}  // namespace steppe
