// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "workloads/net/net.h"
#include "workloads/schedule/schedule.h"

/// What layers and exchanges take, for decisions alone: the simulator says what they really take.
namespace steppe::schedule {

/// The shape of a Conv's weight records.
numerics::RecordShape record_shape(const net::Net& network, const net::Conv& conv);
/// About the bytes of a Conv's weight records and scale pairs.
Bytes weight_bytes(const net::Net& network, const net::Conv& conv);

/// Seconds that a layer keeps one chip: the longer of arithmetic and, where `streamed`, the reading
/// of its weights from DRAM, and a fixed cost of synchronisation. `share`: the part of its output
/// channels, or of its sums, that the chip does.
double layer_seconds(const net::Net& network, const net::Layer& layer, const Target& target,
                     bool streamed, double share = 1);

/// Seconds until each of `chips` has what every other one sent it, `bytes` from each.
double exchange_seconds(Bytes bytes, std::uint32_t chips, const Target& target);

}  // namespace steppe::schedule
