// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "workloads/net/net.h"
#include "workloads/schedule/distribute.h"
#include "workloads/schedule/rows.h"
#include "workloads/schedule/schedule.h"
#include "workloads/schedule/transfers.h"

namespace steppe::schedule {

/// Rows of a tensor that a cluster fetches from the one that owns them.
struct Gather {
  net::TensorId tensor = net::no_tensor;
  std::uint32_t cluster = 0;
  std::uint32_t owner = 0;
  RowRange rows;
};

/// What the clusters of a chip do next.
struct Step {
  enum class Kind : std::uint8_t {
    receive,      ///< wait until a transfer has arrived in its staging buffers
    import,       ///< copy each cluster's window from the staging buffers or the host's input block
    compute,      ///< run a layer on the tensor or vector queues
    cache_store,  ///< append rows to a DRAM-resident tensor
    send,         ///< copy a tensor to another chip and tell it
    output,       ///< copy a tensor to the host's output block
  };
  Kind kind = Kind::compute;
  std::uint32_t layer = 0;                ///< compute, cache_store: index in the network
  net::TensorId tensor = net::no_tensor;  ///< the others
  std::uint32_t transfer = 0;             ///< receive, import, send: index in the list of transfers
  bool from_host = false;                 ///< import
  double seconds = 0;                     ///< compute: estimate
  std::vector<Gather> gathers;            ///< compute: before the work
  bool barrier = false;  ///< what other clusters did in front of it has to have ended
};

/// One tensor's place in the clusters' SRAM: at the same offset in each, with rows of its own in
/// each.
struct Window {
  std::vector<RowRange> rows;  ///< by cluster; owned and read from neighbours
  std::uint64_t offset = 0;
  Bytes bytes = 0;  ///< of the largest cluster's rows
  std::uint32_t first_step = 0;
  std::uint32_t last_step = 0;
};

/// The constants of a layer, or of a range of a Conv's output channels, as one run of bytes in
/// DRAM.
struct Tile {
  std::uint32_t layer = 0;
  std::uint32_t channel_begin = 0;  ///< Conv: output channels
  std::uint32_t channel_end = 0;
  Bytes bytes = 0;
  std::uint64_t scales_offset = 0;  ///< within the tile, where there are any
  std::uint64_t lut_offset = 0;
  std::uint32_t pattern = 0;  ///< number of its weight pattern in the shard's list, 0 for none
  std::uint64_t dram_offset = 0;
  bool resident = false;          ///< loaded once, by the init program
  std::uint64_t sram_offset = 0;  ///< of a resident tile
};

/// All decisions for one chip.
struct ShardPlan {
  std::uint32_t chip = 0;
  std::vector<std::uint32_t> layers;  ///< of the network, rising
  std::uint32_t participants = 1;     ///< clusters that take part, from cluster 0
  /// Each cluster does its rows of a layer in so many parts, so that tensor and vector queue can
  /// work on different parts at the same time.
  std::uint32_t chunks = 1;
  std::uint32_t lead = 0;  ///< steps that one part may be ahead of another
  std::vector<Step> steps;
  std::map<net::TensorId, Window> windows;
  std::vector<Tile> tiles;                                       ///< in layer order
  std::vector<package::WeightPattern> patterns;                  ///< of tiles with bitmap records
  std::map<std::uint32_t, std::vector<std::uint32_t>> tiles_of;  ///< by layer, indices into tiles
  std::uint64_t stream_buffer_offset = 0;  ///< two buffers for tiles that are not resident
  Bytes stream_buffer_bytes = 0;
  std::uint64_t cache_buffer_offset = 0;  ///< two buffers for a cluster's parts of caches
  Bytes cache_buffer_bytes = 0;
  std::map<net::TensorId, std::uint64_t> cache_offset;  ///< of DRAM-resident tensors, in DRAM
  Bytes weight_bytes = 0;                               ///< of all tiles
  Bytes resident_bytes = 0;
  Bytes dram_bytes = 0;  ///< tiles and caches; streams follow
  Bytes peak_sram_bytes = 0;

  [[nodiscard]] RowRange owned(const net::Net& network, net::TensorId tensor,
                               std::uint32_t cluster) const;
  /// One of the parts of the rows that a cluster owns.
  [[nodiscard]] RowRange chunk(const net::Net& network, net::TensorId tensor, std::uint32_t cluster,
                               std::uint32_t part) const;
  /// The rows of the layer's work that a cluster does.
  [[nodiscard]] RowRange work(const net::Net& network, const net::Layer& layer,
                              std::uint32_t cluster) const;
};

/// Plans one chip; places the transfers that end there.
ShardPlan plan_shard(const Distribution& distribution, const Target& target, std::uint32_t chip,
                     std::vector<Transfer>& transfers);

/// The tensor whose rows a layer's work is split by: its output, or what a CacheStore stores.
net::TensorId work_tensor(const net::Layer& layer);

}  // namespace steppe::schedule
