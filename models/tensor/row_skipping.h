// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/tensor/conv_kernel.h"
#include "models/tensor/tensor_timing.h"

namespace steppe {

/// What dual sparsity makes of a Conv whose values are known.
struct SkippedRows {
  std::uint64_t cycles = 0;  ///< of the array
  std::uint64_t rows = 0;    ///< activation rows (one K index of one column group) looked at
  std::uint64_t zero = 0;    ///< of them, zero in every column
};

/// Times a Conv whose engines skip the weights of activation rows that are zero in all columns in
/// flight, from its values; `weights` are its records. A weight is stored where its record says so,
/// be it zero or not; those behind K go with a row that is not zero. Only stored zeros count: a
/// zero point other than 0 hides them.
template <typename Item>
SkippedRows skip_rows(const isa::Conv& conv, const EngineShape& shape, const std::uint8_t* in,
                      const std::uint8_t* weights);

}  // namespace steppe
