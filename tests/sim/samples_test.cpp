// SPDX-License-Identifier: Apache-2.0
#include "sim/samples.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "models/base/error.h"

using namespace steppe;

namespace {

graph::Tensor fp32(graph::Shape shape, const std::vector<float>& elements) {
  return {.type = graph::DataType::fp32, .shape = std::move(shape), .fp32 = elements};
}

}  // namespace

TEST_CASE("a port's elements are transposed and quantised to the card, and back") {
  // User [1, 2, 1, 2] (NCHW: channels 2, width 2) to card NHWC: (c0 w0), (c1 w0), (c0 w1), (c1 w1).
  const package::Port port{.name = "x",
                           .dims = {1, 2, 1, 2},
                           .to_card = {0, 2, 3, 1},
                           .scale = 0.5F,
                           .zero = 1,
                           .bytes = 4};
  const std::vector<float> user{1.0F, 2.0F, -3.0F, 100.0F};  // c0w0 c0w1 c1w0 c1w1
  std::vector<std::uint8_t> card(4);
  sim::to_card(port, fp32({1, 2, 1, 2}, user), card.data());
  CHECK(card == std::vector<std::uint8_t>{3, 251, 5, 127});  // x / 0.5 + 1, saturated; 251 is -5
  CHECK(sim::from_card(port, card.data()).fp32 == std::vector<float>{1.0F, 2.0F, -3.0F, 63.0F});
}

TEST_CASE("a port's elements may have any of the card's types") {
  const std::vector<float> user{1.0F, -2.5F, 3.00390625F};  // 3 + 2^-8: bf16 keeps 3
  const auto there_and_back = [&](package::ElementType type, float scale, Bytes bytes) {
    const package::Port port{
        .name = "x", .dims = {3}, .to_card = {0}, .type = type, .scale = scale, .bytes = bytes};
    std::vector<std::uint8_t> card(bytes);
    sim::to_card(port, fp32({3}, user), card.data());
    return sim::from_card(port, card.data()).fp32;
  };
  CHECK(there_and_back(package::ElementType::fp32, 1.0F, 12) == user);
  CHECK(there_and_back(package::ElementType::bf16, 1.0F, 6) == std::vector{1.0F, -2.5F, 3.0F});
  // To the nearest half, ties to even: 2, -5, 6.0078 halves.
  CHECK(there_and_back(package::ElementType::int32, 0.5F, 12) == std::vector{1.0F, -2.5F, 3.0F});
}

TEST_CASE("drawn inputs are the same for the same seed, and look normal") {
  const std::vector<sim::Signature> inputs{{"x", {1, 1000}}};
  const sim::Samples a = sim::load_samples(inputs, {}, 1, 10, 7);
  const sim::Samples b = sim::load_samples(inputs, {}, 1, 10, 7);
  const sim::Samples c = sim::load_samples(inputs, {}, 1, 10, 8);
  CHECK(a.drawn);
  CHECK(a.runs == 10);
  CHECK(a.inputs[0].fp32 == b.inputs[0].fp32);
  CHECK(a.inputs[0].fp32 != c.inputs[0].fp32);
  double sum = 0;
  double squares = 0;
  for (const float value : a.inputs[0].fp32) {
    sum += value;
    squares += value * value;
  }
  // 10,000 values: the mean's deviation is 0.01, that of the variance 0.014; five times that.
  CHECK(sum / 10000 == doctest::Approx(0).epsilon(0.05));
  CHECK(squares / 10000 == doctest::Approx(1).epsilon(0.07));
}

TEST_CASE("files give as many runs as their first axis holds; the last is filled up") {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("steppe-{}.npy", getpid());
  npy::write(path, {.shape = {5, 2}, .reals = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}});
  const sim::Samples batched = sim::load_samples({{"x", {2, 2}}}, {{"x", path}}, 2, 1, 1);
  CHECK(batched.runs == 3);
  CHECK(batched.samples == 5);
  CHECK(batched.inputs[0].fp32.size() == 12);
  CHECK(batched.inputs[0].fp32[9] == 10);
  CHECK(batched.inputs[0].fp32[11] == 0);
  CHECK_THROWS_AS(sim::load_samples({{"x", {2, 3}}}, {{"x", path}}, 2, 1, 1), ConfigError);
  CHECK_THROWS_AS(sim::load_samples({{"x", {2, 2}}}, {{"y", path}}, 2, 1, 1), ConfigError);
  std::filesystem::remove(path);
}

TEST_CASE("booleans and indices are whole numbers on the card") {
  const package::Port port{.name = "x",
                           .dims = {3},
                           .to_card = {0},
                           .type = package::ElementType::fp32,
                           .user = package::UserType::boolean,
                           .bytes = 12};
  graph::Tensor user = graph::zeros(graph::DataType::boolean, {3});
  user.int64 = {1, 0, 1};
  std::vector<std::uint8_t> card(12);
  sim::to_card(port, user, card.data());
  // 1.0F is 0x3f800000.
  CHECK(card == std::vector<std::uint8_t>{0, 0, 0x80, 0x3f, 0, 0, 0, 0, 0, 0, 0x80, 0x3f});
  const graph::Tensor back = sim::from_card(port, card.data());
  CHECK(back.type == graph::DataType::boolean);
  CHECK(back.int64 == user.int64);
}

TEST_CASE("inputs of integers: files must hold integers that fit; drawn ones are 0 or 1") {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("steppe-{}.npy", getpid());
  const std::vector<sim::Signature> inputs{{"x", {2}, graph::DataType::uint8}};
  npy::write(path, {.type = npy::Type::int64, .shape = {4}, .integers = {1, 255, 0, 7}});
  const sim::Samples loaded = sim::load_samples(inputs, {{"x", path}}, 1, 1, 1);
  CHECK(loaded.runs == 2);
  CHECK(loaded.input(0, 0).int64 == std::vector<std::int64_t>{1, 255});
  CHECK(loaded.input(0, 1).int64 == std::vector<std::int64_t>{0, 7});
  npy::write(path, {.type = npy::Type::int64, .shape = {2}, .integers = {1, 256}});
  CHECK_THROWS_WITH_AS(sim::load_samples(inputs, {{"x", path}}, 1, 1, 1),
                       doctest::Contains("256 is no uint8"), ConfigError);
  npy::write(path, {.shape = {2}, .reals = {1, 2}});
  CHECK_THROWS_WITH_AS(sim::load_samples(inputs, {{"x", path}}, 1, 1, 1),
                       doctest::Contains("uint8 is wanted"), ConfigError);
  std::filesystem::remove(path);
  for (const std::int64_t x : sim::load_samples(inputs, {}, 1, 50, 1).inputs[0].int64) {
    CHECK((x == 0 || x == 1));
  }
}
