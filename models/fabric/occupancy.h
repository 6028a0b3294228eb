// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "models/base/scope.h"
#include "models/base/units.h"
#include "models/fabric/intervals.h"

namespace steppe {

/// The timeline of one shared resource: who has it when.
///
/// Whoever asks first is served first among those that ask for the same moment, and a reservation
/// that stands is never moved, so that nobody starves. One made early for a distant moment does not
/// hold up others before it. Times are picoseconds.
class Occupancy {
 public:
  enum class Trace : std::uint8_t { no, yes };

  /// Registers bytes, transactions, busy and waiting time under `prefix` in the scope; with
  /// Trace::yes it is a track of the timeline as well, where there is one.
  Occupancy(const Scope& scope, const std::string& prefix, Trace trace = Trace::no);

  /// Reserves `duration` in one piece, in the first gap at or after `start` that is long enough;
  /// `now` is the present, before which nothing is asked any more. Returns the end. A duration of 0
  /// is a probe: it takes nothing and is not counted.
  std::uint64_t reserve(std::uint64_t now, std::uint64_t start, std::uint64_t duration,
                        Bytes bytes);
  /// Like `reserve`, but in pieces, as what is cut into packets can be: no gap is lost. Returns
  /// the begin of the first piece and the end of the last.
  Intervals::Span fill(std::uint64_t now, std::uint64_t start, std::uint64_t duration, Bytes bytes);
  /// The first instant at or after `start` that is free.
  [[nodiscard]] std::uint64_t first_free(std::uint64_t start) const {
    return intervals_.first_free(start);
  }
  /// Takes an interval that is no transfer, such as a refresh: neither busy nor waiting.
  void block(std::uint64_t now, std::uint64_t start, std::uint64_t duration) {
    intervals_.fill(now, start, duration);
  }

  [[nodiscard]] std::uint64_t busy_ps() const { return busy_.value; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_.value; }

 private:
  void count(std::uint64_t duration, std::uint64_t waited, Bytes bytes);
  void trace(std::uint64_t begin, std::uint64_t end, Bytes bytes);

  Intervals intervals_;
  Timeline* timeline_ = nullptr;
  Timeline::Track track_ = 0;
  Counter bytes_;
  Counter transactions_;
  Counter busy_;
  Counter waiting_;
};

/// Registers `peak_bandwidth` under `prefix`, to set what was achieved against.
void register_peak(const Scope& scope, const std::string& prefix, double bandwidth);

/// Picoseconds that `bytes` take at `bandwidth` bytes per second, rounded up.
std::uint64_t transfer_ps(Bytes bytes, double bandwidth);

}  // namespace steppe
