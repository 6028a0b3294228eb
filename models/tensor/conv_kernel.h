// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/isa/isa.h"
#include "models/numerics/numerics.h"

namespace steppe {

/// Pointers to a Conv's operands; the ranges that the instruction spans have been checked.
struct ConvOperands {
  const std::int8_t* in = nullptr;
  const std::uint8_t* weights = nullptr;
  const std::uint8_t* scales = nullptr;
  std::uint8_t* out = nullptr;
  const std::int8_t* residual = nullptr;
  const std::int8_t* lut = nullptr;
};

/// Computes Conv instructions, following models/numerics/README.md. Keeps its buffers between
/// calls.
class ConvKernel {
 public:
  void run(const isa::Conv& conv, const ConvOperands& operands);

  /// Positions computed together.
  static constexpr std::uint32_t tile = 32;

 private:
  /// An output position: where its window starts, and the bytes from the operands' starts to it.
  struct Position {
    std::int64_t row;
    std::int64_t column;
    std::size_t out;
    std::size_t residual;
  };

  void decode_weights(const isa::Conv& conv, const ConvOperands& operands);
  void locate(const isa::Conv& conv, std::uint32_t first, std::uint32_t count);
  void gather(const isa::Conv& conv, const ConvOperands& operands, std::uint32_t group);
  void finish(const isa::Conv& conv, const ConvOperands& operands, std::uint32_t channel,
              const std::int32_t* sums) const;

  std::vector<numerics::SparseWeight> weights_;
  std::vector<std::size_t> first_weight_;  ///< by output channel, and one more for the end
  std::vector<Position> positions_;        ///< those of the tile under work
  std::vector<std::int16_t> activations_;  ///< [k][tile]
};

}  // namespace steppe
