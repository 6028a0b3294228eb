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

using Streams = std::map<QueueId, Stream>;

/// The streams of one chip's two programs.
struct ShardStreams {
  Streams init;
  Streams run;
};

/// Emits a planned shard.
///
/// Each queue takes the steps in order; where a cluster's queues read or write the same memory,
/// one waits for the other by a semaphore (dependencies.h). A barrier of all clusters stands only
/// in front of a step that reads rows of other clusters. Cluster 0's load queue streams tiles into
/// all clusters at once; each cluster's load queue brings in its inputs and its parts of caches,
/// the store queue exchanges rows and takes results out.
ShardStreams emit_shard(const net::Net& network, const ShardPlan& plan,
                        const std::vector<Transfer>& transfers);

/// Offsets of the ports' tensors in the input and output blocks of a run.
std::map<net::TensorId, std::uint64_t> block_offsets(const net::Net& network,
                                                     const std::vector<net::Port>& ports,
                                                     Bytes* total);

}  // namespace steppe::schedule
