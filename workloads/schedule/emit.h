// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "models/isa/isa.h"
#include "workloads/schedule/plan.h"
#include "workloads/schedule/stream.h"

namespace steppe::schedule {

/// A queue of a chip: its kind and cluster (0 for link queues).
using QueueId = std::pair<std::uint32_t, isa::QueueKind>;

/// The streams of one chip's two programs.
struct ShardStreams {
  std::map<QueueId, Stream> init;
  std::map<QueueId, Stream> run;
};

/// Emits a planned shard.
///
/// The clusters go through the steps together. A cluster's store queue leads it: it waits for the
/// barrier of the step before, fetches from its neighbours the rows that the step needs, and starts
/// the queue that does the work, whose last instruction gives one token to every leader's barrier.
/// The load queues run ahead of all that: cluster 0's fills the two buffers for streamed tiles, in
/// all clusters at once, and each fills two buffers with its cluster's parts of caches.
ShardStreams emit_shard(const net::Net& network, const ShardPlan& plan,
                        const std::vector<Transfer>& transfers);

/// Offsets of the ports' tensors in the input and output blocks of a run.
std::map<net::TensorId, std::uint64_t> block_offsets(const net::Net& network,
                                                     const std::vector<net::Port>& ports,
                                                     Bytes* total);

}  // namespace steppe::schedule
