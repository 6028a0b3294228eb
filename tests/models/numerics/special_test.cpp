// SPDX-License-Identifier: Apache-2.0
//
// Against the C library in the widest format there is (80 bits on x86), rounded once.
#include "models/numerics/special.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

using namespace steppe::numerics;

namespace {

using Wide = long double;
constexpr float infinity = std::numeric_limits<float>::infinity();

/// How many floats of both signs, every `stride`th, give another result than `expected`.
template <typename Function, typename Expected>
std::uint64_t wrong_of(Function function, Expected expected, std::uint32_t stride = 9973) {
  std::uint64_t wrong = 0;
  for (std::uint64_t bits = 0; bits <= 0xffff'ffffU; bits += stride) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (!std::isfinite(x)) continue;
    const float is = function(x);
    const auto should = static_cast<float>(expected(Wide{x}));
    if (is != should && !(std::isnan(is) && std::isnan(should))) {
      if (++wrong < 4) MESSAGE("x = ", x, ": ", is, " instead of ", should);
    }
  }
  return wrong;
}

/// The contract of pow rounds to 40 bits first.
Wide power(Wide x, Wide y) {
  int exponent = 0;
  const Wide fraction = std::frexp(std::pow(x, y), &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 40)), exponent - 40);
}
Wide logistic(Wide x) { return 1 / (1 + std::exp(-x)); }
Wide gelu_tanh(Wide x) {
  return x * logistic(2 * std::sqrt(2 / std::acos(Wide{-1})) * (x + 0.044715L * x * x * x));
}

}  // namespace

TEST_CASE("exp is the library's binary64 exponential rounded once") {
  const auto expected = [](float x) {
    return static_cast<float>(std::exp(static_cast<double>(x)));
  };
  CHECK(exp_fp32(0.0F) == 1.0F);
  CHECK(exp_fp32(-0.0F) == 1.0F);
  CHECK(exp_fp32(89.0F) == std::numeric_limits<float>::infinity());
  CHECK(exp_fp32(-std::numeric_limits<float>::infinity()) == 0.0F);
  CHECK(exp_fp32(-104.5F) == 0.0F);
  CHECK(std::isnan(exp_fp32(std::numeric_limits<float>::quiet_NaN())));
  // Every 97th float of both signs whose exponential is neither zero nor infinite.
  std::uint64_t wrong = 0;
  for (std::uint32_t bits = 0; bits < std::bit_cast<std::uint32_t>(104.0F); bits += 97) {
    const float x = std::bit_cast<float>(bits);
    if (x < 88.7F && exp_fp32(x) != expected(x)) ++wrong;
    if (exp_fp32(-x) != expected(-x)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("exp at its edges: every float around them") {
  const auto expected = [](float x) {
    return static_cast<float>(std::exp(static_cast<double>(x)));
  };
  // Infinity, the smallest normal number, half the smallest subnormal; and next to one.
  std::uint64_t wrong = 0;
  for (const float edge : {88.72284F, -87.33654F, -103.97208F, 0x1p-24F, -0x1p-25F}) {
    const std::uint32_t middle = std::bit_cast<std::uint32_t>(edge);
    for (std::uint32_t bits = middle - 20'000; bits < middle + 20'000; ++bits) {
      const float x = std::bit_cast<float>(bits);
      if (exp_fp32(x) != expected(x)) ++wrong;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("log") {
  CHECK(wrong_of(log_fp32, [](Wide x) { return std::log(x); }) == 0);
}
TEST_CASE("erf") {
  CHECK(wrong_of(erf_fp32, [](Wide x) { return std::erf(x); }) == 0);
}
TEST_CASE("tanh") {
  CHECK(wrong_of(tanh_fp32, [](Wide x) { return std::tanh(x); }) == 0);
}
TEST_CASE("sigmoid") { CHECK(wrong_of(sigmoid_fp32, logistic) == 0); }
TEST_CASE("gelu") {
  const Wide root = std::sqrt(Wide{2});
  CHECK(wrong_of(gelu_fp32, [&](Wide x) { return x * std::erfc(-x / root) / 2; }) == 0);
}
TEST_CASE("gelu by tanh") { CHECK(wrong_of(gelu_tanh_fp32, gelu_tanh) == 0); }
TEST_CASE("silu") {
  CHECK(wrong_of(silu_fp32, [](Wide x) { return x * logistic(x); }) == 0);
}
TEST_CASE("softplus") {
  CHECK(wrong_of(softplus_fp32, [](Wide x) {
          return std::fmax(x, Wide{0}) + std::log1p(std::exp(-std::fabs(x)));
        }) == 0);
}
TEST_CASE("sine and cosine, of the largest numbers too") {
  CHECK(wrong_of(sin_fp32, [](Wide x) { return std::sin(x); }) == 0);
  CHECK(wrong_of(cos_fp32, [](Wide x) { return std::cos(x); }) == 0);
}
TEST_CASE("reciprocal root") {
  CHECK(wrong_of(rsqrt_fp32, [](Wide x) { return 1 / std::sqrt(x); }) == 0);
}
TEST_CASE("pow") {
  for (const float y : {2.0F, 3.0F, -1.0F, 0.5F, 1.5F, 1.25F, -2.0F, 7.0F, 0.3F, 33.3F, -0.01F}) {
    CAPTURE(y);
    CHECK(wrong_of([&](float x) { return pow_fp32(x, y); }, [&](Wide x) { return power(x, y); },
                   99'991) == 0);
  }
}

TEST_CASE("pow: exact results half-way between two numbers go to the even one") {
  CHECK(pow_fp32(4097, 2) == 16785408.0F);        // 16785409
  CHECK(pow_fp32(66049, 1.5F) == 16974592.0F);    // 257^3 = 16974593
  CHECK(pow_fp32(923521, 1.25F) == 28629152.0F);  // 31^5 = 28629151
}

TEST_CASE("special functions at their edges") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto function :
       {exp_fp32, log_fp32, erf_fp32, tanh_fp32, sigmoid_fp32, gelu_fp32, gelu_tanh_fp32, silu_fp32,
        softplus_fp32, sin_fp32, cos_fp32, rsqrt_fp32}) {
    CHECK(std::isnan(function(nan)));
  }
  const auto negative_zero = [](float x) { return x == 0 && std::signbit(x); };
  CHECK(log_fp32(0) == -infinity);
  CHECK(log_fp32(infinity) == infinity);
  CHECK(std::isnan(log_fp32(-1)));
  CHECK(erf_fp32(-infinity) == -1);
  CHECK(negative_zero(erf_fp32(-0.0F)));
  CHECK(tanh_fp32(infinity) == 1);
  CHECK(negative_zero(tanh_fp32(-0.0F)));
  CHECK(sigmoid_fp32(-infinity) == 0);
  CHECK(sigmoid_fp32(infinity) == 1);
  for (const auto function : {gelu_fp32, gelu_tanh_fp32, silu_fp32}) {
    CHECK(negative_zero(function(-infinity)));
    CHECK(negative_zero(function(-0.0F)));
    CHECK(function(infinity) == infinity);
  }
  CHECK(softplus_fp32(-infinity) == 0);
  CHECK(softplus_fp32(infinity) == infinity);
  CHECK(std::isnan(sin_fp32(infinity)));
  CHECK(negative_zero(sin_fp32(-0.0F)));
  CHECK(rsqrt_fp32(0) == infinity);
  CHECK(rsqrt_fp32(infinity) == 0);
  for (const float x : {0.0F, -0.0F, 1.0F, -1.0F, 2.5F, -0.5F, infinity, -infinity, nan}) {
    for (const float y :
         {0.0F, -0.0F, 1.0F, -1.0F, 3.0F, -3.0F, 2.0F, 0.5F, 1e30F, infinity, -infinity, nan}) {
      CAPTURE(x);
      CAPTURE(y);
      const float is = pow_fp32(x, y);
      const float should = std::pow(x, y);
      CHECK((std::isnan(should) ? std::isnan(is)
                                : is == should && std::signbit(is) == std::signbit(should)));
    }
  }
}
