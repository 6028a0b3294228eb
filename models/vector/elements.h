// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>

namespace steppe::vector_kernels {

enum Type : std::uint32_t { int8, fp32, bf16, int32 };

constexpr std::uint32_t item_bytes(std::uint32_t type) {
  constexpr std::array<std::uint32_t, 4> bytes{1, 4, 2, 4};
  return bytes[type & 3];
}

/// Elements worked on together, so that inner loops are plain and turn into vector code.
constexpr std::uint32_t chunk = 128;
using Chunk = std::array<float, chunk>;

/// How the numbers of an operand are read.
struct Source {
  std::uint32_t type = int8;
  std::int32_t zero = 0;
  float scale = 1;
};

/// How results are written.
struct Target {
  std::uint32_t type = int8;
  std::int32_t zero = 0;
  float inverse = 1;
  std::int32_t low = -128, high = 127;                     ///< int8
  float lowest = -std::numeric_limits<float>::infinity();  ///< fp32, bf16
  float highest = std::numeric_limits<float>::infinity();
};

/// The values of `count` elements that lie `step` bytes apart.
void load(const Source& source, const std::uint8_t* from, std::int64_t step, std::uint32_t count,
          float* __restrict to);
/// The inverse.
void store(const Target& target, const float* __restrict from, std::uint32_t count,
           std::uint8_t* to, std::int64_t step);

template <typename T>
T read_as(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <typename T>
void write_as(std::uint8_t* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

/// Of an instruction with an operand `in` and a result `out`.
template <typename Op>
Source source_of(const Op& op) {
  return {op.in_type, op.in_zero, op.in_scale};
}
template <typename Op>
Target target_of(const Op& op) {
  return {.type = op.out_type, .zero = op.out_zero, .inverse = op.out_inverse};
}

/// Calls body(first, count) for the chunks of a row.
template <typename Body>
void in_chunks(std::uint32_t elements, Body body) {
  for (std::uint64_t first = 0; first < elements; first += chunk) {
    const std::uint64_t left = elements - first;
    body(static_cast<std::uint32_t>(first),
         static_cast<std::uint32_t>(left < chunk ? left : chunk));
  }
}

}  // namespace steppe::vector_kernels
