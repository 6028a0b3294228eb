// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of random shape against the definition, summed element by element.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/workloads/reference/one_layer.h"

using namespace steppe;
using namespace steppe::test;

namespace {

std::mt19937& generator() {
  static std::mt19937 random(21);
  return random;
}

std::uint32_t pick(std::uint32_t low, std::uint32_t high) {
  return low + generator()() % (high - low + 1);
}

Int8s random_bytes(std::size_t count) {
  Int8s values(count);
  for (std::int8_t& value : values) value = static_cast<std::int8_t>(generator()());
  return values;
}

struct Case {
  net::Shape in;
  net::Shape out;
  net::Conv conv;
  std::int32_t in_zero;
};

Case random_case() {
  Case c;
  net::Conv& v = c.conv;
  v.groups = pick(1, 3);
  c.in = {pick(1, 2), pick(1, 7), pick(1, 7), v.groups * pick(1, 4)};
  v.kernel_h = pick(1, 3);
  v.kernel_w = pick(1, 3);
  v.dilation_h = pick(1, 2);
  v.dilation_w = pick(1, 2);
  v.stride_h = pick(1, 3);
  v.stride_w = pick(1, 3);
  v.pad_top = pick(0, (v.kernel_h - 1) * v.dilation_h);
  v.pad_left = pick(0, (v.kernel_w - 1) * v.dilation_w);
  // As many windows as start inside: the last may reach past the input's end.
  c.out = {c.in.n, (c.in.h + v.pad_top - 1) / v.stride_h + 1,
           (c.in.w + v.pad_left - 1) / v.stride_w + 1, v.groups * pick(1, 3)};
  c.in_zero = static_cast<std::int32_t>(pick(0, 255)) - 128;
  v.weights =
      weights(random_bytes(std::size_t{c.out.c} * v.kernel_h * v.kernel_w * (c.in.c / v.groups)));
  std::vector<std::int32_t> bias(c.out.c);
  for (std::int32_t& value : bias) value = static_cast<std::int32_t>(pick(0, 2000)) - 1000;
  v.bias = constant(bias);
  std::vector<float> multiplier(c.out.c);
  for (float& value : multiplier) value = static_cast<float>(pick(1, 1000)) * 1e-6F;
  v.multiplier = constant(multiplier);
  return c;
}

std::int64_t sum_at(const Case& c, const Int8s& in, std::uint32_t n, std::uint32_t y,
                    std::uint32_t x, std::uint32_t oc) {
  const net::Conv& v = c.conv;
  const std::uint32_t channels = c.in.c / v.groups;
  const std::uint32_t group = oc / (c.out.c / v.groups);
  std::int64_t sum = (*v.bias.data)[oc];
  std::size_t weight = std::size_t{oc} * v.kernel_h * v.kernel_w * channels;
  for (std::uint32_t ky = 0; ky < v.kernel_h; ++ky) {
    for (std::uint32_t kx = 0; kx < v.kernel_w; ++kx) {
      for (std::uint32_t ic = 0; ic < channels; ++ic, ++weight) {
        const std::int64_t row = std::int64_t{y} * v.stride_h + ky * v.dilation_h - v.pad_top;
        const std::int64_t column = std::int64_t{x} * v.stride_w + kx * v.dilation_w - v.pad_left;
        std::int64_t value = c.in_zero;
        if (row >= 0 && row < c.in.h && column >= 0 && column < c.in.w) {
          value = in[static_cast<std::size_t>(((n * c.in.h + row) * c.in.w + column) * c.in.c +
                                              group * channels + ic)];
        }
        sum += value * (*v.weights.int8)[weight];
      }
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("convolutions of random shape follow the definition") {
  for (int round = 0; round < 200; ++round) {
    Case c = random_case();
    OneLayer net;
    c.conv.in = net.input(c.in, {0.1F, c.in_zero});
    c.conv.out = net.output(c.out, {0.2F, 5});
    const Int8s in = random_bytes(c.in.elements());
    const Int8s out = net.run(c.conv, {in});
    REQUIRE(out.size() == c.out.elements());
    std::size_t element = 0;
    for (std::uint32_t n = 0; n < c.out.n; ++n) {
      for (std::uint32_t y = 0; y < c.out.h; ++y) {
        for (std::uint32_t x = 0; x < c.out.w; ++x) {
          for (std::uint32_t oc = 0; oc < c.out.c; ++oc, ++element) {
            const auto scaled =
                static_cast<float>(sum_at(c, in, n, y, x, oc)) * (*c.conv.multiplier.data)[oc];
            const double expected = std::clamp(std::nearbyint(double{scaled}) + 5.0, -128.0, 127.0);
            REQUIRE(out[element] == expected);
          }
        }
      }
    }
  }
}
