// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "models/isa/isa.h"
#include "workloads/schedule/plan.h"

namespace steppe::schedule {

/// Where a layer's constants lie in a cluster's SRAM while it runs (local chip addresses).
struct Operands {
  const Tile* tile = nullptr;  ///< null where the layer has no constants
  std::uint64_t tile_address = 0;
  std::uint64_t cache_address =
      0;  ///< MatMul with a DRAM-resident operand: its part for this cluster
};

/// The local chip address of a row of a tensor in a cluster's SRAM.
std::uint64_t row_address(const net::Net& network, const ShardPlan& plan, net::TensorId tensor,
                          std::uint32_t cluster, std::uint64_t row);

/// The queue that computes a layer.
isa::QueueKind runs_on(const net::Layer& layer);

/// The operations by which one cluster does some rows of a layer, for the channels of one tile.
std::vector<isa::Operation> layer_operations(const net::Net& network, const ShardPlan& plan,
                                             const net::Layer& layer, std::uint32_t cluster,
                                             const RowRange& rows, const Operands& operands);

}  // namespace steppe::schedule
