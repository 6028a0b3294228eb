// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/prune.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "builder.h"
#include "models/base/error.h"
#include "workloads/passes/layout.h"
#include "workloads/passes/sensitivity.h"

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
  prune(graph, steps, layout, {.ratio = net::balanced(32)}, {});
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
  prune(graph, steps, layout,
        {.ratio = net::Sparsity{.encoding = numerics::Encoding::bitmap, .density = 0.25}}, {});
  const std::vector<float>& pruned = *graph.value(weights).fp32;
  for (std::size_t i = 0; i < pruned.size(); ++i) CHECK((pruned[i] != 0.0F) == (i >= 16 && i < 32));
}

TEST_CASE("short rows stay dense") {
  Builder b;
  graph::Graph& graph = b.finish({b.conv(b.input("x", {1, 3, 8, 8}), 4, 3, 1)});  // K = 27
  const auto steps = fuse(graph);
  Layout layout = lay_out(graph, steps);
  prune(graph, steps, layout, {.ratio = net::balanced(16)}, {});
  CHECK(std::get<net::Conv>(layout.net.layers[0].op).sparsity == net::Sparsity{});
}

TEST_CASE("weights that are sparse already stay as they are, in the cheapest encoding") {
  // Blocks of 32 with 2 weights each: records of 2 * (2 + 2 * 5 / 8) = 6.5, 7 bytes of int8.
  std::vector<float> balanced(64 * 4, 0.0F);
  for (std::size_t i = 0; i < balanced.size(); i += 16) balanced[i] = 1.0F + static_cast<float>(i);
  CHECK(cheapest_encoding(balanced, 64, 1) ==
        net::Sparsity{.encoding = numerics::Encoding::indexed, .kept = 2});
  // One block of 12, all else zero: indexed 2 * 12 * 13 / 8 = 39 bytes, bitmap 2 * 4 + 12 / 4 = 11.
  std::vector<float> uneven(64 * 4, 0.0F);
  std::fill(uneven.begin(), uneven.begin() + 12, 1.0F);
  CHECK(cheapest_encoding(uneven, 64, 1) ==
        net::Sparsity{.encoding = numerics::Encoding::bitmap, .density = 12.0 / 256});
  // Nothing is zero: a dense record of 64 bytes beats 64 + 8.
  CHECK(cheapest_encoding(std::vector<float>(128, 1.0F), 64, 1) == net::Sparsity{});

  for (const Ratio& ratio : {Ratio{net::balanced(4)}, Ratio{}}) {
    for (const PruneMethod method : {PruneMethod::magnitude, PruneMethod::obs}) {
      Builder b;
      const graph::ValueId x = b.input("x", {4, 64});
      const graph::ValueId w = b.constant("w", {4, 64}, balanced);
      graph::Graph& graph = b.finish({b.node("Gemm", {x, w}, {4, 4},
                                             {{"transA", std::int64_t{0}},
                                              {"transB", std::int64_t{1}},
                                              {"alpha", 1.0F},
                                              {"beta", 1.0F}})});
      const auto steps = fuse(graph);
      Layout layout = lay_out(graph, steps);
      prune(graph, steps, layout, {.ratio = ratio, .layers = {}, .method = method},
            {random_sample(graph, 1)});
      CHECK(*graph.value(w).fp32 == balanced);
      CHECK(std::get<net::Conv>(layout.net.layers[0].op).sparsity == net::balanced(16));
    }
  }
}

TEST_CASE("each layer has its ratio; names that are none are refused") {
  Builder b;
  const graph::ValueId y = b.conv(b.conv(b.input("x", {1, 32, 2, 2}), 32, 1, 0), 32, 1, 0);
  graph::Graph& graph = b.finish({y});
  const auto steps = fuse(graph);
  Layout layout = lay_out(graph, steps);
  prune(graph, steps, layout, {.ratio = net::balanced(2), .layers = {{"Conv1", net::balanced(8)}}},
        {});
  const auto sparsity = [&](std::size_t i) {
    return std::get<net::Conv>(layout.net.layers[i].op).sparsity;
  };
  CHECK(sparsity(0) == net::balanced(2));
  CHECK(sparsity(1) == net::balanced(8));
  CHECK_THROWS_WITH_AS(prune(graph, steps, layout, {.layers = {{"Conv7", net::balanced(8)}}}, {}),
                       doctest::Contains("no layer 'Conv7'"), ModelError);
}

TEST_CASE("ratios as text") {
  for (const std::string text : {"1", "2", "32", "5:32", "31:32", "unstructured:0.25", "keep"}) {
    CHECK(format_ratio(parse_ratio("--sparsity", text)) == text);
  }
  CHECK(format_ratio(parse_ratio("--sparsity", "2:32")) == "16");
  for (const std::string text : {"", "3", "0", "64", "0:32", "32:32", "2:16", "unstructured:1",
                                 "unstructured:0", "unstructured:nan", "-2", "2x", "Keep"}) {
    CHECK_THROWS_AS(parse_ratio("--sparsity", text), ConfigError);
  }
}

TEST_CASE("ratios by the price of noise") {
  // cost = share / ratio + price * noise. At price 1 the first layer costs 0.8, 0.41, 0.22, 0.15,
  // 0.15, 1.025 (the lower ratio of equal ones); the second 0.2, 0.1 + 0.5, … stays dense.
  const std::vector<Sensitivity> layers{{"a", 0.8, {0.01, 0.02, 0.05, 0.1, 1.0}},
                                        {"b", 0.2, {0.5, 0.6, 0.7, 0.8, 0.9}}};
  const auto ratios = choose_ratios(layers, 1.0);
  CHECK(ratios.at("a") == Ratio{net::balanced(8)});
  CHECK(ratios.at("b") == Ratio{net::balanced(1)});
  CHECK(choose_ratios(layers, 0.0).at("b") == Ratio{net::balanced(32)});
  CHECK(choose_ratios(layers, 1e9).at("a") == Ratio{net::balanced(1)});
}

TEST_CASE("the scan sees what a layer loses") {
  // Inputs of 1: the result is the sum of the weights. 32 weights of 1, one of 3 kept at 32x by
  // magnitude: the sum 34 becomes 3, noise (31 / 34)^2.
  Builder b;
  std::vector<float> w(32, 1.0F);
  w[4] = 3.0F;
  const graph::ValueId x = b.input("x", {1, 32});
  graph::Graph& graph = b.finish({b.node("MatMul", {x, b.constant("w", {32, 1}, w)}, {1, 1})});
  LowerOptions options;
  options.samples = {{{"x", std::vector<float>(32, 1.0F)}}};
  const std::vector<Sensitivity> layers = scan(graph, options);
  REQUIRE(layers.size() == 1);
  CHECK(layers[0].share == 1.0);
  CHECK(layers[0].noise[4] == doctest::Approx(31.0 * 31 / (34.0 * 34)));
  CHECK(layers[0].noise[0] == doctest::Approx(16.0 * 16 / (34.0 * 34)));
}
