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

/// Seconds that a layer keeps one chip, target.clusters of which take part: the longer of
/// arithmetic and, where `streamed`, the reading of its weights from DRAM, and a fixed cost of
/// synchronisation. `share`: the part of its output channels, or of its sums, that the chip does.
double layer_seconds(const net::Net& network, const net::Layer& layer, const Target& target,
                     bool streamed, double share = 1);

/// What a layer asks at least of a chip's resources, and what these could do in that time.
struct LayerBound {
  double tensor = 0;  ///< seconds of all engines: the weights stored, at one each cycle and lane
  double vector = 0;  ///< seconds of all vector units: lanes, special functions, bytes permuted
  double dram = 0;    ///< seconds of the DRAM: weights and states read in a run
};
/// By the target's peaks alone. `dram_bytes`: what a run reads for the layer.
LayerBound layer_bound(const net::Net& network, const net::Layer& layer, const Target& target,
                       Bytes dram_bytes);

/// Seconds that it takes a chip to send a tensor to another one: a copy from each cluster that has
/// rows of it, one after the other, and the notes that it is there and was taken.
double transfer_seconds(const net::Shape& shape, Bytes bytes, const Target& target, const Way& way);

}  // namespace steppe::schedule
