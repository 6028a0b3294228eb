// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/view.h"

#include <doctest/doctest.h>

using namespace steppe;
using namespace steppe::passes;

TEST_CASE("NCHW array stored as NHWC") {
  // [2, 3, 4, 5] in the order n, h, w, c: steps 4*5*3 = 60, 1, 5*3 = 15, 3
  const View view = dense_view(0, {2, 3, 4, 5}, {0, 2, 3, 1});
  CHECK(view.axes == std::vector<Axis>{{{2, 60}}, {{3, 1}}, {{4, 15}}, {{5, 3}}});
  CHECK(memory_order(view) == Order{0, 2, 3, 1});
  CHECK(is_dense(view, 120));
  CHECK_FALSE(is_dense(view, 121));
  CHECK(is_dense_in(view, {0, 2, 3, 1}, 120));
  CHECK_FALSE(is_dense_in(view, {0, 1, 2, 3}, 120));
}

TEST_CASE("transpose to NHWC and reshape is row major") {
  const View nchw = dense_view(0, {1, 6, 30, 40}, {0, 2, 3, 1});
  const auto view = reshaped(transposed(nchw, {0, 2, 3, 1}), {1, 3600, 2});
  REQUIRE(view.has_value());
  CHECK(view->axes == std::vector<Axis>{{}, {{3600, 2}}, {{2, 1}}});
}

TEST_CASE("flattening NCHW keeps the factors") {
  const View nchw = dense_view(0, {1, 16, 4, 4}, {0, 2, 3, 1});
  const auto view = reshaped(nchw, {1, 256});
  REQUIRE(view.has_value());
  CHECK(view->axes[1] == Axis{{16, 1}, {16, 16}});  // rows and pixels step evenly
  CHECK(is_dense(*view, 256));
  CHECK_FALSE(is_dense_in(*view, {0, 1}, 256));
}

TEST_CASE("reshape splits factors, or gives up") {
  const View view = dense_view(0, {4, 6}, {1, 0});  // steps 1 and 4
  const auto halves = reshaped(view, {4, 2, 3});
  REQUIRE(halves.has_value());
  CHECK(halves->axes == std::vector<Axis>{{{4, 1}}, {{2, 12}}, {{3, 4}}});
  CHECK_FALSE(reshaped(view, {6, 4}).has_value());
}

TEST_CASE("slices and repeats") {
  const View view = dense_view(0, {3, 8}, {0, 1});
  const auto cut = sliced(view, 1, 6, -2, 3);  // columns 6, 4, 2
  REQUIRE(cut.has_value());
  CHECK(cut->offset == 6);
  CHECK(cut->axes[1] == Axis{{3, -2}});
  const View row = dense_view(0, {1, 8}, {0, 1});
  CHECK(broadcast(row, {2, 3, 8}).axes == std::vector<Axis>{{{2, 0}}, {{3, 0}}, {{8, 1}}});
}

TEST_CASE("copies join what steps together") {
  const View from = dense_view(3, {2, 3, 4, 5}, {0, 1, 2, 3});
  const View to = dense_view(4, {2, 3, 4, 5}, {0, 2, 3, 1});
  const auto parts = copies(from, to);
  REQUIRE(parts.has_value());
  REQUIRE(parts->size() == 1);
  const net::PermutePart& part = parts->front();
  CHECK(part.in == 3);
  CHECK(part.size == std::array<std::uint32_t, 5>{1, 1, 2, 20, 3});
  CHECK(part.in_step == std::array<std::int64_t, 5>{0, 0, 60, 1, 20});
  CHECK(part.out_step == std::array<std::int64_t, 5>{0, 0, 60, 3, 1});
}

TEST_CASE("copies of more than five steps are unrolled over the smallest") {
  // six axes of 2, reversed: 64 elements, one step each; the first of the smallest becomes a loop
  const Extents dims(6, 2);
  const auto parts =
      copies(dense_view(0, dims, natural_order(6)), dense_view(1, dims, {5, 4, 3, 2, 1, 0}));
  REQUIRE(parts.has_value());
  REQUIRE(parts->size() == 2);
  CHECK((*parts)[1].out_start - (*parts)[0].out_start == 32);
}
