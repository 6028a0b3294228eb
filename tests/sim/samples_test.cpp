// SPDX-License-Identifier: Apache-2.0
#include "sim/samples.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "models/base/error.h"

using namespace steppe;

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
  sim::to_card(port, user, card.data());
  CHECK(card == std::vector<std::uint8_t>{3, 251, 5, 127});  // x / 0.5 + 1, saturated; 251 is -5
  std::vector<float> back(4);
  sim::from_card(port, card.data(), back);
  CHECK(back == std::vector<float>{1.0F, 2.0F, -3.0F, 63.0F});
}

TEST_CASE("a port's elements may have any of the card's types") {
  const std::vector<float> user{1.0F, -2.5F, 3.00390625F};  // 3 + 2^-8: bf16 keeps 3
  const auto there_and_back = [&](package::ElementType type, float scale, Bytes bytes) {
    const package::Port port{
        .name = "x", .dims = {3}, .to_card = {0}, .type = type, .scale = scale, .bytes = bytes};
    std::vector<std::uint8_t> card(bytes);
    sim::to_card(port, user, card.data());
    std::vector<float> back(3);
    sim::from_card(port, card.data(), back);
    return back;
  };
  CHECK(there_and_back(package::ElementType::fp32, 1.0F, 12) == user);
  CHECK(there_and_back(package::ElementType::bf16, 1.0F, 6) == std::vector{1.0F, -2.5F, 3.0F});
  // To the nearest half, ties to even: 2, -5, 6.0078 halves.
  CHECK(there_and_back(package::ElementType::int32, 0.5F, 12) == std::vector{1.0F, -2.5F, 3.0F});
}

TEST_CASE("drawn inputs are the same for the same seed, and look normal") {
  const std::vector<sim::InputShape> inputs{{"x", {1, 1000}}};
  const sim::Samples a = sim::load_samples(inputs, {}, 1, 10, 7);
  const sim::Samples b = sim::load_samples(inputs, {}, 1, 10, 7);
  const sim::Samples c = sim::load_samples(inputs, {}, 1, 10, 8);
  CHECK(a.drawn);
  CHECK(a.runs == 10);
  CHECK(a.inputs == b.inputs);
  CHECK(a.inputs != c.inputs);
  double sum = 0;
  double squares = 0;
  for (const float value : a.inputs[0]) {
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
  CHECK(batched.inputs[0].size() == 12);
  CHECK(batched.inputs[0][9] == 10);
  CHECK(batched.inputs[0][11] == 0);
  CHECK_THROWS_AS(sim::load_samples({{"x", {2, 3}}}, {{"x", path}}, 2, 1, 1), ConfigError);
  CHECK_THROWS_AS(sim::load_samples({{"x", {2, 2}}}, {{"y", path}}, 2, 1, 1), ConfigError);
  std::filesystem::remove(path);
}
