// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/numerics.h"

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

}  // namespace steppe::numerics
