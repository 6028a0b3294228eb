// SPDX-License-Identifier: Apache-2.0
//
// The convolution of models/numerics/README.md, written from that page alone: nothing of
// models/numerics or models/tensor is used.
#include <cmath>
#include <cstring>

#include "tests/models/tensor/conv_case.h"

namespace steppe::test {
namespace {

class Reference {
 public:
  explicit Reference(const ConvCase& conv_case) : case_(conv_case), memory_(conv_case.memory) {}

  std::vector<std::uint8_t> run() {
    for (std::uint32_t channel = 0; channel < conv_.out_c; ++channel) {
      const std::vector<std::int8_t> weights = record(channel);
      for (std::uint32_t y = 0; y < conv_.out_h; ++y) {
        for (std::uint32_t x = 0; x < conv_.out_w; ++x) {
          finish(y, x, channel, accumulate(y, x, channel, weights));
        }
      }
    }
    return memory_;
  }

 private:
  [[nodiscard]] std::int8_t byte(std::uint64_t offset) const {
    return static_cast<std::int8_t>(case_.memory.at(offset));
  }

  /// The dense weights of one output channel.
  [[nodiscard]] std::vector<std::int8_t> record(std::uint32_t channel) const {
    const std::uint64_t at = conv_.weights_offset + std::uint64_t{channel} * conv_.weight_pitch;
    std::vector<std::int8_t> dense(std::size_t{case_.blocks()} * 32, 0);
    if (conv_.ratio_log2 == 0) {
      for (std::uint32_t k = 0; k < case_.k(); ++k) dense[k] = byte(at + k);
      return dense;
    }
    const std::uint32_t n = 32U >> conv_.ratio_log2;
    const std::uint32_t values = case_.blocks() * n;
    for (std::uint32_t slot = 0; slot < values; ++slot) {
      std::uint32_t index = 0;
      for (std::uint32_t bit = 0; bit < 5; ++bit) {
        const std::uint32_t number = slot * 5 + bit;
        const std::uint8_t packed = case_.memory.at(at + values + number / 8);
        index |= ((packed >> number % 8) & 1U) << bit;
      }
      dense[slot / n * 32 + index] = byte(at + slot);
    }
    return dense;
  }

  [[nodiscard]] std::int32_t input(std::int64_t row, std::int64_t pixel, std::uint32_t c) const {
    if (row < 0 || row >= conv_.in_h || pixel < 0 || pixel >= conv_.in_w) return conv_.in_zero;
    return byte(conv_.in_offset + static_cast<std::uint64_t>(row) * conv_.in_row +
                static_cast<std::uint64_t>(pixel) * conv_.in_pixel + c);
  }

  [[nodiscard]] std::int32_t accumulate(std::uint32_t y, std::uint32_t x, std::uint32_t channel,
                                        const std::vector<std::int8_t>& weights) const {
    const std::uint32_t group = channel / (conv_.out_c / conv_.groups);
    std::uint32_t sum;  // wraps
    std::memcpy(&sum, &case_.memory.at(conv_.scales_offset + std::uint64_t{channel} * 8), 4);
    std::size_t k = 0;
    for (std::int64_t i = 0; i < conv_.kernel_h; ++i) {
      for (std::int64_t j = 0; j < conv_.kernel_w; ++j) {
        for (std::uint32_t c = 0; c < conv_.in_c; ++c, ++k) {
          const std::int32_t value =
              input(y * std::int64_t{conv_.stride_h} + i * conv_.dilation_h - conv_.pad_top,
                    x * std::int64_t{conv_.stride_w} + j * conv_.dilation_w - conv_.pad_left,
                    group * conv_.in_c + c);
          sum += static_cast<std::uint32_t>(value * weights[k]);
        }
      }
    }
    return static_cast<std::int32_t>(sum);
  }

  void finish(std::uint32_t y, std::uint32_t x, std::uint32_t channel, std::int32_t sum) {
    float multiplier;
    std::memcpy(&multiplier, &case_.memory.at(conv_.scales_offset + std::uint64_t{channel} * 8 + 4),
                4);
    float v = static_cast<float>(sum) * multiplier;
    const std::uint64_t pixel =
        conv_.out_offset + std::uint64_t{y} * conv_.out_row + std::uint64_t{x} * conv_.out_pixel;
    if (conv_.out_type == 1) {
      std::memcpy(&memory_.at(pixel + std::uint64_t{channel} * 4), &v, 4);
      return;
    }
    if (conv_.has_residual != 0) {
      const std::int32_t r = byte(conv_.residual_offset + std::uint64_t{y} * conv_.residual_row +
                                  std::uint64_t{x} * conv_.residual_pixel + channel);
      const float scaled = static_cast<float>(r - conv_.residual_zero) * conv_.residual_scale;
      v = v + scaled;
    }
    const auto low = static_cast<float>(conv_.clamp_low);
    const auto high = static_cast<float>(conv_.clamp_high);
    const float rounded = std::nearbyint(v) + static_cast<float>(conv_.out_zero);
    float q = std::isnan(rounded) ? low : std::fmin(std::fmax(rounded, low), high);
    if (conv_.has_lut != 0) q = byte(conv_.lut_offset + static_cast<std::uint64_t>(q + 128));
    memory_.at(pixel + channel) = static_cast<std::uint8_t>(static_cast<std::int8_t>(q));
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
