// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/net/net.h"
#include "workloads/schedule/schedule.h"

namespace steppe::schedule {

/// Layers [begin, end) of the network, which one chip runs.
struct Stage {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  double seconds = 0;  ///< estimate of one run, transfers included
};

/// Time that a layer takes on one chip by a simple cost model: the longer of arithmetic and the
/// reading of its weights from DRAM (where `streamed`), and a fixed cost of synchronisation.
double estimate_seconds(const net::Net& network, const net::Layer& layer, const Target& target,
                        bool streamed);

/// Cuts the layers into at most target.chips stages so that the slowest is as fast as can be.
std::vector<Stage> partition(const net::Net& network, const Target& target);

/// The shape of a Conv's weight records.
numerics::RecordShape record_shape(const net::Net& network, const net::Conv& conv);

/// About the bytes of a Conv's weight records and scale pairs.
Bytes weight_bytes(const net::Net& network, const net::Conv& conv);

}  // namespace steppe::schedule
