// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/net/net.h"
#include "workloads/schedule/partition.h"

namespace steppe::schedule {

/// The network of the whole card: every chip's layers, products cut where the plan says so.
struct Distribution {
  net::Net network;
  std::vector<std::vector<std::uint32_t>> layers;  ///< by chip, rising
};

/// Gives every chip of a stage a copy of the stage's layers and tensors ("NAME@CHIP" but for the
/// first chip of a stage). Of Convs with cut channels each does a part; Permutes put the parts
/// together, or Maps add the fp32 sums up, on each chip. Sums in parts round otherwise than the
/// whole ones: the results are those of the network returned.
Distribution distribute(const net::Net& network, const PartitionPlan& plan);

}  // namespace steppe::schedule
