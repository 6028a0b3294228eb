// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "models/base/units.h"
#include "models/isa/isa.h"
#include "models/numerics/sparse.h"

namespace steppe {

/// The engines of one cluster.
struct EngineShape {
  std::uint32_t engines = 8;
  std::uint32_t lanes = 16;       ///< output channels at a time
  std::uint32_t columns = 32;     ///< positions at a time
  Bytes l1_bytes = 58'982;        ///< of one engine
  Cycles start{16};               ///< from instruction to first multiplication
  Cycles drain{24};               ///< from last multiplication to last result
  std::uint32_t lane_queue = 4;   ///< blocks that wait before a lane at most
  std::uint32_t bf16_cycles = 2;  ///< of a lane for one bf16 weight; an int8 one takes 1
  /// Weights that a lane's decoder brings in a cycle, at most 1, by numerics::Encoding.
  std::array<double, numerics::encodings> decode_rate{1, 1, 1};
  bool dual_sparsity = false;     ///< skip activation rows that are zero in all columns
  std::uint32_t skip_window = 4;  ///< weights that a lane looks past in a cycle at most
  double zero_rows = 0;           ///< share of such rows, where values are not known
};

/// The sizes that a Conv's costs follow from.
struct ConvSizes {
  ConvSizes(const isa::Conv& conv, const EngineShape& shape);

  std::uint64_t positions;
  std::uint64_t k;            ///< weights of an output channel
  std::uint64_t blocks;       ///< of 32 along K
  std::uint64_t lane_groups;  ///< over all groups
  std::uint64_t column_groups;
  std::uint64_t splits;  ///< parts of K that columns could share out; below 2: none
};

/// What a Conv's weights demand of the engines.
struct WeightLoad {
  std::uint64_t values = 0;  ///< stored, over all output channels
  std::uint64_t cycles = 0;  ///< of the array
};

/// Of weights that lie in blocks alike; bitmap records are taken to hold every weight.
WeightLoad balanced_load(const isa::Conv& conv, const EngineShape& shape);
/// Of a pattern; where that has a density alone, counts are drawn for it, the same ones each time.
/// The pattern has the Conv's channels and blocks.
WeightLoad pattern_load(const isa::Conv& conv, const EngineShape& shape,
                        const numerics::WeightPattern& pattern);

/// What a Conv instruction costs; see models/tensor/README.md for the microarchitecture behind it.
struct ConvCost {
  Cycles cycles;   ///< of the array, start and drain included
  Bytes read = 0;  ///< from the cluster's SRAM into the L1 buffers
  Bytes written = 0;
  std::uint64_t dense_macs = 0;
  std::uint64_t effective_macs = 0;  ///< of the weights stored
};
ConvCost conv_cost(const isa::Conv& conv, const EngineShape& shape, const WeightLoad& load);
inline ConvCost conv_cost(const isa::Conv& conv, const EngineShape& shape) {
  return conv_cost(conv, shape, balanced_load(conv, shape));
}

}  // namespace steppe
