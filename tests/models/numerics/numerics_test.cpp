// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/numerics.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

using namespace steppe;
using namespace steppe::numerics;

TEST_CASE("store rounds half to even, adds the zero point, and saturates") {
  CHECK(store(0.5F, {}) == 0);
  CHECK(store(1.5F, {}) == 2);
  CHECK(store(-0.5F, {}) == 0);
  CHECK(store(-2.5F, {}) == -2);
  CHECK(store(2.5F, {.zero = 10}) == 12);  // rounded before the zero point is added
  CHECK(store(126.6F, {}) == 127);
  CHECK(store(1e30F, {}) == 127);
  CHECK(store(-1e30F, {}) == -128);
  CHECK(store(-128.5F, {}) == -128);
  CHECK(store(-3.0F, {.zero = 0, .low = 0, .high = 100}) == 0);
  CHECK(store(101.0F, {.zero = 0, .low = 0, .high = 100}) == 100);
  CHECK(store(std::numeric_limits<float>::quiet_NaN(), {.zero = 5, .low = -7, .high = 9}) == -7);
}

TEST_CASE("quantise and dequantise follow scale and zero point") {
  const std::vector<float> x{0.0F, 1.0F, -1.0F, 0.26F, 100.0F};
  std::vector<std::int8_t> q(x.size());
  quantise(x, 0.5F, 3, q);  // x / 0.5 + 3
  CHECK(q == std::vector<std::int8_t>{3, 5, 1, 4, 127});
  std::vector<float> back(x.size());
  dequantise(q, 0.5F, 3, back);
  CHECK(back == std::vector<float>{0.0F, 1.0F, -1.0F, 0.5F, 62.0F});
}
