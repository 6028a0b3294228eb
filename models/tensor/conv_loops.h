// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "models/numerics/numerics.h"
#include "models/numerics/sparse.h"

/// The inner loops of the tensor engines' arithmetic over one tile of output positions. Compiled
/// for several instruction sets, the processor's best is taken when the program starts; all give
/// the same bits.
namespace steppe::conv_loops {

/// Positions computed together.
inline constexpr std::uint32_t tile = 32;

/// sums[p] += sum over the weights, in order, of value * activations[k][p]; sums wrap.
void accumulate(const numerics::SparseWeight<std::int8_t>* weight,
                const numerics::SparseWeight<std::int8_t>* end, const std::int16_t* activations,
                std::uint32_t* sums);
/// The same in fp32, each product and each addition rounded.
void accumulate(const numerics::SparseWeight<numerics::Bf16>* weight,
                const numerics::SparseWeight<numerics::Bf16>* end, const float* activations,
                float* sums);

/// values[p] = float(sums[p]) * multiplier, the sums as two's complement.
void scale(const std::uint32_t* sums, float multiplier, float* values);
void scale(const float* sums, float multiplier, float* values);

/// out[p] = store(values[p])
void requantise(const float* values, const numerics::StoreRule& rule, std::int8_t* out);

}  // namespace steppe::conv_loops
