// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/schedule/plan.h"

namespace steppe::schedule {

/// Alignment of tiles and caches in DRAM.
inline constexpr Bytes dram_alignment = 64;

/// Cuts the constants of a shard's layers into tiles, decides which stay in SRAM from run to run,
/// and places them behind the activations. Tiles that do not stay pass through two buffers in turn.
/// Throws ModelError where the SRAM left is too small for that.
void place_tiles(const net::Net& network, const Target& target, ShardPlan& plan);

/// The bytes of a tile, as they stand in DRAM. All constants of the layer have data.
std::vector<std::uint8_t> tile_bytes(const net::Net& network, const Tile& tile);

/// Bytes of the part of a DRAM-resident operand that one cluster's rows of a MatMul need, and where
/// it begins in the cache.
struct CachePart {
  std::uint64_t offset = 0;
  Bytes bytes = 0;
};
CachePart cache_part(const net::Net& network, const net::MatMul& matmul, const RowRange& work);

}  // namespace steppe::schedule
