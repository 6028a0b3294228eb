// SPDX-License-Identifier: Apache-2.0
#include "workloads/reference/executor.h"

#include <doctest/doctest.h>

#include "models/base/error.h"
#include "tests/workloads/reference/one_layer.h"

using namespace steppe;
using namespace steppe::test;

namespace {

/// A table that adds one, on an image of 2 channels x 1 row x 2 pixels in the user's order.
net::Net increment() {
  net::Net network{.name = "increment"};
  network.tensors = {{.name = "x", .shape = {1, 1, 2, 2}, .quant = {0.5F, 3}},
                     {.name = "y", .shape = {1, 1, 2, 2}, .quant = {0.25F, -1}}};
  Int8s table(256);
  for (std::size_t i = 0; i < 255; ++i) table[i] = static_cast<std::int8_t>(i - 127);
  network.layers = {{.name = "inc", .nodes = {}, .op = net::Lut{0, 1, constant(table)}}};
  network.inputs = {{.name = "x", .tensor = 0, .dims = {1, 2, 1, 2}, .to_card = {0, 2, 3, 1}}};
  network.outputs = {{.name = "y", .tensor = 1, .dims = {1, 2, 1, 2}, .to_card = {0, 2, 3, 1}}};
  return network;
}

/// Writes its input of 2 rows of 2 channels into a cache of 3 rows of 4, then copies the cache out.
net::Net caching(std::uint64_t offset) {
  net::Net network{.name = "caching"};
  network.tensors = {{.name = "x", .shape = {1, 2, 1, 2}},
                     {.name = "cache", .shape = {1, 3, 1, 4}, .resident_in_dram = true},
                     {.name = "y", .shape = {1, 3, 1, 4}}};
  net::PermutePart all{.in = 1};
  all.size[4] = 12;
  all.in_step[4] = all.out_step[4] = 1;
  network.layers = {{.name = "store", .nodes = {}, .op = net::CacheStore{0, 1, offset, 4}},
                    {.name = "copy", .nodes = {}, .op = net::Permute{2, {all}}}};
  network.inputs = {{.name = "x", .tensor = 0, .dims = {2, 2}, .to_card = {0, 1}}};
  network.outputs = {{.name = "y", .tensor = 2, .dims = {3, 4}, .to_card = {0, 1}}};
  return network;
}

}  // namespace

TEST_CASE("users give and get fp32 in their own order") {
  const net::Net network = increment();
  net::check(network);
  reference::Executor executor(network);
  // Channel 0 is (0.5, 1), channel 1 is (-0.75, 100). Quantised: x / 0.5 rounded, plus 3:
  // 1 + 3 = 4; 2 + 3 = 5; -1.5 -> -2 + 3 = 1; 200 + 3 saturates to 127. On the card pixel by pixel:
  // 4 1 5 127. Plus one: 5 2 6; 127 has table entry 255, left at 0. Back: (q + 1) * 0.25, channel
  // by channel: 1.5 1.75; 0.75 0.25.
  const auto outputs = executor.run({{0.5F, 1.0F, -0.75F, 100.0F}});
  CHECK(executor.tensor(0).int8 == Int8s{4, 1, 5, 127});
  CHECK(executor.tensor(1).int8 == Int8s{5, 2, 6, 0});
  REQUIRE(outputs.size() == 1);
  CHECK(outputs[0] == std::vector<float>{1.5F, 1.75F, 0.75F, 0.25F});
}

TEST_CASE("card order goes in and out unchanged") {
  const net::Net network = increment();
  reference::Executor executor(network);
  CHECK(run_int8(executor, {{4, 1, 5, -128}}) == std::vector<Int8s>{{5, 2, 6, -127}});
}

TEST_CASE("tensors resident in DRAM keep their values from run to run") {
  const net::Net network = caching(4);
  net::check(network);
  reference::Executor executor(network);
  // Rows of 2 bytes at offset 4, 4 apart.
  CHECK(run_int8(executor, {{1, 2, 3, 4}})[0] == Int8s{0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0, 0});
  CHECK(run_int8(executor, {{5, 6, 7, 8}})[0] == Int8s{0, 0, 0, 0, 5, 6, 0, 0, 7, 8, 0, 0});
  CHECK(executor.tensor(1).int8 == Int8s{0, 0, 0, 0, 5, 6, 0, 0, 7, 8, 0, 0});
}

TEST_CASE("what a run does not write into a cache stays") {
  net::Net network = caching(0);
  // A second store of the same input, behind the first.
  network.layers.insert(network.layers.begin() + 1,
                        {.name = "again", .nodes = {}, .op = net::CacheStore{0, 1, 6, 4}});
  net::check(network);
  reference::Executor executor(network);
  CHECK(run_int8(executor, {{1, 2, 3, 4}})[0] == Int8s{1, 2, 0, 0, 3, 4, 1, 2, 0, 0, 3, 4});
}

TEST_CASE("a network of shapes is not executed") {
  net::Net network = increment();
  std::get<net::Lut>(network.layers[0].op).table.data = nullptr;
  CHECK_THROWS_WITH_AS(reference::Executor{network}, doctest::Contains("'inc'"), ModelError);
}

TEST_CASE("inputs have to fit the ports") {
  const net::Net network = increment();
  reference::Executor executor(network);
  CHECK_THROWS_AS(run_int8(executor, {}), InternalError);
  CHECK_THROWS_AS(run_int8(executor, {{1, 2, 3}}), InternalError);
  CHECK_THROWS_AS(executor.run({{1, 2, 3}}), InternalError);
  CHECK_THROWS_AS(executor.run({{1, 2, 3, 4, 5}}), InternalError);
}
