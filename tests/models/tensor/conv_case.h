// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "models/isa/isa.h"
#include "models/tensor/conv_kernel.h"

namespace steppe::test {

using Random = std::mt19937;

/// A number from low to high, both included.
inline std::uint32_t draw(Random& random, std::uint32_t low, std::uint32_t high) {
  return low + static_cast<std::uint32_t>(random() % (high - low + 1));
}

/// A Conv and the memory that its operands lie in; offsets count from the memory's start.
struct ConvCase {
  isa::Conv conv;
  std::vector<std::uint8_t> memory;

  [[nodiscard]] std::uint32_t k() const { return conv.kernel_h * conv.kernel_w * conv.in_c; }
  [[nodiscard]] std::uint32_t blocks() const { return (k() + 31) / 32; }
};

/// A plain Conv of the given sizes: stride 1, one group, dense, multiplier-independent fields
/// neutral. Output sizes follow from the input's and "same" padding of an odd kernel.
isa::Conv same_conv(std::uint32_t height, std::uint32_t width, std::uint32_t in_c,
                    std::uint32_t out_c, std::uint32_t kernel, std::uint32_t ratio_log2);

/// Sets the encoding of block-balanced weights: 1 in 2^ratio_log2, 0 is dense.
void set_ratio(isa::Conv& conv, std::uint32_t ratio_log2);

/// Bytes of an input or weight, and of a result.
std::uint32_t in_bytes(const isa::Conv& conv);
std::uint32_t out_bytes(const isa::Conv& conv);

/// Sets the pitches of `conv` to the tightest plus a random slack below `slack`, gives every
/// operand a place, and fills the memory with random bytes, well-formed weight records, and pairs
/// whose results use the whole int8 range.
ConvCase place(Random& random, isa::Conv conv, std::uint32_t slack);

/// A small Conv with every field drawn, in memory.
ConvCase random_case(Random& random);

/// Pointers to the operands of a case.
ConvOperands operands_of(ConvCase& conv_case);

/// The memory after the instruction, computed from models/numerics/README.md one element at a time.
std::vector<std::uint8_t> reference(const ConvCase& conv_case);

}  // namespace steppe::test
