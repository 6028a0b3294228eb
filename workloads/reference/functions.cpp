// SPDX-License-Identifier: Apache-2.0
// The functions of `map`. Special ones are evaluated in the widest format there is and rounded
// once, which the contract's definition equals but for arguments next to a tie.
#include <cmath>
#include <limits>

#include "models/base/error.h"
#include "workloads/reference/layers.h"

namespace steppe::reference {
namespace {

using Wide = long double;

Wide logistic(Wide x) { return 1 / (1 + std::exp(-x)); }

/// 40 significant bits first, then fp32.
float power(float a, float b) {
  const double value = std::pow(double{a}, double{b});
  if (!std::isfinite(value) || value == 0.0) return static_cast<float>(value);
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(fraction, 40)), exponent - 40));
}

float gated(float x, Wide value) {
  return x == -std::numeric_limits<float>::infinity() ? -0.0F : static_cast<float>(value);
}

float gelu_tanh(float x) {
  const Wide w{x};
  const Wide root = std::sqrt(2 / std::acos(Wide{-1}));
  return gated(x, w * logistic(2 * root * (w + 0.044715L * w * w * w)));
}

float special(vector_functions::Function function, float a, float b) {
  using namespace vector_functions;
  const Wide x{a};
  switch (function) {
    case pow_:
      return power(a, b);
    case rsqrt_:
      return static_cast<float>(1 / std::sqrt(x));
    case exp_:
      return static_cast<float>(std::exp(x));
    case log_:
      return static_cast<float>(std::log(x));
    case erf_:
      return static_cast<float>(std::erf(x));
    case tanh_:
      return static_cast<float>(std::tanh(x));
    case sigmoid_:
      return static_cast<float>(logistic(x));
    case gelu_:
      return gated(a, x * std::erfc(-x / std::sqrt(Wide{2})) / 2);
    case gelu_tanh_:
      return gelu_tanh(a);
    case silu_:
      return gated(a, x * logistic(x));
    case softplus_:
      return static_cast<float>(x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)));
    case sin_:
      return static_cast<float>(std::sin(x));
    case cos_:
      return static_cast<float>(std::cos(x));
    default:
      STEPPE_CHECK(false, "map function {}", static_cast<std::uint32_t>(function));
  }
}

}  // namespace

float apply(vector_functions::Function function, float a, float b, float c) {
  using namespace vector_functions;
  const auto truth = [](bool value) { return value ? 1.0F : 0.0F; };
  switch (function) {
    case add_:
      return a + b;
    case sub_:
      return a - b;
    case mul_:
      return a * b;
    case div_:
      return a / b;
    case max_:
      return a < b ? b : a;
    case min_:
      return b < a ? b : a;
    case mod_:
      return std::fmod(a, b);
    case eq_:
      return truth(a == b);
    case lt_:
      return truth(a < b);
    case le_:
      return truth(a <= b);
    case and_:
      return truth(a != 0 && b != 0);
    case or_:
      return truth(a != 0 || b != 0);
    case xor_:
      return truth((a != 0) != (b != 0));
    case not_:
      return truth(a == 0);
    case select_:
      return c != 0 ? a : b;
    case muladd_: {
      const float product = a * b;
      return product + c;
    }
    case copy_:
      return a;
    case neg_:
      return -a;
    case abs_:
      return std::fabs(a);
    case sign_:
      return a > 0 ? 1.0F : a < 0 ? -1.0F : a;
    case floor_:
      return std::floor(a);
    case ceil_:
      return std::ceil(a);
    case round_:
      return std::nearbyint(a);
    case sqrt_:
      return std::sqrt(a);
    case reciprocal_:
      return 1.0F / a;
    default:
      return special(function, a, b);
  }
}

}  // namespace steppe::reference
