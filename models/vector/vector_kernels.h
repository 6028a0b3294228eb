// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "models/isa/isa.h"

/// The arithmetic of the vector unit's instructions, following models/numerics/README.md. Pointers
/// are to the first element of each operand, null where it is not used; the ranges that the
/// instruction spans have been checked.
namespace steppe::vector_kernels {

void run(const isa::Map& op, const std::uint8_t* a, const std::uint8_t* b, const std::uint8_t* c,
         std::uint8_t* out);
void run(const isa::Lut& op, const std::uint8_t* in, const std::uint8_t* table, std::uint8_t* out);
void run(const isa::Pool& op, const std::uint8_t* in, std::uint8_t* out);
void run(const isa::Softmax& op, const std::uint8_t* in, std::uint8_t* out);
void run(const isa::Norm& op, const std::uint8_t* in, const std::uint8_t* affine,
         std::uint8_t* out);
void run(const isa::Permute& op, const std::uint8_t* in, std::uint8_t* out);
void run(const isa::Reduce& op, const std::uint8_t* in, std::uint8_t* out);
void run(const isa::Resize& op, const std::uint8_t* in, std::uint8_t* out);
/// Both return how many indices lay outside the table.
std::uint32_t run(const isa::Gather& op, const std::uint8_t* in, const std::uint8_t* indices,
                  std::uint8_t* out);
std::uint32_t run(const isa::Scatter& op, const std::uint8_t* in, const std::uint8_t* indices,
                  std::uint8_t* out);
void run(const isa::TopK& op, const std::uint8_t* in, std::uint8_t* out, std::uint8_t* indices);

}  // namespace steppe::vector_kernels
