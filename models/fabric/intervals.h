// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace steppe {

/// When one resource is taken: sorted intervals in picoseconds, apart from each other. What lies
/// before the present is forgotten.
class Intervals {
 public:
  struct Span {
    std::uint64_t begin;
    std::uint64_t end;
  };

  /// The first instant at or after `start` that is free.
  [[nodiscard]] std::uint64_t first_free(std::uint64_t start) const;
  /// Takes `duration` in one piece, in the first gap at or after `start` that is long enough.
  Span reserve(std::uint64_t now, std::uint64_t start, std::uint64_t duration);
  /// Takes `duration` in as many pieces as it needs, from the first free instant at or after
  /// `start` on, so that no gap is lost; the span goes from the first piece to the last.
  /// `on_piece(begin, end)` is told each of them.
  template <typename OnPiece>
  Span fill(std::uint64_t now, std::uint64_t start, std::uint64_t duration, OnPiece&& on_piece);
  Span fill(std::uint64_t now, std::uint64_t start, std::uint64_t duration) {
    return fill(now, start, duration, [](std::uint64_t, std::uint64_t) {});
  }

 private:
  void forget(std::uint64_t now);
  /// Takes [begin, end), which is free and lies before intervals_[at] and after the one before it.
  /// Returns the index of the interval that it belongs to then.
  std::size_t take(std::size_t at, std::uint64_t begin, std::uint64_t end);

  std::vector<Span> intervals_;
};

template <typename OnPiece>
Intervals::Span Intervals::fill(std::uint64_t now, std::uint64_t start, std::uint64_t duration,
                                OnPiece&& on_piece) {
  if (duration == 0) return {start, start};
  forget(now);
  std::size_t at = 0;
  while (at < intervals_.size() && intervals_[at].end <= start) ++at;
  std::uint64_t begin = start;
  std::uint64_t first = ~std::uint64_t{0};
  std::uint64_t left = duration;
  while (true) {
    if (at < intervals_.size() && intervals_[at].begin <= begin) {
      if (intervals_[at].end > begin) begin = intervals_[at].end;
      ++at;
      continue;
    }
    const bool last = at == intervals_.size() || intervals_[at].begin - begin >= left;
    const std::uint64_t end = last ? begin + left : intervals_[at].begin;
    if (first > begin) first = begin;
    on_piece(begin, end);
    at = take(at, begin, end) + 1;
    if (last) return {first, end};
    left -= end - begin;
    begin = intervals_[at - 1].end;
  }
}

}  // namespace steppe
