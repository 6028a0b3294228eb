// SPDX-License-Identifier: Apache-2.0
#include "tests/models/vector/special_reference.h"

#include <cmath>

namespace steppe::test {
namespace {

using Wide = long double;

float once(Wide value) { return static_cast<float>(value); }

float power(Wide a, Wide b) {
  const Wide exact = std::pow(a, b);
  if (!std::isfinite(exact) || exact == 0) return once(exact);
  int exponent = 0;
  const Wide fraction = std::frexp(exact, &exponent);
  return once(std::ldexp(std::nearbyint(std::ldexp(fraction, 40)), exponent - 40));
}

/// x * sigmoid(a)
float gated(Wide x, Wide a) {
  if (std::isinf(x) && x < 0) return -0.0F;
  return once(x / (1 + std::exp(-a)));
}

float unary(std::uint32_t function, float a) {
  const Wide x = a;
  switch (function) {
    case 33:
      return -a;
    case 34:
      return std::fabs(a);
    case 35:
      return a > 0 ? 1.0F : a < 0 ? -1.0F : a;
    case 36:
      return std::floor(a);
    case 37:
      return std::ceil(a);
    case 38:
      return std::nearbyint(a);
    case 39:
      return std::sqrt(a);
    case 40:
      return once(1 / std::sqrt(x));
    case 41:
      return 1.0F / a;
    case 42:
      return special_exp(a);
    case 43:
      return special_log(a);
    case 44:
      return once(std::erf(x));
    case 45:
      return once(std::tanh(x));
    case 46:
      return once(1 / (1 + std::exp(-x)));
    case 47:
      if (std::isinf(a)) return a < 0 ? -0.0F : a;
      return once(x * std::erfc(-x / std::sqrt(Wide{2})) / 2);
    case 48:
      return gated(x, 2 * std::sqrt(2 / std::acos(Wide{-1})) * (x + 0.044715L * x * x * x));
    case 49:
      return gated(x, x);
    case 50:
      return once((x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x))));
    case 51:
      return once(std::sin(x));
    case 52:
      return once(std::cos(x));
    case 53:
      return a == 0 ? 1.0F : 0.0F;
    default:
      return a;
  }
}

}  // namespace

float special_exp(float x) { return once(std::exp(Wide{x})); }
float special_log(float x) { return once(std::log(Wide{x})); }

float mapped(std::uint32_t function, float a, float b, float c) {
  const auto truth = [](bool value) { return value ? 1.0F : 0.0F; };
  switch (function) {
    case 0:
      return a + b;
    case 1:
      return a - b;
    case 2:
      return a * b;
    case 3:
      return a / b;
    case 4:
      return a < b ? b : a;
    case 5:
      return b < a ? b : a;
    case 6:
      return power(a, b);
    case 7:
      return static_cast<float>(std::fmod(Wide{a}, Wide{b}));
    case 8:
      return truth(a == b);
    case 9:
      return truth(a < b);
    case 10:
      return truth(a <= b);
    case 11:
      return truth(a != 0 && b != 0);
    case 12:
      return truth(a != 0 || b != 0);
    case 13:
      return truth((a != 0) != (b != 0));
    case 16:
      return c != 0 ? a : b;
    case 17: {
      const float product = a * b;
      return product + c;
    }
    default:
      return unary(function, a);
  }
}

}  // namespace steppe::test
