// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "models/numerics/special.h"
#include "models/vector/elements.h"
#include "models/vector/vector_kernels.h"

namespace steppe::vector_kernels {
namespace {

/// How many elements a row sees.
std::uint32_t visible(const isa::Softmax& op, std::uint32_t row) {
  if (op.mask_period == 0) return op.elements;
  const std::int64_t limit = op.mask_first + std::int64_t{op.mask_step} * (row % op.mask_period);
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(limit, 0, op.elements));
}

/// The exponentials of differences to the largest element of a row. int8 elements know 256 of them.
class Powers {
 public:
  explicit Powers(const isa::Softmax& op) : op_(op) {}

  /// Replaces values by their differences to the largest, the quantised ones of int8 exactly.
  void subtract_largest(const std::uint8_t* row, std::vector<float>& values, std::uint32_t seen) {
    if (op_.in_type == int8) {
      std::int32_t largest = -128;
      for (std::uint32_t i = 0; i < seen; ++i)
        largest = std::max<std::int32_t>(largest, read_as<std::int8_t>(row + i));
      distance_.resize(seen);
      for (std::uint32_t i = 0; i < seen; ++i) {
        const std::int32_t below = largest - read_as<std::int8_t>(row + i);
        distance_[i] = static_cast<std::uint8_t>(below);
        values[i] = static_cast<float>(-below) * op_.in_scale;
      }
      return;
    }
    load(source_of(op_), row, item_bytes(op_.in_type), seen, values.data());
    float largest = values[0];
    for (std::uint32_t i = 1; i < seen; ++i) largest = largest < values[i] ? values[i] : largest;
    for (std::uint32_t i = 0; i < seen; ++i) values[i] = values[i] - largest;
  }

  float operator()(const std::vector<float>& values, std::uint32_t i) {
    if (op_.in_type != int8) return numerics::exp_fp32(values[i]);
    const std::uint8_t d = distance_[i];
    if (!known_[d]) {
      powers_[d] = numerics::exp_fp32(values[i]);
      known_[d] = true;
    }
    return powers_[d];
  }

 private:
  const isa::Softmax& op_;
  std::vector<std::uint8_t> distance_;
  std::array<float, 256> powers_{};
  std::array<bool, 256> known_{};
};

}  // namespace

void run(const isa::Softmax& op, const std::uint8_t* in, std::uint8_t* out) {
  const Target target = target_of(op);
  const std::uint32_t out_bytes = item_bytes(op.out_type);
  Powers power(op);
  std::vector<float> values(op.elements);
  std::vector<float> powers(op.elements);
  for (std::uint32_t row = 0; row < op.rows; ++row) {
    const std::uint32_t seen = visible(op, row);
    float sum = 0;
    if (seen > 0) {
      power.subtract_largest(in + std::size_t{row} * op.in_pitch, values, seen);
      for (std::uint32_t i = 0; i < seen; ++i) {
        powers[i] = power(values, i);
        sum = sum + powers[i];
      }
    }
    if (op.log != 0) {
      const float log_sum = numerics::log_fp32(sum);
      for (std::uint32_t i = 0; i < seen; ++i) values[i] = values[i] - log_sum;
    } else {
      for (std::uint32_t i = 0; i < seen; ++i) values[i] = powers[i] / sum;
    }
    const float hidden = op.log != 0 ? -std::numeric_limits<float>::infinity() : 0.0F;
    std::fill(values.begin() + seen, values.end(), hidden);
    in_chunks(op.elements, [&](std::uint32_t first, std::uint32_t count) {
      store(target, values.data() + first, count,
            out + std::size_t{row} * op.out_pitch + std::size_t{first} * out_bytes, out_bytes);
    });
  }
}

}  // namespace steppe::vector_kernels
