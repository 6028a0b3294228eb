// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "models/isa/isa.h"

/// The arithmetic of the vector unit's instructions, following models/numerics/README.md. Pointers
/// are to the first element of each operand; the ranges that the instruction spans have been
/// checked.
namespace steppe::vector_kernels {

void run(const isa::Eltwise& op, const std::int8_t* a, const std::uint8_t* b, std::int8_t* out);
void run(const isa::Lut& op, const std::int8_t* in, const std::int8_t* table, std::int8_t* out);
void run(const isa::Pool& op, const std::int8_t* in, std::int8_t* out);
void run(const isa::Softmax& op, const std::int8_t* in, std::int8_t* out);
void run(const isa::LayerNorm& op, const std::int8_t* in, const std::uint8_t* affine,
         std::int8_t* out);
void run(const isa::Permute& op, const std::int8_t* in, std::int8_t* out);

}  // namespace steppe::vector_kernels
