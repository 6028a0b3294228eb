// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/occupancy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace steppe {

Occupancy::Occupancy(const Scope& scope, const std::string& prefix, Trace trace) {
  if (trace == Trace::yes && scope.timeline() != nullptr) {
    timeline_ = scope.timeline();
    std::string name = scope.path();
    if (!prefix.empty()) name += fmt::format(".{}", prefix.substr(0, prefix.size() - 1));
    track_ = timeline_->add_track(name);
  }
  scope.stat(prefix + "bytes", "B", "bytes that passed", bytes_);
  scope.stat(prefix + "transactions", "", "transactions that passed", transactions_);
  scope.stat(prefix + "busy", "ps", "time it was taken", busy_);
  scope.stat(prefix + "waiting", "ps", "time that transactions waited for it, summed", waiting_);
}

std::uint64_t Occupancy::reserve(std::uint64_t now, std::uint64_t start, std::uint64_t duration,
                                 Bytes bytes) {
  // An empty interval would still split the gap that it lies in.
  if (duration == 0) return start;
  const auto past =
      std::ranges::find_if(intervals_, [&](const Interval& i) { return i.end > now; });
  intervals_.erase(intervals_.begin(), past);

  std::uint64_t begin = start;
  auto at = intervals_.begin();
  for (; at != intervals_.end(); ++at) {
    if (begin + duration <= at->begin) break;
    begin = std::max(begin, at->end);
  }
  const std::uint64_t end = begin + duration;
  const bool joins_before = at != intervals_.begin() && std::prev(at)->end == begin;
  const bool joins_after = at != intervals_.end() && at->begin == end;
  if (joins_before && joins_after) {
    std::prev(at)->end = at->end;
    intervals_.erase(at);
  } else if (joins_before) {
    std::prev(at)->end = end;
  } else if (joins_after) {
    at->begin = begin;
  } else {
    intervals_.insert(at, {begin, end});
  }

  if (timeline_ != nullptr) timeline_->slice(track_, fmt::format("{} B", bytes), begin, end);
  bytes_ += bytes;
  ++transactions_;
  busy_ += duration;
  waiting_ += begin - start;
  return end;
}

std::uint64_t transfer_ps(Bytes bytes, double bandwidth) {
  return static_cast<std::uint64_t>(std::ceil(static_cast<double>(bytes) * 1e12 / bandwidth));
}

}  // namespace steppe
