// SPDX-License-Identifier: Apache-2.0
//
// The vector unit's instructions of models/numerics/README.md, written from that page alone:
// nothing of models/numerics or models/vector is used.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/models/vector/vector_case.h"

namespace steppe::test {
namespace {

class Reference {
 public:
  explicit Reference(const VectorCase& vector_case)
      : before_(vector_case.memory), after_(vector_case.memory) {}

  void operator()(const isa::Eltwise& op) {
    for (std::uint64_t row = 0; row < op.rows; ++row) {
      for (std::uint64_t e = 0; e < op.elements; ++e) {
        const float a =
            static_cast<float>(at(op.a_offset + row * op.a_pitch + e) - op.a_zero) * op.a_scale;
        const std::uint64_t b_row = op.b_offset + row * op.b_pitch;
        const std::uint64_t period = e % op.b_period;
        float b = 0;
        if (op.b_type == 1) {
          b = number(b_row + period * 4);
        } else {
          b = static_cast<float>(at(b_row + period) - op.b_zero) * op.b_scale;
        }
        const float results[] = {a + b, a - b, a * b, a / b, a < b ? b : a, b < a ? b : a};
        const float v = results[op.function] * op.out_inverse;
        put(op.out_offset + row * op.out_pitch + e,
            store(v, op.out_zero, op.clamp_low, op.clamp_high));
      }
    }
  }

  void operator()(const isa::Lut& op) {
    for (std::uint64_t row = 0; row < op.rows; ++row) {
      for (std::uint64_t e = 0; e < op.elements; ++e) {
        const std::int32_t q = at(op.in_offset + row * op.in_pitch + e);
        put(op.out_offset + row * op.out_pitch + e,
            at(op.table_offset + static_cast<std::uint64_t>(q + 128)));
      }
    }
  }

  void operator()(const isa::Pool& op) {
    for (std::uint32_t y = 0; y < op.out_h; ++y) {
      for (std::uint32_t x = 0; x < op.out_w; ++x) {
        for (std::uint32_t c = 0; c < op.channels; ++c) {
          put(op.out_offset + std::uint64_t{y} * op.out_row + std::uint64_t{x} * op.channels + c,
              pooled(op, y, x, c));
        }
      }
    }
  }

  void operator()(const isa::Softmax& op) {
    for (std::uint64_t row = 0; row < op.rows; ++row) {
      const std::uint64_t in = op.in_offset + row * op.in_pitch;
      std::int32_t m = -128;
      for (std::uint64_t e = 0; e < op.elements; ++e) m = std::max(m, at(in + e));
      std::vector<float> powers;
      float sum = 0;
      for (std::uint64_t e = 0; e < op.elements; ++e) {
        powers.push_back(exponential(static_cast<float>(at(in + e) - m) * op.in_scale));
        sum = e == 0 ? powers[0] : sum + powers[e];
      }
      for (std::uint64_t e = 0; e < op.elements; ++e) {
        const float part = powers[e] / sum;
        put(op.out_offset + row * op.out_pitch + e,
            store(part * op.out_inverse, op.out_zero, -128, 127));
      }
    }
  }

  void operator()(const isa::LayerNorm& op) {
    const auto n = static_cast<float>(op.elements);
    for (std::uint64_t row = 0; row < op.rows; ++row) {
      const std::uint64_t in = op.in_offset + row * op.in_pitch;
      std::int64_t a = 0;
      std::int64_t squares = 0;
      for (std::uint64_t e = 0; e < op.elements; ++e) {
        const std::int64_t d = at(in + e) - op.in_zero;
        a += d;
        squares += d * d;
      }
      const std::int64_t b = std::int64_t{op.elements} * squares - a * a;
      const float mean = static_cast<float>(a) / n;
      const float var = static_cast<float>(b) / (n * n);
      const float scaled = (var * op.in_scale) * op.in_scale;
      const float r = 1.0F / std::sqrt(scaled + op.epsilon);
      for (std::uint64_t e = 0; e < op.elements; ++e) {
        const float centred = static_cast<float>(at(in + e) - op.in_zero) - mean;
        float v = (centred * op.in_scale) * r;
        v = v * number(op.affine_offset + e * 4);
        v = v + number(op.affine_offset + (op.elements + e) * 4);
        put(op.out_offset + row * op.out_pitch + e,
            store(v * op.out_inverse, op.out_zero, -128, 127));
      }
    }
  }

  void operator()(const isa::Permute& op) {
    for (std::int64_t a = 0; a < op.size0; ++a)
      for (std::int64_t b = 0; b < op.size1; ++b)
        for (std::int64_t c = 0; c < op.size2; ++c)
          for (std::int64_t d = 0; d < op.size3; ++d)
            for (std::int64_t e = 0; e < op.size4; ++e) {
              const std::int64_t from = a * op.in_step0 + b * op.in_step1 + c * op.in_step2 +
                                        d * op.in_step3 + e * op.in_step4;
              const std::int64_t to = a * op.out_step0 + b * op.out_step1 + c * op.out_step2 +
                                      d * op.out_step3 + e * op.out_step4;
              put(op.out_offset + static_cast<std::uint64_t>(to),
                  at(op.in_offset + static_cast<std::uint64_t>(from)));
            }
  }

  void operator()(const auto&) {}

  [[nodiscard]] std::vector<std::uint8_t> result() const { return after_; }

 private:
  [[nodiscard]] std::int32_t at(std::uint64_t offset) const {
    return static_cast<std::int8_t>(before_.at(offset));
  }
  [[nodiscard]] float number(std::uint64_t offset) const {
    float value;
    std::memcpy(&value, &before_.at(offset), 4);
    return value;
  }
  void put(std::uint64_t offset, std::int32_t value) {
    after_.at(offset) = static_cast<std::uint8_t>(value);
  }

  static std::int32_t store(float v, std::int32_t zero, std::int32_t low, std::int32_t high) {
    const float q = std::nearbyint(v) + static_cast<float>(zero);
    if (std::isnan(q)) return low;
    return static_cast<std::int32_t>(
        std::fmin(std::fmax(q, static_cast<float>(low)), static_cast<float>(high)));
  }
  /// In binary64, rounded once.
  static float exponential(float x) { return static_cast<float>(std::exp(static_cast<double>(x))); }

  [[nodiscard]] std::int32_t pooled(const isa::Pool& op, std::int64_t y, std::int64_t x,
                                    std::uint32_t c) const {
    std::int32_t largest = -128;
    std::int32_t sum = 0;
    std::int32_t inside = 0;
    for (std::int64_t i = 0; i < op.kernel_h; ++i) {
      for (std::int64_t j = 0; j < op.kernel_w; ++j) {
        const std::int64_t row = y * op.stride_h + i - op.pad_top;
        const std::int64_t pixel = x * op.stride_w + j - std::int64_t{op.pad_left};
        if (row < 0 || row >= op.in_h || pixel < 0 || pixel >= op.in_w) continue;
        const std::int32_t q = at(op.in_offset + static_cast<std::uint64_t>(row) * op.in_row +
                                  static_cast<std::uint64_t>(pixel) * op.channels + c);
        largest = std::max(largest, q);
        sum += q - op.in_zero;
        ++inside;
      }
    }
    if (op.function == 0) return largest;
    const auto n = static_cast<float>(
        op.count_padding != 0 ? static_cast<std::int32_t>(op.kernel_h * op.kernel_w) : inside);
    const float mean = static_cast<float>(sum) / n;
    return store(mean * op.multiplier, op.out_zero, -128, 127);
  }

  const std::vector<std::uint8_t>& before_;
  std::vector<std::uint8_t> after_;
};

}  // namespace

std::vector<std::uint8_t> reference(const VectorCase& vector_case) {
  Reference run(vector_case);
  std::visit(run, vector_case.operation);
  return run.result();
}

}  // namespace steppe::test
