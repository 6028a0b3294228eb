// SPDX-License-Identifier: Apache-2.0
//
// The convolution of models/numerics/README.md, written from that page alone: nothing of
// models/numerics or models/tensor is used.
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/models/tensor/conv_case.h"

namespace steppe::test {
namespace {

float from_bf16(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

/// The nearest multiple of the spacing of bf16 numbers at that size, ties to even.
std::uint16_t nearest_bf16(float value) {
  if (std::isnan(value)) return 0x7fc0;
  double rounded = value;
  if (std::isfinite(value) && value != 0) {
    const int exponent = std::max(std::ilogb(value), -126);  // below that, subnormal
    const double spacing = std::ldexp(1.0, exponent - 7);
    rounded = std::nearbyint(value / spacing) * spacing;
    // Beyond half a spacing above the largest number lies infinity.
    if (std::fabs(rounded) >= std::ldexp(1.0, 128)) {
      rounded = std::copysign(std::numeric_limits<double>::infinity(), rounded);
    }
  }
  const auto narrow = static_cast<float>(rounded);
  std::uint32_t bits;
  std::memcpy(&bits, &narrow, 4);
  return static_cast<std::uint16_t>(bits >> 16);
}

class Reference {
 public:
  explicit Reference(const ConvCase& conv_case) : case_(conv_case), memory_(conv_case.memory) {}

  std::vector<std::uint8_t> run() {
    for (std::uint32_t channel = 0; channel < conv_.out_c; ++channel) {
      const std::vector<Weight> weights = record(channel);
      for (std::uint32_t y = 0; y < conv_.out_h; ++y) {
        for (std::uint32_t x = 0; x < conv_.out_w; ++x) {
          if (conv_.in_type == 0) {
            const std::uint32_t sum = wrapping_sum(y, x, channel, weights);
            finish(y, x, channel, static_cast<float>(static_cast<std::int32_t>(sum)), sum);
          } else {
            const float sum = rounded_sum(y, x, channel, weights);
            std::uint32_t bits = 0x7fc00000;
            if (!std::isnan(sum)) std::memcpy(&bits, &sum, 4);
            finish(y, x, channel, sum, bits);
          }
        }
      }
    }
    return memory_;
  }

 private:
  /// A weight as it is stored: int8 in the low byte, or the bits of a bf16.
  using Weight = std::uint16_t;

  template <typename T>
  [[nodiscard]] T read(std::uint64_t offset) const {
    T value;
    for (std::size_t i = 0; i < sizeof value; ++i) {
      reinterpret_cast<std::uint8_t*>(&value)[i] = case_.memory.at(offset + i);
    }
    return value;
  }
  template <typename T>
  void write(std::uint64_t offset, T value) {
    std::memcpy(&memory_.at(offset), &value, sizeof value);
  }
  [[nodiscard]] std::int32_t byte(std::uint64_t offset) const { return read<std::int8_t>(offset); }

  [[nodiscard]] Weight item(std::uint64_t begin, std::uint32_t number) const {
    if (conv_.in_type == 0) return read<std::uint8_t>(begin + number);
    return read<std::uint16_t>(begin + std::uint64_t{number} * 2);
  }

  /// The dense weights of one output channel.
  [[nodiscard]] std::vector<Weight> record(std::uint32_t channel) const {
    const std::uint64_t at = conv_.weights_offset + std::uint64_t{channel} * conv_.weight_pitch;
    std::vector<Weight> dense(std::size_t{case_.blocks()} * 32, 0);
    if (conv_.encoding == 0) {
      for (std::uint32_t k = 0; k < case_.k(); ++k) dense[k] = item(at, k);
    } else if (conv_.encoding == 1) {
      indexed_record(at, dense);
    } else {
      bitmap_record(at, dense);
    }
    return dense;
  }

  void indexed_record(std::uint64_t at, std::vector<Weight>& dense) const {
    const std::uint32_t values = case_.blocks() * conv_.kept;
    const std::uint64_t indices = at + std::uint64_t{values} * in_bytes(conv_);
    for (std::uint32_t slot = 0; slot < values; ++slot) {
      std::uint32_t index = 0;
      for (std::uint32_t bit = 0; bit < 5; ++bit) {
        const std::uint32_t number = slot * 5 + bit;
        const std::uint8_t packed = case_.memory.at(indices + number / 8);
        index |= ((packed >> number % 8) & 1U) << bit;
      }
      dense[slot / conv_.kept * 32 + index] = item(at, slot);
    }
  }

  void bitmap_record(std::uint64_t at, std::vector<Weight>& dense) const {
    const std::uint64_t values = at + std::uint64_t{case_.blocks()} * 4;
    std::uint32_t slot = 0;
    for (std::uint32_t k = 0; k < dense.size(); ++k) {
      if (((case_.memory.at(at + k / 8) >> k % 8) & 1) == 0) continue;
      const bool within = values + (slot + 1) * in_bytes(conv_) <= at + conv_.weight_pitch;
      dense[k] = within ? item(values, slot) : Weight{0};
      ++slot;
    }
  }

  /// Calls visit(k, offset) for each tap; the offset of a padding position is that of no byte.
  void for_each_tap(std::uint32_t y, std::uint32_t x, std::uint32_t channel,
                    const auto& visit) const {
    const std::uint32_t group = channel / (conv_.out_c / conv_.groups);
    std::size_t k = 0;
    for (std::int64_t i = 0; i < conv_.kernel_h; ++i) {
      for (std::int64_t j = 0; j < conv_.kernel_w; ++j) {
        for (std::uint32_t c = 0; c < conv_.in_c; ++c, ++k) {
          const std::int64_t row =
              y * std::int64_t{conv_.stride_h} + i * conv_.dilation_h - conv_.pad_top;
          const std::int64_t pixel =
              x * std::int64_t{conv_.stride_w} + j * conv_.dilation_w - conv_.pad_left;
          const bool inside = row >= 0 && row < conv_.in_h && pixel >= 0 && pixel < conv_.in_w;
          const std::uint64_t offset = conv_.in_offset +
                                       static_cast<std::uint64_t>(row) * conv_.in_row +
                                       static_cast<std::uint64_t>(pixel) * conv_.in_pixel +
                                       (std::uint64_t{group} * conv_.in_c + c) * in_bytes(conv_);
          visit(k, inside ? offset : padding);
        }
      }
    }
  }
  static constexpr std::uint64_t padding = ~std::uint64_t{0};

  /// What sums start from, as bits.
  [[nodiscard]] std::uint32_t start(std::uint32_t y, std::uint32_t x, std::uint32_t channel) const {
    if (conv_.has_partial == 0) {
      return read<std::uint32_t>(conv_.scales_offset + std::uint64_t{channel} * 8);
    }
    return read<std::uint32_t>(conv_.partial_offset + std::uint64_t{y} * conv_.partial_row +
                               std::uint64_t{x} * conv_.partial_pixel + std::uint64_t{channel} * 4);
  }

  [[nodiscard]] std::uint32_t wrapping_sum(std::uint32_t y, std::uint32_t x, std::uint32_t channel,
                                           const std::vector<Weight>& weights) const {
    std::uint32_t sum = start(y, x, channel);
    for_each_tap(y, x, channel, [&](std::size_t k, std::uint64_t offset) {
      const std::int32_t value = offset == padding ? conv_.in_zero : byte(offset);
      sum += static_cast<std::uint32_t>(value * static_cast<std::int8_t>(weights[k]));
    });
    return sum;
  }

  [[nodiscard]] float rounded_sum(std::uint32_t y, std::uint32_t x, std::uint32_t channel,
                                  const std::vector<Weight>& weights) const {
    const std::uint32_t bits = start(y, x, channel);
    float sum;
    std::memcpy(&sum, &bits, 4);
    for_each_tap(y, x, channel, [&](std::size_t k, std::uint64_t offset) {
      const float weight = from_bf16(weights[k]);
      if (weight == 0) return;
      const float value = offset == padding ? 0.0F : from_bf16(read<std::uint16_t>(offset));
      const float product = value * weight;
      sum = sum + product;
    });
    return sum;
  }

  void finish(std::uint32_t y, std::uint32_t x, std::uint32_t channel, float sum,
              std::uint32_t sum_bits) {
    const auto multiplier = read<float>(conv_.scales_offset + std::uint64_t{channel} * 8 + 4);
    const std::uint64_t to = conv_.out_offset + std::uint64_t{y} * conv_.out_row +
                             std::uint64_t{x} * conv_.out_pixel +
                             std::uint64_t{channel} * out_bytes(conv_);
    if (conv_.out_type == 3) {
      write(to, sum_bits);
      return;
    }
    float v = sum * multiplier;
    if (conv_.out_type == 1) {
      if (std::isnan(v)) {
        write(to, std::uint32_t{0x7fc00000});
      } else {
        write(to, v);
      }
      return;
    }
    const std::uint64_t residual = conv_.residual_offset + std::uint64_t{y} * conv_.residual_row +
                                   std::uint64_t{x} * conv_.residual_pixel +
                                   std::uint64_t{channel} * out_bytes(conv_);
    if (conv_.out_type == 2) {
      if (conv_.has_residual != 0) {
        const float scaled = from_bf16(read<std::uint16_t>(residual)) * conv_.residual_scale;
        v = v + scaled;
      }
      if (v < conv_.lowest) v = conv_.lowest;
      if (v > conv_.highest) v = conv_.highest;
      write(to, nearest_bf16(v));
      return;
    }
    if (conv_.has_residual != 0) {
      const float scaled =
          static_cast<float>(byte(residual) - conv_.residual_zero) * conv_.residual_scale;
      v = v + scaled;
    }
    const auto low = static_cast<float>(conv_.clamp_low);
    const auto high = static_cast<float>(conv_.clamp_high);
    const float rounded = std::nearbyint(v) + static_cast<float>(conv_.out_zero);
    float q = std::isnan(rounded) ? low : std::fmin(std::fmax(rounded, low), high);
    if (conv_.has_lut != 0) {
      q = static_cast<float>(byte(conv_.lut_offset + static_cast<std::uint64_t>(q + 128)));
    }
    write(to, static_cast<std::int8_t>(q));
  }

  const ConvCase& case_;
  const isa::Conv& conv_ = case_.conv;
  std::vector<std::uint8_t> memory_;
};

}  // namespace

std::vector<std::uint8_t> reference(const ConvCase& conv_case) {
  return Reference(conv_case).run();
}

}  // namespace steppe::test
