// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/net/net.h"
#include "workloads/schedule/distribute.h"
#include "workloads/schedule/rows.h"

namespace steppe::schedule {

struct ShardPlan;

/// A tensor on its way from the chip that computes it to one that reads it.
struct Transfer {
  net::TensorId tensor = net::no_tensor;
  std::uint32_t layer = 0;  ///< that makes it
  std::uint32_t from_chip = 0;
  std::uint32_t to_chip = 0;

  // Set when the receiving chip is planned.
  std::uint32_t to_clusters = 0;     ///< take part there: each gets the rows that it owns
  std::uint64_t staging_offset = 0;  ///< where they land in each cluster's SRAM
  /// So many of those sent before it to that chip, the last ones, may not have been taken when it
  /// is sent: it lands where none of these lies.
  std::uint32_t untaken = 0;

  /// The rows that land in a cluster.
  [[nodiscard]] RowRange rows(const net::Net& network, std::uint32_t cluster) const {
    return owned_rows(network.tensor(tensor).shape.rows(), cluster, to_clusters);
  }
};

/// All transfers between chips, in the order of the layers that produce them: the order in which
/// one chip sends to another, and the other takes.
std::vector<Transfer> find_transfers(const Distribution& distribution);

/// Places what arrives at a chip whose steps are known; returns the bytes of each cluster's SRAM,
/// from 0 on. Tensors of one sender share room where, layer by layer of the whole card, one is
/// taken before the next but one of the run is made: a chip that waits for room waits for layers
/// that come earlier, and so no ring of chips can wait for each other.
Bytes place_staging(const net::Net& network, const ShardPlan& plan,
                    std::vector<Transfer>& transfers);

}  // namespace steppe::schedule
