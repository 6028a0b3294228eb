// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/special.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace steppe::numerics {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double ln2 = 0.693147180559945309417232121458;
constexpr double half_root_2 = 0.707106781186547524400844362105;
constexpr double half_pi = 1.57079632679489661923132169164;

float rounded(double value) { return static_cast<float>(value); }

/// 2^exponent, from -1022 to 1023.
double power_of_2(std::int64_t exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

constexpr int steps = 32;
/// 2^(i / 32), rounded to binary64.
constexpr std::array<double, steps> powers{
    0x1.0000000000000p+0, 0x1.059b0d3158574p+0, 0x1.0b5586cf9890fp+0, 0x1.11301d0125b51p+0,
    0x1.172b83c7d517bp+0, 0x1.1d4873168b9aap+0, 0x1.2387a6e756238p+0, 0x1.29e9df51fdee1p+0,
    0x1.306fe0a31b715p+0, 0x1.371a7373aa9cbp+0, 0x1.3dea64c123422p+0, 0x1.44e086061892dp+0,
    0x1.4bfdad5362a27p+0, 0x1.5342b569d4f82p+0, 0x1.5ab07dd485429p+0, 0x1.6247eb03a5585p+0,
    0x1.6a09e667f3bcdp+0, 0x1.71f75e8ec5f74p+0, 0x1.7a11473eb0187p+0, 0x1.82589994cce13p+0,
    0x1.8ace5422aa0dbp+0, 0x1.93737b0cdc5e5p+0, 0x1.9c49182a3f090p+0, 0x1.a5503b23e255dp+0,
    0x1.ae89f995ad3adp+0, 0x1.b7f76f2fb5e47p+0, 0x1.c199bdd85529cp+0, 0x1.cb720dcef9069p+0,
    0x1.d5818dcfba487p+0, 0x1.dfc97337b9b5fp+0, 0x1.ea4afa2a490dap+0, 0x1.f50765b6e4540p+0};

/// exp(x), zero or infinity beyond +-708. exp(x) = 2^(n / 32) * exp(r) with |r| <= ln 2 / 64; the
/// rest is a Taylor polynomial whose first left-out term, r^7 / 5040, is below 2^-57.
double exp_wide(double x) {
  if (x > 708) return infinity;
  if (x < -708) return 0;
  if (x != x) return x;
  const double n = std::nearbyint(x * (steps / ln2));
  // ln 2 / 32 in two parts; the product with the first is exact, since n has at most 16 bits.
  constexpr double step_high = 0x1.62e42fefap-6;
  constexpr double step_low = 0x1.cf79abc9e3b3ap-45;
  const double r = (x - n * step_high) - n * step_low;
  double p = 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  const int whole = static_cast<int>(n);
  const double fraction = powers[static_cast<std::size_t>(whole & (steps - 1))];
  const int exponent = (whole - (whole & (steps - 1))) / steps;
  return (fraction + fraction * (p * r)) * power_of_2(exponent);
}

/// exp(x) - 1. Below a third a Taylor series, whose first left-out term is below 2^-62 of it.
double expm1_wide(double x) {
  if (x > 0.34 || x < -0.34) return exp_wide(x) - 1;
  double sum = 0;
  for (int i = 16; i >= 2; --i) sum = (sum + 1) * x / i;
  return x + x * sum;
}

/// 2 atanh(s) = log((1 + s) / (1 - s)) for |s| <= 1/3: s^41 / 41 is left out.
double twice_atanh(double s) {
  const double square = s * s;
  double sum = 0;
  for (int i = 39; i >= 3; i -= 2) sum = (sum + 1.0 / i) * square;
  return 2 * (s + s * sum);
}

/// log(x) of a finite positive number that is normal in binary64, as every fp32 number is.
double log_wide(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  std::int64_t exponent = static_cast<std::int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000f'ffff'ffff'ffffU) | 0x3ff0'0000'0000'0000U);
  if (m > 2 * half_root_2) {
    m = m / 2;
    ++exponent;
  }
  return static_cast<double>(exponent) * ln2 + twice_atanh((m - 1) / (m + 1));
}

/// exp(z^2) erfc(z) for z >= 0: a Chebyshev series of (1 + 2z) exp(z^2) erfc(z) in
/// (z - 3) / (z + 3); the sum of what is left out is 2^-61.
double erfcx(double z) {
  static constexpr std::array<double, 28> series{
      0x1.2d74bda92af4ep+0,   0x1.5edf9ce74f65ep-8,   -0x1.801abe05df685p-4,
      0x1.bd5ede288613bp-5,   -0x1.36e99d8ff90f7p-6,  0x1.23dc174a04d86p-8,
      -0x1.4c2a11331e0e4p-11, 0x1.285081fb7471ep-16,  0x1.aee3ed67adcfbp-17,
      -0x1.0d67d92ebb16fp-19, -0x1.84299dc44cfe1p-23, 0x1.44433d928dccap-24,
      0x1.032a101f63366p-29,  -0x1.7304e1f9377d0p-29, -0x1.00dc1e28761e4p-36,
      0x1.c7b5541debf46p-34,  0x1.9f608af23def6p-40,  -0x1.2cfdb55efc61bp-38,
      -0x1.d433281a86cb9p-43, 0x1.985a49637781fp-43,  0x1.638030f9632e2p-46,
      -0x1.06936a9e2323bp-47, -0x1.b53df2ab9d8b7p-50, 0x1.0f1968e597de2p-52,
      0x1.cd7350f20ad1ap-54,  -0x1.2f98d06214628p-59, -0x1.9dd79d26cbb94p-58,
      -0x1.476e26ec7cba4p-61};
  const double y = 1 - 6 / (z + 3);
  double first = 0;
  double second = 0;
  for (std::size_t i = series.size() - 1; i > 0; --i) {
    const double next = 2 * y * first - second + series[i];
    second = first;
    first = next;
  }
  return (y * first - second + series[0]) / (1 + 2 * z);
}

/// x = quadrant * pi/2 + r, |r| <= pi/4.
struct Reduced {
  unsigned quadrant;
  double r;
};

/// Of finite x. Products with 128 bits of 2/pi, of which those that give whole turns are left out
/// in front: 2^-102 of a quadrant is lost, and no fp32 number but zero lies closer to a multiple
/// of pi/2 than 2^-32.
Reduced reduce(float x) {
  // 2/pi, behind 32 zero bits.
  static constexpr std::array<std::uint32_t, 10> two_over_pi{
      0,           0xa2f9836eU, 0x4e441529U, 0xfc2757d1U, 0xf534ddc0U,
      0xdb629599U, 0x3c439041U, 0xfe5163abU, 0xdebbc561U, 0xb7246e3aU};
  const auto bits = std::bit_cast<std::uint32_t>(x) & 0x7fff'ffffU;
  if (bits < 0x3f49'0fdbU) return {0, x};  // below pi/4
  using Wide = unsigned __int128;
  const std::uint32_t mantissa = (bits & 0x007f'ffffU) | 0x0080'0000U;
  // |x| = mantissa * 2^exponent, from -24 on; the window begins at bit `start` of the table.
  const int exponent = static_cast<int>(bits >> 23) - 150;
  const auto start = static_cast<unsigned>(exponent - 2 + 32);
  const unsigned word = start / 32;
  const unsigned shift = start % 32;
  Wide window = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint64_t two =
        (std::uint64_t{two_over_pi[word + i]} << 32) | two_over_pi[word + i + 1];
    window = (window << 32) | static_cast<std::uint32_t>(two >> (32 - shift));
  }
  const Wide turns = window * mantissa;  // two bits of quadrant, 126 of fraction
  const auto quadrant = static_cast<unsigned>((turns + (Wide{1} << 125)) >> 126);
  const auto rest = static_cast<__int128>(turns - (Wide{quadrant} << 126));
  const double r = static_cast<double>(rest) * 0x1p-126 * half_pi;
  return x < 0 ? Reduced{(4 - quadrant) % 4, -r} : Reduced{quadrant, r};
}

/// 1 / n! with alternating signs, n = 2, 4, … or 3, 5, …
template <int first>
constexpr std::array<double, 9> alternating = [] {
  std::array<double, 9> series{};
  double factorial = 1;
  for (int n = 2, i = 0; i < 9; ++n) {
    factorial = factorial * n;
    if (n % 2 == first % 2) {
      factorial = -factorial;
      series[static_cast<std::size_t>(i++)] = 1 / factorial;
    }
  }
  return series;
}();

double horner(const std::array<double, 9>& series, double square) {
  double sum = 0;
  for (std::size_t i = series.size(); i-- > 0;) sum = (sum + series[i]) * square;
  return sum;
}

/// Taylor series on |r| <= pi/4; what is left out is below 2^-58 of the sum.
double sine(double r) { return r + r * horner(alternating<3>, r * r); }
double cosine(double r) { return 1 + horner(alternating<2>, r * r); }

/// sin(x + turn * pi/2)
float wave(float x, unsigned turn) {
  if (!std::isfinite(x)) return rounded(not_a_number);
  const Reduced reduced = reduce(x);
  const unsigned quadrant = (reduced.quadrant + turn) % 4;
  const double value = quadrant % 2 == 0 ? sine(reduced.r) : cosine(reduced.r);
  return rounded(quadrant >= 2 ? -value : value);
}

/// x / (1 + exp(-a)): x * sigmoid(a), whose limit at minus infinity is zero.
float gated(double x, double a) {
  if (x == -infinity) return -0.0F;
  return rounded(x / (1 + exp_wide(-a)));
}

bool odd_integer(float y) {
  const float size = std::fabs(y);
  if (size >= 0x1p24F || size != std::floor(size)) return false;
  return (static_cast<std::uint32_t>(size) & 1U) != 0;
}

/// To 40 bits, ties to even; fp32's subnormals do not come near.
double to_40_bits(double value) {
  constexpr std::uint64_t half = std::uint64_t{1} << 12;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t even = (bits >> 13) & 1U;
  return std::bit_cast<double>((bits + half - 1 + even) & ~(2 * half - 1));
}

/// x^y of finite positive x and finite y.
double positive_power(float x, float y) {
  const double a = double{y} * log_wide(x);
  if (a > 128 * ln2 + 1) return infinity;
  if (a < -151 * ln2) return 0;
  return to_40_bits(exp_wide(a));
}

}  // namespace

float exp_fp32(float x) {
  if (x >= 128 * ln2) return std::numeric_limits<float>::infinity();
  return rounded(exp_wide(x));
}

float log_fp32(float x) {
  if (x == 0) return -std::numeric_limits<float>::infinity();
  if (!(x > 0)) return rounded(not_a_number);
  return std::isinf(x) ? x : rounded(log_wide(x));
}

float erf_fp32(float x) {
  const double size = std::fabs(x);
  if (size < 1) {  // 2 / sqrt(pi) * sum of (-1)^i x^(2i+1) / (i! (2i+1)), up to i = 20
    const double square = size * size;
    double term = 1;
    double sum = 0;
    for (int i = 1; i <= 20; ++i) {
      term = -term * square / i;
      sum = sum + term / (2 * i + 1);
    }
    return rounded(1.12837916709551257389615890312 * (x + x * sum));
  }
  if (size > 6) return x < 0 ? -1.0F : 1.0F;
  const double value = 1 - exp_wide(-size * size) * erfcx(size);
  return std::isnan(x) ? x : rounded(x < 0 ? -value : value);
}

float tanh_fp32(float x) {
  if (x == 0) return x;
  if (x > 20) return 1;
  if (x < -20) return -1;
  const double e = expm1_wide(2 * double{x});
  return rounded(e / (e + 2));
}

float sigmoid_fp32(float x) { return rounded(1 / (1 + exp_wide(-double{x}))); }

float gelu_fp32(float x) {
  const double wide = x;
  if (std::isinf(x)) return x < 0 ? -0.0F : x;
  // exp(-x^2 / 2) of the exact square; erfcx takes what the rounding of its argument leaves.
  const double tail = 0.5 * exp_wide(-0.5 * wide * wide) * erfcx(std::fabs(wide) * half_root_2);
  return rounded(wide < 0 ? wide * tail : wide * (1 - tail));
}

float gelu_tanh_fp32(float x) {
  constexpr double twice_root = 1.59576912160573071175978423973;  // 2 sqrt(2 / pi)
  const double wide = x;
  return gated(wide, twice_root * (wide + 0.044715 * (wide * wide * wide)));
}

float silu_fp32(float x) { return gated(x, x); }

float softplus_fp32(float x) {
  const double wide = x;
  const double e = exp_wide(-std::fabs(wide));
  const double tail = twice_atanh(e / (2 + e));  // log(1 + e)
  return rounded(wide > 0 ? wide + tail : tail);
}

float sin_fp32(float x) { return x == 0 ? x : wave(x, 0); }
float cos_fp32(float x) { return wave(x, 1); }

float rsqrt_fp32(float x) { return rounded(1 / std::sqrt(double{x})); }

float pow_fp32(float x, float y) {
  if (y == 0 || x == 1) return 1;
  if (std::isnan(x) || std::isnan(y)) return rounded(not_a_number);
  const double size = std::fabs(x);
  if (std::isinf(y)) {
    if (size == 1) return 1;
    return (size > 1) == (y > 0) ? std::numeric_limits<float>::infinity() : 0.0F;
  }
  const bool negative = std::signbit(x) && odd_integer(y);
  double value = 0;
  if (size == 0 || std::isinf(size)) {
    value = (size == 0) == (y > 0) ? 0 : infinity;
  } else if (x < 0 && y != std::floor(y)) {
    value = not_a_number;
  } else {
    value = positive_power(std::fabs(x), y);
  }
  return rounded(negative ? -value : value);
}

}  // namespace steppe::numerics
