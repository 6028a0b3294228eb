// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "models/base/units.h"
#include "models/isa/isa.h"

namespace steppe {

/// The engines of one cluster.
struct EngineShape {
  std::uint32_t engines = 8;
  std::uint32_t lanes = 16;    ///< output channels at a time
  std::uint32_t columns = 32;  ///< positions at a time
  Bytes l1_bytes = 58'982;     ///< of one engine
  Cycles start{16};            ///< from instruction to first multiplication
  Cycles drain{24};            ///< from last multiplication to last result
};

/// What a Conv instruction costs; see models/tensor/README.md for the microarchitecture behind it.
struct ConvCost {
  Cycles cycles;   ///< of the array, start and drain included
  Bytes read = 0;  ///< from the cluster's SRAM into the L1 buffers
  Bytes written = 0;
  std::uint64_t dense_macs = 0;
  std::uint64_t effective_macs = 0;  ///< that sparsity leaves
};
ConvCost conv_cost(const isa::Conv& conv, const EngineShape& shape);

}  // namespace steppe
