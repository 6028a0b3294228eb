// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <vector>

#include "models/numerics/numerics.h"
#include "models/vector/elements.h"
#include "models/vector/vector_kernels.h"

namespace steppe::vector_kernels {
namespace {

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

/// What an average divides by.
float divisor(const isa::Pool& op, const Window& window) {
  const std::int64_t inside =
      window.empty() ? 0 : (window.y1 - window.y0) * (window.x1 - window.x0);
  const std::int64_t whole = std::int64_t{op.kernel_h} * op.kernel_w;
  return static_cast<float>(op.count_padding != 0 ? whole : inside);
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
  const float count = divisor(op, window);
  for (std::uint32_t c = 0; c < op.channels; ++c) {
    const auto sum = static_cast<float>(static_cast<std::int32_t>(sums[c]));
    out[c] = numerics::store((sum / count) * op.multiplier, {.zero = op.out_zero});
  }
}

/// fp32 and bf16: of either function.
void pool_numbers(const isa::Pool& op, const Window& window, const std::uint8_t* in,
                  std::uint8_t* out) {
  const std::uint32_t bytes = item_bytes(op.type);
  const Source source{.type = op.type};
  const float count = divisor(op, window);
  const float lowest = -std::numeric_limits<float>::infinity();
  Chunk running;
  Chunk values;
  in_chunks(op.channels, [&](std::uint32_t first, std::uint32_t some) {
    running.fill(op.function == 0 ? lowest : 0.0F);
    for (std::int64_t y = window.y0; y < window.y1; ++y) {
      for (std::int64_t x = window.x0; x < window.x1; ++x) {
        load(source, in + y * op.in_row + (x * op.channels + first) * bytes, bytes, some,
             values.data());
        if (op.function == 0) {
          for (std::uint32_t i = 0; i < some; ++i)
            running[i] = running[i] < values[i] ? values[i] : running[i];
        } else {
          for (std::uint32_t i = 0; i < some; ++i) running[i] = running[i] + values[i];
        }
      }
    }
    if (op.function == 1) {
      for (std::uint32_t i = 0; i < some; ++i) running[i] = (running[i] / count) * op.multiplier;
    }
    store({.type = op.type}, running.data(), some, out + std::size_t{first} * bytes, bytes);
  });
}

}  // namespace

void run(const isa::Pool& op, const std::uint8_t* in, std::uint8_t* out) {
  std::vector<std::uint32_t> sums(op.channels);
  const auto* values = reinterpret_cast<const std::int8_t*>(in);
  const std::size_t pixel = std::size_t{op.channels} * item_bytes(op.type);
  for (std::uint32_t y = 0; y < op.out_h; ++y) {
    for (std::uint32_t x = 0; x < op.out_w; ++x) {
      const Window window = window_at(op, y, x);
      std::uint8_t* to = out + std::size_t{y} * op.out_row + x * pixel;
      if (op.type != int8) {
        pool_numbers(op, window, in, to);
      } else if (op.function == 0) {
        pool_max(op, window, values, reinterpret_cast<std::int8_t*>(to));
      } else {
        pool_average(op, window, values, sums, reinterpret_cast<std::int8_t*>(to));
      }
    }
  }
}

}  // namespace steppe::vector_kernels
