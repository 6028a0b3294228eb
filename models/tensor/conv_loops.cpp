// SPDX-License-Identifier: Apache-2.0
#include "models/tensor/conv_loops.h"

#include <cstring>

namespace steppe::conv_loops {
namespace {

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define STEPPE_VECTOR_CODE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define STEPPE_VECTOR_CODE
#endif

// Vectors by name: left to itself the compiler jams two weights into one scalar loop here.
using Halves16 = std::int16_t __attribute__((vector_size(32)));
using Words16 = std::uint32_t __attribute__((vector_size(64)));
using Floats16 = float __attribute__((vector_size(64)));
constexpr std::uint32_t vectors = tile / 16;

}  // namespace

STEPPE_VECTOR_CODE
void accumulate(const numerics::SparseWeight<std::int8_t>* weight,
                const numerics::SparseWeight<std::int8_t>* end, const std::int16_t* activations,
                std::uint32_t* sums) {
  Words16 local[vectors];
  std::memcpy(local, sums, sizeof local);
  for (; weight != end; ++weight) {
    const std::int16_t* row = activations + std::size_t{weight->k} * tile;
    const auto value = static_cast<std::uint32_t>(std::int32_t{weight->value});
    for (std::uint32_t v = 0; v < vectors; ++v) {
      Halves16 halves;
      std::memcpy(&halves, row + std::size_t{v} * 16, sizeof halves);
      local[v] += value * __builtin_convertvector(halves, Words16);
    }
  }
  std::memcpy(sums, local, sizeof local);
}

STEPPE_VECTOR_CODE
void accumulate(const numerics::SparseWeight<numerics::Bf16>* weight,
                const numerics::SparseWeight<numerics::Bf16>* end, const float* activations,
                float* sums) {
  Floats16 local[vectors];
  std::memcpy(local, sums, sizeof local);
  for (; weight != end; ++weight) {
    const float* row = activations + std::size_t{weight->k} * tile;
    const float value = numerics::to_float(weight->value);
    for (std::uint32_t v = 0; v < vectors; ++v) {
      Floats16 some;
      std::memcpy(&some, row + std::size_t{v} * 16, sizeof some);
      local[v] += value * some;
    }
  }
  std::memcpy(sums, local, sizeof local);
}

STEPPE_VECTOR_CODE
void scale(const std::uint32_t* sums, float multiplier, float* values) {
  for (std::uint32_t p = 0; p < tile; ++p) {
    values[p] = static_cast<float>(static_cast<std::int32_t>(sums[p])) * multiplier;
  }
}

STEPPE_VECTOR_CODE
void scale(const float* sums, float multiplier, float* values) {
  for (std::uint32_t p = 0; p < tile; ++p) values[p] = sums[p] * multiplier;
}

STEPPE_VECTOR_CODE
void requantise(const float* values, const numerics::StoreRule& rule, std::int8_t* out) {
  for (std::uint32_t p = 0; p < tile; ++p) out[p] = numerics::store(values[p], rule);
}

}  // namespace steppe::conv_loops
