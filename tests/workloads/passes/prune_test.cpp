// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/prune.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "builder.h"
#include "workloads/passes/layout.h"

using namespace steppe;
using namespace steppe::passes;
using test::Builder;

TEST_CASE("a row keeps the largest magnitudes of each block") {
  std::vector<float> row(40);
  for (std::size_t i = 0; i < row.size(); ++i)
    row[i] = static_cast<float>(i % 2 == 0 ? i : 0) + 1.0F;
  row[5] = -100.0F;
  prune_row(row, 2);  // 2 of the first 32, 2 of the last 8
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool stays = i == 5 || i == 30 || i == 36 || i == 38;
    CHECK((row[i] != 0.0F) == stays);
  }
}

TEST_CASE("of equal magnitudes the first stays") {
  std::vector<float> row(32, -1.0F);
  prune_row(row, 1);
  CHECK(row[0] == -1.0F);
  CHECK(std::count(row.begin(), row.end(), 0.0F) == 31);
}

TEST_CASE("blocks run in the engine's order: kernel row, kernel column, channel") {
  Builder b;
  const graph::ValueId x = b.input("x", {1, 16, 2, 2});
  std::vector<float> w(16 * 4, 0.0F);
  // ONNX [oc = 1][ic = 16][2][2]: the weight of channel c at kernel position p is at 4 c + p.
  // Engine K = p * 16 + c: positions 0 and 1 are the first block, 2 and 3 the second.
  for (std::size_t c = 0; c < 16; ++c) {
    for (std::size_t p = 0; p < 4; ++p) w[4 * c + p] = static_cast<float>(c + 1);
  }
  w[4 * 3 + 1] = 50.0F;
  w[4 * 9 + 2] = -60.0F;
  const graph::ValueId weights = b.constant("w", {1, 16, 2, 2}, w);
  const graph::ValueId y = b.node("Conv", {x, weights}, {1, 1, 1, 1},
                                  {{"kernel_shape", test::Dims{2, 2}},
                                   {"strides", test::Dims{1, 1}},
                                   {"pads", test::Dims{0, 0, 0, 0}},
                                   {"dilations", test::Dims{1, 1}},
                                   {"group", std::int64_t{1}}});
  graph::Graph& graph = b.finish({y});
  const auto steps = fuse(graph);
  Layout layout = lay_out(graph, steps);
  prune(graph, steps, layout, net::balanced(32));
  CHECK(std::get<net::Conv>(layout.net.layers[0].op).sparsity == net::balanced(32));
  const std::vector<float>& pruned = *graph.value(weights).fp32;
  CHECK(std::count(pruned.begin(), pruned.end(), 0.0F) == 62);
  CHECK(pruned[4 * 3 + 1] == 50.0F);
  CHECK(pruned[4 * 9 + 2] == -60.0F);
}

TEST_CASE("unstructured: the largest of a whole layer stay, wherever they are") {
  Builder b;
  const graph::ValueId x = b.input("x", {1, 32, 1, 1});
  std::vector<float> w(64);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = i < 32 ? 10.0F + static_cast<float>(i) : 0.5F;
  const graph::ValueId weights = b.constant("w", {2, 32, 1, 1}, w);
  const graph::ValueId y = b.node("Conv", {x, weights}, {1, 2, 1, 1},
                                  {{"kernel_shape", test::Dims{1, 1}},
                                   {"strides", test::Dims{1, 1}},
                                   {"pads", test::Dims{0, 0, 0, 0}},
                                   {"dilations", test::Dims{1, 1}},
                                   {"group", std::int64_t{1}}});
  graph::Graph& graph = b.finish({y});
  const auto steps = fuse(graph);
  Layout layout = lay_out(graph, steps);
  // A quarter of 64 weights: the upper 16 of channel 0, none of channel 1.
  prune(graph, steps, layout, {.encoding = numerics::Encoding::bitmap, .density = 0.25});
  const std::vector<float>& pruned = *graph.value(weights).fp32;
  for (std::size_t i = 0; i < pruned.size(); ++i) CHECK((pruned[i] != 0.0F) == (i >= 16 && i < 32));
}

TEST_CASE("short rows stay dense") {
  Builder b;
  graph::Graph& graph = b.finish({b.conv(b.input("x", {1, 3, 8, 8}), 4, 3, 1)});  // K = 27
  const auto steps = fuse(graph);
  Layout layout = lay_out(graph, steps);
  prune(graph, steps, layout, net::balanced(16));
  CHECK(std::get<net::Conv>(layout.net.layers[0].op).sparsity == net::Sparsity{});
}
