// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <vector>

#include "models/numerics/bf16.h"
#include "models/vector/elements.h"
#include "models/vector/vector_kernels.h"

namespace steppe::vector_kernels {
namespace {

/// The element as a number that keeps order: binary64 holds every int32, too.
double key(std::uint32_t type, const std::uint8_t* from) {
  switch (type) {
    case int8:
      return read_as<std::int8_t>(from);
    case fp32:
      return read_as<float>(from);
    case bf16:
      return numerics::to_float(read_as<numerics::Bf16>(from));
    default:
      return read_as<std::int32_t>(from);
  }
}

}  // namespace

void run(const isa::TopK& op, const std::uint8_t* in, std::uint8_t* out, std::uint8_t* indices) {
  const std::uint32_t bytes = item_bytes(op.type);
  std::vector<std::uint8_t> items(std::size_t{op.elements} * bytes);
  std::vector<double> keys(op.elements);
  std::vector<std::uint32_t> order(op.elements);
  const double sign = op.smallest != 0 ? 1 : -1;
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    const double x = keys[a];
    const double y = keys[b];
    if (x != x || y != y) return x == x || (y != y && a < b);  // NaN comes last
    return x < y || (x == y && a < b);
  };
  for (std::uint32_t row = 0; row < op.rows; ++row) {
    std::memcpy(items.data(), in + std::size_t{row} * op.in_pitch, items.size());
    for (std::uint32_t i = 0; i < op.elements; ++i)
      keys[i] = sign * key(op.type, items.data() + std::size_t{i} * bytes);
    std::iota(order.begin(), order.end(), 0U);
    std::partial_sort(order.begin(), order.begin() + op.k, order.end(), before);
    for (std::uint32_t i = 0; i < op.k; ++i) {
      std::memcpy(out + std::size_t{row} * op.out_pitch + std::size_t{i} * bytes,
                  items.data() + std::size_t{order[i]} * bytes, bytes);
      write_as(indices + std::size_t{row} * op.index_pitch + std::size_t{i} * 4, order[i]);
    }
  }
}

}  // namespace steppe::vector_kernels
