// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "models/vector/elements.h"
#include "models/vector/vector_kernels.h"

namespace steppe::vector_kernels {
namespace {

/// Where a result comes from along one axis: two neighbours and the share of the second.
struct Tap {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  float share = 0;
};

float bounded(float value, std::uint32_t size) {
  const auto last = static_cast<float>(size - 1);
  return value > 0 ? (value < last ? value : last) : 0.0F;
}

Tap tap_of(const isa::Resize& op, std::uint32_t index, float step, std::uint32_t size) {
  const auto at = static_cast<float>(index);
  const float x = op.half_pixel != 0 ? (at + 0.5F) * step - 0.5F : at * step;
  if (op.linear != 0) {
    const float inside = bounded(x, size);
    const float low = std::floor(inside);
    const auto first = static_cast<std::uint32_t>(low);
    return {first, std::min(first + 1, size - 1), inside - low};
  }
  const float whole = op.rounding == 0   ? std::ceil(x - 0.5F)
                      : op.rounding == 1 ? std::floor(x + 0.5F)
                      : op.rounding == 2 ? std::floor(x)
                                         : std::ceil(x);
  const auto nearest = static_cast<std::uint32_t>(bounded(whole, size));
  return {nearest, nearest, 0};
}

/// Of a row of the input: the nearest one of those present.
std::uint32_t present(const isa::Resize& op, std::uint32_t row) {
  const std::int64_t local = std::int64_t{row} - op.in_first;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(local, 0, op.in_h - 1));
}

}  // namespace

void run(const isa::Resize& op, const std::uint8_t* in, std::uint8_t* out) {
  const std::uint32_t bytes = item_bytes(op.type);
  const std::size_t pixel = std::size_t{op.channels} * bytes;
  const Source source{.type = op.type};
  const Target target{.type = op.type};
  Chunk corner[4];
  for (std::uint32_t y = 0; y < op.out_h; ++y) {
    const Tap rows = tap_of(op, op.out_first + y, op.step_h, op.whole_h);
    const std::uint8_t* upper = in + std::size_t{present(op, rows.first)} * op.in_row;
    const std::uint8_t* lower = in + std::size_t{present(op, rows.second)} * op.in_row;
    for (std::uint32_t x = 0; x < op.out_w; ++x) {
      const Tap columns = tap_of(op, x, op.step_w, op.in_w);
      std::uint8_t* to = out + std::size_t{y} * op.out_row + x * pixel;
      if (op.linear == 0) {
        std::memmove(to, upper + columns.first * pixel, pixel);
        continue;
      }
      const std::uint8_t* const from[] = {
          upper + columns.first * pixel, upper + columns.second * pixel,
          lower + columns.first * pixel, lower + columns.second * pixel};
      const float right = columns.share;
      const float left = 1.0F - right;
      const float below = rows.share;
      const float above = 1.0F - below;
      in_chunks(op.channels, [&](std::uint32_t first, std::uint32_t count) {
        const std::size_t at = std::size_t{first} * bytes;
        for (std::size_t k = 0; k < 4; ++k)
          load(source, from[k] + at, bytes, count, corner[k].data());
        for (std::uint32_t i = 0; i < count; ++i) {
          const float top = corner[0][i] * left + corner[1][i] * right;
          const float bottom = corner[2][i] * left + corner[3][i] * right;
          corner[0][i] = top * above + bottom * below;
        }
        store(target, corner[0].data(), count, to + at, bytes);
      });
    }
  }
}

}  // namespace steppe::vector_kernels
