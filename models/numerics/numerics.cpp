// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/numerics.h"

#include <array>
#include <limits>

namespace steppe::numerics {
void quantise(std::span<const float> x, float scale, std::int32_t zero,
              std::span<std::int8_t> out) {
  const float inverse = 1.0F / scale;
  const StoreRule rule{.zero = zero};
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = store(x[i] * inverse, rule);
}

void dequantise(std::span<const std::int8_t> q, float scale, std::int32_t zero,
                std::span<float> out) {
  for (std::size_t i = 0; i < q.size(); ++i) out[i] = static_cast<float>(q[i] - zero) * scale;
}

float exp_fp32(float x) {
  // exp(x) = 2^(n / 32) * exp(r) with |r| <= ln 2 / 64; the table holds 2^(i / 32), the rest is a
  // Taylor polynomial whose first left-out term, r^7 / 5040, is below 2^-57.
  constexpr double ln2 = 0.693147180559945309417232121458;
  constexpr int steps = 32;
  static const std::array<double, steps> powers = [] {
    std::array<double, steps> table{};
    for (int i = 0; i < steps; ++i) table[static_cast<std::size_t>(i)] = std::exp2(i / 32.0);
    return table;
  }();
  if (std::isnan(x)) return x;
  if (x >= 128 * ln2) return std::numeric_limits<float>::infinity();
  if (x < -150 * ln2) return 0.0F;
  const double wide = x;
  const double n = std::nearbyint(wide * (steps / ln2));
  // ln 2 / 32 in two parts; the product with the first is exact, since n has at most 13 bits.
  constexpr double step_high = 0x1.62e42fefap-6;
  constexpr double step_low = 0x1.cf79abc9e3b3ap-45;
  const double r = (wide - n * step_high) - n * step_low;
  double p = 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  const int whole = static_cast<int>(n);
  const double fraction = powers[static_cast<std::size_t>(whole & (steps - 1))];
  const int exponent = (whole - (whole & (steps - 1))) / steps;
  return static_cast<float>(std::ldexp(fraction + fraction * (p * r), exponent));
}

}  // namespace steppe::numerics
