// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
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

/// Rows of one type of input.
class Rows {
 public:
  explicit Rows(const isa::Softmax& op)
      : op_(op), target_(target_of(op)), out_bytes_(item_bytes(op.out_type)) {
    values_.resize(op.elements);
    powers_.resize(op.elements);
    if (op.in_type != int8) return;
    distances_.resize(op.elements);
    for (std::uint32_t d = 0; d < 256; ++d) {
      differences_[d] = static_cast<float>(-static_cast<std::int32_t>(d)) * op.in_scale;
      powers_of_[d] = numerics::exp_fp32(differences_[d]);
    }
  }

  void run(const std::uint8_t* from, std::uint8_t* to, std::uint32_t seen) {
    if (op_.in_type == int8 && seen > 0) {
      run_bytes(from, to, seen);
    } else if (seen > 0) {
      run_numbers(from, seen);
      put(values_.data(), seen, to);
    }
    const float hidden = op_.log != 0 ? -std::numeric_limits<float>::infinity() : 0.0F;
    std::fill(values_.begin(), values_.end() - seen, hidden);
    put(values_.data(), op_.elements - seen, to + std::size_t{seen} * out_bytes_);
  }

 private:
  /// From the differences to the largest, and their exponentials, to the results.
  void finish(const float* differences, const float* powers, std::uint32_t count, float sum,
              float* results) const {
    if (op_.log != 0) {
      const float log_sum = numerics::log_fp32(sum);
      for (std::uint32_t i = 0; i < count; ++i) results[i] = differences[i] - log_sum;
    } else {
      const float reciprocal = 1.0F / sum;
      for (std::uint32_t i = 0; i < count; ++i) results[i] = powers[i] * reciprocal;
    }
  }

  void put(const float* results, std::uint32_t count, std::uint8_t* to) const {
    in_chunks(count, [&](std::uint32_t first, std::uint32_t some) {
      store(target_, results + first, some, to + std::size_t{first} * out_bytes_, out_bytes_);
    });
  }

  /// int8: all 256 distances from the largest are looked up, and so are their results in long rows.
  void run_bytes(const std::uint8_t* from, std::uint8_t* to, std::uint32_t seen) {
    std::int8_t largest = -128;
    for (std::uint32_t i = 0; i < seen; ++i)
      largest = std::max(largest, read_as<std::int8_t>(from + i));
    const auto top = static_cast<std::uint8_t>(largest);
    for (std::uint32_t i = 0; i < seen; ++i)
      distances_[i] = static_cast<std::uint8_t>(top - from[i]);
    float sum = 0;
    for (std::uint32_t i = 0; i < seen; ++i) sum = sum + powers_of_[distances_[i]];
    if (seen >= 256) {
      std::array<float, 256> results;
      std::array<std::uint8_t, 1024> table;
      finish(differences_.data(), powers_of_.data(), 256, sum, results.data());
      put(results.data(), 256, table.data());
      for (std::uint32_t i = 0; i < seen; ++i) {
        std::memcpy(to + std::size_t{i} * out_bytes_,
                    table.data() + std::size_t{distances_[i]} * out_bytes_, out_bytes_);
      }
      return;
    }
    for (std::uint32_t i = 0; i < seen; ++i) {
      values_[i] = differences_[distances_[i]];
      powers_[i] = powers_of_[distances_[i]];
    }
    finish(values_.data(), powers_.data(), seen, sum, values_.data());
    put(values_.data(), seen, to);
  }

  void run_numbers(const std::uint8_t* from, std::uint32_t seen) {
    const std::uint32_t bytes = item_bytes(op_.in_type);
    in_chunks(seen, [&](std::uint32_t first, std::uint32_t count) {
      load(source_of(op_), from + std::size_t{first} * bytes, bytes, count, values_.data() + first);
    });
    float largest = values_[0];
    for (std::uint32_t i = 1; i < seen; ++i) largest = largest < values_[i] ? values_[i] : largest;
    float sum = 0;
    for (std::uint32_t i = 0; i < seen; ++i) {
      values_[i] = values_[i] - largest;
      powers_[i] = numerics::exp_fp32(values_[i]);
      sum = sum + powers_[i];
    }
    finish(values_.data(), powers_.data(), seen, sum, values_.data());
  }

  const isa::Softmax& op_;
  Target target_;
  std::uint32_t out_bytes_;
  std::vector<float> values_;
  std::vector<float> powers_;
  std::vector<std::uint8_t> distances_;
  std::array<float, 256> differences_{};  ///< by distance from the largest
  std::array<float, 256> powers_of_{};
};

}  // namespace

void run(const isa::Softmax& op, const std::uint8_t* in, std::uint8_t* out) {
  Rows rows(op);
  for (std::uint32_t row = 0; row < op.rows; ++row) {
    rows.run(in + std::size_t{row} * op.in_pitch, out + std::size_t{row} * op.out_pitch,
             visible(op, row));
  }
}

}  // namespace steppe::vector_kernels
