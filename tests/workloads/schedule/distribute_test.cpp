// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/distribute.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "models/base/error.h"
#include "workloads/reference/executor.h"

using namespace steppe;
using namespace steppe::schedule;

namespace {

/// Random numbers for a network of 8 rows; every tensor int8 with scale 0.05, or bf16.
struct Maker {
  net::Net net{.name = "made"};
  std::mt19937 random{5};
  bool int8 = true;

  net::TensorId tensor(const std::string& name, std::uint32_t channels) {
    net.tensors.push_back({.name = name,
                           .shape = {1, 8, 1, channels},
                           .type = int8 ? net::Type::int8 : net::Type::bf16,
                           .quant = {int8 ? 0.05F : 1.0F, 0}});
    return static_cast<net::TensorId>(net.tensors.size() - 1);
  }
  net::TensorId product(net::TensorId in, std::uint32_t channels, const std::string& name,
                        net::TensorId residual = net::no_tensor, bool tabled = false) {
    const std::uint32_t k = net.tensors[in].shape.c;
    net::Conv conv{.in = in, .out = tensor(name + ":0", channels)};
    conv.weights.size = std::uint64_t{channels} * k;
    const auto count = conv.weights.size;
    if (int8) {
      conv.weights.int8 = std::make_shared<const std::vector<std::int8_t>>(
          draw<std::int8_t>(count, [&] { return static_cast<int>(random() % 255) - 127; }));
      conv.bias = {channels,
                   std::make_shared<const std::vector<std::int32_t>>(draw<std::int32_t>(
                       channels, [&] { return static_cast<int>(random() % 2000) - 1000; }))};
      conv.multiplier = {channels, std::make_shared<const std::vector<float>>(draw<float>(
                                       channels, [&] { return 1e-4F * (1 + random() % 9); }))};
    } else {
      conv.weights.bf16 = std::make_shared<const std::vector<float>>(
          draw<float>(count, [&] { return static_cast<float>(random() % 64) / 256 - 0.125F; }));
      conv.bias_fp32 = {channels, std::make_shared<const std::vector<float>>(
                                      draw<float>(channels, [&] { return 0.25F; }))};
      conv.multiplier = {channels, std::make_shared<const std::vector<float>>(channels, 1.0F)};
    }
    conv.residual = residual;
    conv.residual_scale = residual == net::no_tensor ? 0.0F : 1.0F;
    conv.clamp.low = -100;
    if (tabled) {
      conv.lut = {256, std::make_shared<const std::vector<std::int8_t>>(draw<std::int8_t>(
                           256, [&] { return static_cast<int>(random() % 255) - 127; }))};
    }
    net.layers.push_back({.name = name, .nodes = {name}, .op = conv});
    return conv.out;
  }
  template <typename T, typename F>
  std::vector<T> draw(std::size_t count, F f) {
    std::vector<T> result(count);
    for (T& element : result) element = static_cast<T>(f());
    return result;
  }
  void input(net::TensorId id) {
    net.inputs.push_back(
        {.name = "x", .tensor = id, .dims = {8, net.tensors[id].shape.c}, .to_card = {0, 1}});
  }
  void output(net::TensorId id) {
    net.outputs.push_back(
        {.name = "y", .tensor = id, .dims = {8, net.tensors[id].shape.c}, .to_card = {0, 1}});
  }
};

/// up and down are a pair; "out" adds x to what it makes of it.
net::Net make(bool int8) {
  Maker m;
  m.int8 = int8;
  const net::TensorId x = m.tensor("x", 96);
  m.input(x);
  const net::TensorId up = m.product(x, 320, "up", net::no_tensor, int8);
  const net::TensorId down = m.product(up, 96, "down", x);
  m.output(m.product(down, 160, "out"));
  return std::move(m.net);
}

std::vector<float> inputs(std::size_t count) {
  std::mt19937 random(9);
  std::vector<float> x(count);
  for (float& element : x) element = static_cast<float>(random() % 200) / 20 - 5;
  return x;
}

PartitionPlan plan_of(std::vector<Cut> cuts, std::uint32_t width) {
  const auto end = static_cast<std::uint32_t>(cuts.size());
  return {.width = width, .stages = {{0, end, 0, 0}}, .cuts = std::move(cuts)};
}

std::vector<float> run(const net::Net& network) {
  return reference::Executor(network).run({inputs(8 * 96)}).at(0);
}

}  // namespace

TEST_CASE("channels in whole blocks of 32, all of them once") {
  for (const std::uint32_t channels : {32U, 96U, 100U, 1000U, 16384U}) {
    for (const std::uint32_t parts : {1U, 2U, 3U, 4U}) {
      std::uint32_t next = 0;
      for (std::uint32_t part = 0; part < parts; ++part) {
        const ChannelRange range = channels_of(channels, part, parts);
        CHECK(range.begin == next);
        CHECK((range.begin % 32 == 0 || range.begin == channels));
        next = range.end;
      }
      CHECK(next == channels);
    }
  }
  CHECK(channels_of(96, 0, 2).size() == 64);  // three blocks, rounded up in front
}

TEST_CASE("output channels in parts: the same results bit by bit") {
  for (const bool int8 : {true, false}) {
    const net::Net whole = make(int8);
    const std::vector<float> expected = run(whole);
    for (const std::uint32_t width : {2U, 3U}) {
      const Distribution cut =
          distribute(whole, plan_of({Cut::columns, Cut::columns, Cut::columns}, width));
      CHECK(run(cut.network) == expected);
      CHECK(cut.layers.size() == width);
      // Product and gathering of each; the residual's channels; the last is gathered on chip 0
      // alone.
      CHECK(cut.layers[0].size() == 7);
      CHECK(cut.layers[1].size() == 6);
    }
  }
}

TEST_CASE("input channels in parts: sums in fp32, within their rounding") {
  for (const bool int8 : {true, false}) {
    const net::Net whole = make(int8);
    const std::vector<float> expected = run(whole);
    for (const std::uint32_t width : {2U, 3U}) {
      const Distribution cut =
          distribute(whole, plan_of({Cut::first, Cut::rows, Cut::none}, width));
      const std::vector<float> got = run(cut.network);
      float largest = 0;
      for (const float y : expected) largest = std::max(largest, std::abs(y));
      double difference = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        difference = std::max(difference, double{std::abs(got[i] - expected[i])});
      }
      // int8: a step of one int8 result in front of "out", of 160 with weights up to 127 * 9e-4.
      // bf16: roundings of 2^-9 of "down".
      CHECK(difference <= (int8 ? 6 * 0.05 : 0.02 * double{largest}));
      // Nothing of "up" is whole anywhere.
      for (const net::Tensor& tensor : cut.network.tensors) CHECK(tensor.name != "up:0");
    }
  }
}

TEST_CASE("stages of several chips hand their copies on") {
  const net::Net whole = make(true);
  PartitionPlan plan = plan_of({Cut::columns, Cut::columns, Cut::columns}, 2);
  plan.stages = {{0, 1, 0, 0}, {1, 3, 2, 0}};
  const Distribution cut = distribute(whole, plan);
  CHECK(run(cut.network) == run(whole));
  REQUIRE(cut.layers.size() == 4);
  CHECK(cut.network.layers[cut.layers[1].front()].name == "up@1");
  CHECK(cut.network.layers[cut.layers[3].back()].name == "out@3");
}

TEST_CASE("what does not fit the DRAM is refused, and needs more chips") {
  const net::Net whole = make(true);
  Target target{.chips = 2, .sram_bytes = 1 << 20, .dram_bytes = 60000};
  // Weights of 96 * 320 + 320 * 96 + 96 * 160 = 76,800 bytes and more.
  CHECK_THROWS_AS(partition(whole, target, {.kind = Partition::Kind::mixed, .width = 3}),
                  ConfigError);
  const auto plans = partition(whole, target, Partition{});
  for (const PartitionPlan& plan : plans) CHECK(plan.stages.size() * plan.width == 2);
  target.chips = 1;
  CHECK_THROWS_WITH_AS(partition(whole, target, Partition{}), doctest::Contains("do not fit"),
                       ModelError);
}

TEST_CASE("how to part is a word or a number of chips") {
  CHECK(parse_partition("auto").kind == Partition::Kind::automatic);
  CHECK(parse_partition("mixed:2").width == 2);
  for (const char* text : {"", "mixed", "mixed:0", "mixed:x", "rows", "mixed:65"}) {
    CHECK_THROWS_AS(parse_partition(text), ConfigError);
  }
}
