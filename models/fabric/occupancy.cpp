// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/occupancy.h"

#include <fmt/format.h>

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

void Occupancy::count(std::uint64_t duration, std::uint64_t waited, Bytes bytes) {
  bytes_ += bytes;
  ++transactions_;
  busy_ += duration;
  waiting_ += waited;
}

void Occupancy::trace(std::uint64_t begin, std::uint64_t end, Bytes bytes) {
  timeline_->slice(track_, fmt::format("{} B", bytes), begin, end);
}

std::uint64_t Occupancy::reserve(std::uint64_t now, std::uint64_t start, std::uint64_t duration,
                                 Bytes bytes) {
  if (duration == 0) return start;
  const Intervals::Span span = intervals_.reserve(now, start, duration);
  if (timeline_ != nullptr) trace(span.begin, span.end, bytes);
  count(duration, span.begin - start, bytes);
  return span.end;
}

Intervals::Span Occupancy::fill(std::uint64_t now, std::uint64_t start, std::uint64_t duration,
                                Bytes bytes) {
  if (duration == 0) return {start, start};
  const Intervals::Span span =
      timeline_ == nullptr
          ? intervals_.fill(now, start, duration)
          : intervals_.fill(now, start, duration, [&](std::uint64_t begin, std::uint64_t end) {
              trace(begin, end, bytes);
            });
  count(duration, span.end - start - duration, bytes);
  return span;
}

void register_peak(const Scope& scope, const std::string& prefix, double bandwidth) {
  scope.stat(prefix + "peak_bandwidth", "B/s", "the most that can pass",
             [bandwidth] { return bandwidth; });
}

std::uint64_t transfer_ps(Bytes bytes, double bandwidth) {
  return static_cast<std::uint64_t>(std::ceil(static_cast<double>(bytes) * 1e12 / bandwidth));
}

}  // namespace steppe
