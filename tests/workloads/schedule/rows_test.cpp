// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/rows.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

using namespace steppe;
using namespace steppe::schedule;

TEST_CASE("rows are owned in equal parts, the first clusters first") {
  // 7 rows over 4: bounds at ceil(7 p / 4) = 0, 2, 4, 6, 7
  CHECK(owned_rows(7, 0, 4) == RowRange{0, 2});
  CHECK(owned_rows(7, 1, 4) == RowRange{2, 4});
  CHECK(owned_rows(7, 2, 4) == RowRange{4, 6});
  CHECK(owned_rows(7, 3, 4) == RowRange{6, 7});
  CHECK(owned_rows(1, 0, 4) == RowRange{0, 1});
  CHECK(owned_rows(1, 3, 4).empty());
}

TEST_CASE("a range over several images is parted at their borders") {
  CHECK(split_by_image({0, 12}, 6, 4).size() == 4);  // 4 | 2 || 4 | 2
  const auto parts = split_by_image({5, 17}, 6);     // images of 6 rows: 5 | 6..11 | 12..16
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].image == 0);
  CHECK(parts[0].begin == 5);
  CHECK(parts[0].end == 6);
  CHECK(parts[1].image == 1);
  CHECK(parts[1].begin == 0);
  CHECK(parts[1].end == 6);
  CHECK(parts[2].image == 2);
  CHECK(parts[2].end == 5);
}

TEST_CASE("window rows: stride 2, kernel 3, padding 1 over 8 rows") {
  // Output rows 0..1 read input rows -1..3: one row of padding, rows 0..3 present.
  const WindowRows top = window_rows({0, 0, 2}, 8, 3, 2, 1, 1);
  CHECK(top.begin == 0);
  CHECK(top.end == 4);
  CHECK(top.pad_top == 1);
  // Output rows 2..3 read input rows 3..7.
  const WindowRows bottom = window_rows({0, 2, 4}, 8, 3, 2, 1, 1);
  CHECK(bottom.begin == 3);
  CHECK(bottom.end == 8);
  CHECK(bottom.pad_top == 0);
}

TEST_CASE("window rows: a window that lies below the input keeps one row present") {
  // Kernel 1, stride 4, padding 0 over 3 rows: output row 1 reads row 4, which is not there.
  const WindowRows rows = window_rows({0, 1, 2}, 3, 1, 4, 1, 0);
  CHECK(rows.begin == 2);
  CHECK(rows.end == 3);
  CHECK(rows.pad_top == -2);  // row 4 is the second below the row present: padding
}

TEST_CASE("clipped permutations move just the bytes of the range") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    // A transposition of five axes with random extents.
    net::PermutePart part;
    std::array<std::uint32_t, 5> order{0, 1, 2, 3, 4};
    std::shuffle(order.begin(), order.end(), random);
    for (auto& size : part.size) size = 1 + random() % 4;
    std::int64_t step = 1;
    for (int axis = 4; axis >= 0; --axis) {
      part.out_step[axis] = step;
      step *= part.size[axis];
    }
    const std::int64_t total = step;
    step = 1;
    for (const std::uint32_t axis : order) {
      part.in_step[axis] = step;
      step *= part.size[axis];
    }
    const auto list = [](const net::PermutePart& p, std::vector<std::int64_t>& source_of) {
      std::array<std::uint32_t, 5> i{};
      for (i[0] = 0; i[0] < p.size[0]; ++i[0])
        for (i[1] = 0; i[1] < p.size[1]; ++i[1])
          for (i[2] = 0; i[2] < p.size[2]; ++i[2])
            for (i[3] = 0; i[3] < p.size[3]; ++i[3])
              for (i[4] = 0; i[4] < p.size[4]; ++i[4]) {
                std::int64_t in = p.in_start;
                std::int64_t out = p.out_start;
                for (int axis = 0; axis < 5; ++axis) {
                  in += p.in_step[axis] * i[axis];
                  out += p.out_step[axis] * i[axis];
                }
                CHECK(source_of.at(static_cast<std::size_t>(out)) == -1);
                source_of[static_cast<std::size_t>(out)] = in;
              }
    };
    std::vector<std::int64_t> whole(static_cast<std::size_t>(total), -1);
    list(part, whole);
    std::int64_t begin = random() % total;
    std::int64_t end = random() % (total + 1);
    if (begin > end) std::swap(begin, end);
    std::vector<std::int64_t> clipped(static_cast<std::size_t>(total), -1);
    clip_permute(part, begin, end, [&](const net::PermutePart& p) { list(p, clipped); });
    for (std::int64_t out = 0; out < total; ++out) {
      const auto at = static_cast<std::size_t>(out);
      CHECK(clipped[at] == (out >= begin && out < end ? whole[at] : -1));
    }
  }
}
