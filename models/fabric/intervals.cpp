// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/intervals.h"

#include <algorithm>

namespace steppe {

void Intervals::forget(std::uint64_t now) {
  if (intervals_.empty() || intervals_.front().end > now) return;
  const auto past = std::ranges::find_if(intervals_, [&](const Span& i) { return i.end > now; });
  intervals_.erase(intervals_.begin(), past);
}

std::uint64_t Intervals::first_free(std::uint64_t start) const {
  for (const Span& taken : intervals_) {
    if (taken.begin > start) break;
    start = std::max(start, taken.end);
  }
  return start;
}

Intervals::Span Intervals::reserve(std::uint64_t now, std::uint64_t start, std::uint64_t duration) {
  // An empty interval would still split the gap that it lies in.
  if (duration == 0) return {start, start};
  forget(now);
  std::uint64_t begin = start;
  std::size_t at = 0;
  for (; at < intervals_.size(); ++at) {
    if (begin + duration <= intervals_[at].begin) break;
    begin = std::max(begin, intervals_[at].end);
  }
  take(at, begin, begin + duration);
  return {begin, begin + duration};
}

std::size_t Intervals::take(std::size_t at, std::uint64_t begin, std::uint64_t end) {
  const bool joins_before = at > 0 && intervals_[at - 1].end == begin;
  const bool joins_after = at < intervals_.size() && intervals_[at].begin == end;
  const auto place = intervals_.begin() + static_cast<std::ptrdiff_t>(at);
  if (joins_before && joins_after) {
    intervals_[at - 1].end = intervals_[at].end;
    intervals_.erase(place);
    return at - 1;
  }
  if (joins_before) {
    intervals_[at - 1].end = end;
    return at - 1;
  }
  if (joins_after) {
    intervals_[at].begin = begin;
    return at;
  }
  intervals_.insert(place, {begin, end});
  return at;
}

}  // namespace steppe
