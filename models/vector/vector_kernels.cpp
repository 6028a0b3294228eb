// SPDX-License-Identifier: Apache-2.0
#include "models/vector/vector_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "models/numerics/numerics.h"

namespace steppe::vector_kernels {
namespace {

using numerics::store;
using numerics::StoreRule;

/// Elements worked on together, so that inner loops are plain and turn into vector code.
constexpr std::uint32_t chunk = 64;
using Chunk = std::array<float, chunk>;

float load_float(const std::uint8_t* from, std::uint64_t index) {
  float value;
  std::memcpy(&value, from + index * sizeof value, sizeof value);
  return value;
}

/// The second operand of an Eltwise for elements [first, first + count) of a row.
void load_second(const isa::Eltwise& op, const std::uint8_t* row, std::uint32_t first,
                 std::uint32_t count, Chunk& to) {
  std::uint32_t at = first % op.b_period;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (op.b_type == 1) {
      to[i] = load_float(row, at);
    } else {
      to[i] = static_cast<float>(static_cast<std::int8_t>(row[at]) - op.b_zero) * op.b_scale;
    }
    if (++at == op.b_period) at = 0;
  }
}

template <typename Function>
void combine(Chunk& a, const Chunk& b, Function function) {
  for (std::uint32_t i = 0; i < chunk; ++i) a[i] = function(a[i], b[i]);
}

void combine(std::uint32_t function, Chunk& a, const Chunk& b) {
  switch (function) {
    case 0:
      return combine(a, b, [](float x, float y) { return x + y; });
    case 1:
      return combine(a, b, [](float x, float y) { return x - y; });
    case 2:
      return combine(a, b, [](float x, float y) { return x * y; });
    case 3:
      return combine(a, b, [](float x, float y) { return x / y; });
    case 4:
      return combine(a, b, [](float x, float y) { return x < y ? y : x; });
    default:
      return combine(a, b, [](float x, float y) { return y < x ? y : x; });
  }
}

/// The part of a window that lies inside the input.
struct Window {
  std::int64_t y0, y1, x0, x1;
  [[nodiscard]] bool empty() const { return y0 >= y1 || x0 >= x1; }
};

Window window_at(const isa::Pool& op, std::uint32_t y, std::uint32_t x) {
  const std::int64_t top = std::int64_t{y} * op.stride_h - op.pad_top;
  const std::int64_t left = std::int64_t{x} * op.stride_w - op.pad_left;
  return {std::max<std::int64_t>(top, 0), std::min<std::int64_t>(top + op.kernel_h, op.in_h),
          std::max<std::int64_t>(left, 0), std::min<std::int64_t>(left + op.kernel_w, op.in_w)};
}

void pool_max(const isa::Pool& op, const Window& window, const std::int8_t* in, std::int8_t* out) {
  std::fill_n(out, op.channels, std::int8_t{-128});
  for (std::int64_t y = window.y0; y < window.y1; ++y) {
    for (std::int64_t x = window.x0; x < window.x1; ++x) {
      const std::int8_t* pixel = in + y * op.in_row + x * op.channels;
      for (std::uint32_t c = 0; c < op.channels; ++c) out[c] = std::max(out[c], pixel[c]);
    }
  }
}

void pool_average(const isa::Pool& op, const Window& window, const std::int8_t* in,
                  std::vector<std::uint32_t>& sums, std::int8_t* out) {
  std::ranges::fill(sums, 0U);  // unsigned: they wrap
  for (std::int64_t y = window.y0; y < window.y1; ++y) {
    for (std::int64_t x = window.x0; x < window.x1; ++x) {
      const std::int8_t* pixel = in + y * op.in_row + x * op.channels;
      for (std::uint32_t c = 0; c < op.channels; ++c) {
        sums[c] += static_cast<std::uint32_t>(pixel[c] - op.in_zero);
      }
    }
  }
  const std::int64_t inside =
      window.empty() ? 0 : (window.y1 - window.y0) * (window.x1 - window.x0);
  const std::int64_t whole = std::int64_t{op.kernel_h} * op.kernel_w;
  const auto count = static_cast<float>(op.count_padding != 0 ? whole : inside);
  for (std::uint32_t c = 0; c < op.channels; ++c) {
    const auto sum = static_cast<float>(static_cast<std::int32_t>(sums[c]));
    out[c] = store((sum / count) * op.multiplier, {.zero = op.out_zero});
  }
}

}  // namespace

void run(const isa::Eltwise& op, const std::int8_t* a, const std::uint8_t* b, std::int8_t* out) {
  const StoreRule rule{op.out_zero, op.clamp_low, op.clamp_high};
  Chunk left{};
  Chunk right{};
  for (std::uint32_t row = 0; row < op.rows; ++row) {
    const std::int8_t* a_row = a + std::size_t{row} * op.a_pitch;
    const std::uint8_t* b_row = b + std::size_t{row} * op.b_pitch;
    std::int8_t* out_row = out + std::size_t{row} * op.out_pitch;
    for (std::uint32_t first = 0; first < op.elements; first += chunk) {
      const std::uint32_t count = std::min(chunk, op.elements - first);
      for (std::uint32_t i = 0; i < count; ++i) {
        left[i] = static_cast<float>(a_row[first + i] - op.a_zero) * op.a_scale;
      }
      load_second(op, b_row, first, count, right);
      combine(op.function, left, right);
      for (std::uint32_t i = 0; i < count; ++i) {
        out_row[first + i] = store(left[i] * op.out_inverse, rule);
      }
    }
  }
}

void run(const isa::Lut& op, const std::int8_t* in, const std::int8_t* table, std::int8_t* out) {
  for (std::uint32_t row = 0; row < op.rows; ++row) {
    const std::int8_t* from = in + std::size_t{row} * op.in_pitch;
    std::int8_t* to = out + std::size_t{row} * op.out_pitch;
    for (std::uint32_t i = 0; i < op.elements; ++i) to[i] = table[from[i] + 128];
  }
}

void run(const isa::Pool& op, const std::int8_t* in, std::int8_t* out) {
  std::vector<std::uint32_t> sums(op.channels);
  for (std::uint32_t y = 0; y < op.out_h; ++y) {
    for (std::uint32_t x = 0; x < op.out_w; ++x) {
      const Window window = window_at(op, y, x);
      std::int8_t* to = out + std::size_t{y} * op.out_row + std::size_t{x} * op.channels;
      if (op.function == 0) {
        pool_max(op, window, in, to);
      } else {
        pool_average(op, window, in, sums, to);
      }
    }
  }
}

void run(const isa::Softmax& op, const std::int8_t* in, std::int8_t* out) {
  // The exponential of each distance from the largest element: there are 256 of them at most.
  std::array<float, 256> powers{};
  std::array<bool, 256> known{};
  for (std::uint32_t row = 0; row < op.rows; ++row) {
    const std::int8_t* from = in + std::size_t{row} * op.in_pitch;
    std::int8_t* to = out + std::size_t{row} * op.out_pitch;
    int largest = -128;
    for (std::uint32_t i = 0; i < op.elements; ++i) largest = std::max<int>(largest, from[i]);
    // In eight bits, so that a result laid over its input at an offset cannot leave the table.
    const auto distance = [&](std::uint32_t i) {
      return static_cast<std::uint8_t>(largest - from[i]);
    };
    float sum = 0;
    for (std::uint32_t i = 0; i < op.elements; ++i) {
      const std::uint8_t d = distance(i);
      if (!known[d]) {
        powers[d] = numerics::exp_fp32(static_cast<float>(-static_cast<int>(d)) * op.in_scale);
        known[d] = true;
      }
      sum = sum + powers[d];
    }
    for (std::uint32_t i = 0; i < op.elements; ++i) {
      to[i] = store((powers[distance(i)] / sum) * op.out_inverse, {.zero = op.out_zero});
    }
  }
}

void run(const isa::LayerNorm& op, const std::int8_t* in, const std::uint8_t* affine,
         std::int8_t* out) {
  const auto n = static_cast<std::int64_t>(op.elements);
  const auto count = static_cast<float>(n);
  for (std::uint32_t row = 0; row < op.rows; ++row) {
    const std::int8_t* from = in + std::size_t{row} * op.in_pitch;
    std::int8_t* to = out + std::size_t{row} * op.out_pitch;
    std::int64_t sum = 0;
    std::int64_t squares = 0;
    for (std::uint32_t i = 0; i < op.elements; ++i) {
      const std::int64_t d = from[i] - op.in_zero;
      sum += d;
      squares += d * d;
    }
    const float mean = static_cast<float>(sum) / count;
    const float variance = static_cast<float>(n * squares - sum * sum) / (count * count);
    const float reciprocal = 1.0F / std::sqrt((variance * op.in_scale) * op.in_scale + op.epsilon);
    for (std::uint32_t i = 0; i < op.elements; ++i) {
      float value = ((static_cast<float>(from[i] - op.in_zero) - mean) * op.in_scale) * reciprocal;
      value = value * load_float(affine, i);
      value = value + load_float(affine, op.elements + i);
      to[i] = store(value * op.out_inverse, {.zero = op.out_zero});
    }
  }
}

void run(const isa::Permute& op, const std::int8_t* in, std::int8_t* out) {
  for (std::uint32_t i0 = 0; i0 < op.size0; ++i0) {
    for (std::uint32_t i1 = 0; i1 < op.size1; ++i1) {
      for (std::uint32_t i2 = 0; i2 < op.size2; ++i2) {
        const std::int64_t in2 = std::int64_t{i0} * op.in_step0 + std::int64_t{i1} * op.in_step1 +
                                 std::int64_t{i2} * op.in_step2;
        const std::int64_t out2 = std::int64_t{i0} * op.out_step0 +
                                  std::int64_t{i1} * op.out_step1 + std::int64_t{i2} * op.out_step2;
        for (std::uint32_t i3 = 0; i3 < op.size3; ++i3) {
          const std::int8_t* from = in + in2 + std::int64_t{i3} * op.in_step3;
          std::int8_t* to = out + out2 + std::int64_t{i3} * op.out_step3;
          if (op.in_step4 == 1 && op.out_step4 == 1) {
            std::memmove(to, from, op.size4);
            continue;
          }
          for (std::uint32_t i4 = 0; i4 < op.size4; ++i4) {
            to[std::int64_t{i4} * op.out_step4] = from[std::int64_t{i4} * op.in_step4];
          }
        }
      }
    }
  }
}

}  // namespace steppe::vector_kernels
