// SPDX-License-Identifier: Apache-2.0
#include "models/vector/elements.h"

#include <algorithm>
#include <cmath>

#include "models/numerics/bf16.h"
#include "models/numerics/numerics.h"

namespace steppe::vector_kernels {
namespace {

template <typename Item, typename Convert>
void load_items(const std::uint8_t* from, std::int64_t step, std::uint32_t count,
                float* __restrict to, Convert convert) {
  if (step == sizeof(Item)) {
    for (std::uint32_t i = 0; i < count; ++i)
      to[i] = convert(read_as<Item>(from + std::size_t{i} * sizeof(Item)));
  } else if (step == 0) {
    std::fill_n(to, count, convert(read_as<Item>(from)));
  } else {
    for (std::uint32_t i = 0; i < count; ++i)
      to[i] = convert(read_as<Item>(from + std::int64_t{i} * step));
  }
}

template <typename Item, typename Convert>
void store_items(const float* __restrict from, std::uint32_t count, std::uint8_t* to,
                 std::int64_t step, Convert convert) {
  if (step == sizeof(Item)) {
    std::array<Item, chunk> items;  // apart from memory, so that the loop turns into vector code
    for (std::uint32_t i = 0; i < count; ++i) items[i] = convert(from[i]);
    std::memcpy(to, items.data(), count * sizeof(Item));
  } else {
    for (std::uint32_t i = 0; i < count; ++i)
      write_as<Item>(to + std::int64_t{i} * step, convert(from[i]));
  }
}

std::int32_t to_int32(float value) {
  const float whole = std::nearbyint(value);
  if (!(whole >= -0x1p31F)) return std::numeric_limits<std::int32_t>::min();
  if (whole >= 0x1p31F) return std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(whole);
}

}  // namespace

void load(const Source& source, const std::uint8_t* from, std::int64_t step, std::uint32_t count,
          float* __restrict to) {
  const std::int32_t zero = source.zero;
  const float scale = source.scale;
  switch (source.type) {
    case int8:
      return load_items<std::int8_t>(from, step, count, to, [=](std::int8_t q) {
        return static_cast<float>(q - zero) * scale;
      });
    case fp32:
      return load_items<float>(from, step, count, to, [](float x) { return x; });
    case bf16:
      return load_items<numerics::Bf16>(from, step, count, to,
                                        [](numerics::Bf16 x) { return numerics::to_float(x); });
    default:
      return load_items<std::int32_t>(
          from, step, count, to, [=](std::int32_t q) { return static_cast<float>(q) * scale; });
  }
}

void store(const Target& target, const float* __restrict from, std::uint32_t count,
           std::uint8_t* to, std::int64_t step) {
  const numerics::StoreRule rule{target.zero, target.low, target.high};
  const float inverse = target.inverse;
  const float lowest = target.lowest;
  const float highest = target.highest;
  const auto bounded = [=](float value) {
    const float raised = value < lowest ? lowest : value;
    return numerics::canonical(raised > highest ? highest : raised);
  };
  switch (target.type) {
    case int8:
      return store_items<std::int8_t>(from, count, to, step, [=](float value) {
        return numerics::store(value * inverse, rule);
      });
    case fp32:
      return store_items<float>(from, count, to, step, bounded);
    case bf16:
      return store_items<numerics::Bf16>(
          from, count, to, step, [=](float value) { return numerics::to_bf16(bounded(value)); });
    default:
      return store_items<std::int32_t>(from, count, to, step,
                                       [=](float value) { return to_int32(value * inverse); });
  }
}

}  // namespace steppe::vector_kernels
