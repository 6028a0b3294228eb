// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/net/net.h"
#include "workloads/schedule/schedule.h"

/// Which chips run which layers.
namespace steppe::schedule {

/// What of a layer each chip of a group does.
enum class Cut : std::uint8_t {
  none,     ///< all of it, on every chip
  columns,  ///< a Conv's output channels in parts, which the chips then give each other
  first,    ///< likewise; the parts stay where they are, for a `rows` Conv
  rows,     ///< a Conv's input channels in parts, the sums of which all chips add up
};

/// Layers [begin, end) of the network, which `chips` chips from `first_chip` on share.
struct Stage {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t first_chip = 0;
  double seconds = 0;  ///< estimate of one run, transfers included
};

struct PartitionPlan {
  std::uint32_t width = 1;     ///< chips of a stage
  std::uint32_t clusters = 1;  ///< of each chip, that take part
  std::uint32_t replicas = 1;  ///< copies of it all side by side, runs in turn
  std::vector<Stage> stages;
  std::vector<Cut> cuts;  ///< by layer
  /// From run to run: the slowest stage; with states, all of them; of the copies together.
  double seconds = 0;
};

/// Output channels that chip `part` of `parts` does of `channels`: whole blocks of 32, so that the
/// pattern of sparse weights behind them is kept.
struct ChannelRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  [[nodiscard]] std::uint32_t size() const { return end - begin; }
};
ChannelRange channels_of(std::uint32_t channels, std::uint32_t part, std::uint32_t parts);

/// The plans that `wanted` allows, by copies, chips a stage, stages (as many as can be, unless
/// automatic), and clusters that take part; those first that take least from run to run by the
/// cost model.
/// Throws ModelError where weights and states do not fit the chips' DRAM.
std::vector<PartitionPlan> partition(const net::Net& network, const Target& target,
                                     const Partition& wanted);

}  // namespace steppe::schedule
