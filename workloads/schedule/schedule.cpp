// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/schedule.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include "models/base/error.h"
#include "workloads/schedule/cost.h"
#include "workloads/schedule/distribute.h"
#include "workloads/schedule/emit.h"
#include "workloads/schedule/partition.h"
#include "workloads/schedule/plan.h"
#include "workloads/schedule/tiles.h"

namespace steppe::schedule {
namespace {

using Buffers = std::deque<std::vector<std::uint8_t>>;

/// The parts of a package keep views into these.
struct Storage {
  Buffers buffers;
};

std::span<const std::uint8_t> keep(Storage& storage, std::vector<std::uint8_t> bytes) {
  return storage.buffers.emplace_back(std::move(bytes));
}

std::vector<package::Port> make_ports(const net::Net& network, const std::vector<net::Port>& ports,
                                      Bytes& block_bytes) {
  const auto offsets = block_offsets(network, ports, &block_bytes);
  std::vector<package::Port> result;
  for (const net::Port& port : ports) {
    const net::Tensor& tensor = network.tensor(port.tensor);
    result.push_back({.name = port.name,
                      .dims = port.dims,
                      .to_card = port.to_card,
                      .type = static_cast<package::ElementType>(tensor.type),
                      .scale = tensor.quant.scale,
                      .zero = tensor.quant.zero,
                      .user = static_cast<package::UserType>(port.user),
                      .offset = offsets.at(port.tensor),
                      .bytes = tensor.bytes()});
  }
  return result;
}

package::Segment weights_segment(const net::Net& network, const ShardPlan& plan, bool timing_only,
                                 Storage& storage) {
  package::Segment segment{.kind = package::SegmentKind::weights, .name = "weights"};
  if (plan.tiles.empty()) return segment;
  segment.bytes = plan.tiles.back().dram_offset + plan.tiles.back().bytes;
  if (timing_only) return segment;
  std::vector<std::uint8_t> bytes(segment.bytes);
  for (const Tile& tile : plan.tiles) {
    const std::vector<std::uint8_t> part = tile_bytes(network, tile);
    std::ranges::copy(part, bytes.begin() + static_cast<std::ptrdiff_t>(tile.dram_offset));
  }
  segment.data = keep(storage, std::move(bytes));
  return segment;
}

/// Appends the streams of a program to a segment of the shard.
package::Program place_program(const std::map<QueueId, Stream>& streams, std::uint64_t dram_base,
                               std::vector<std::uint8_t>& segment) {
  package::Program program;
  for (const auto& [queue, stream] : streams) {
    const std::vector<std::uint8_t> bytes = stream.encode();
    program.streams.push_back({.queue = queue.second,
                               .cluster = queue.first,
                               .dram_offset = dram_base + segment.size(),
                               .bytes = bytes.size()});
    segment.insert(segment.end(), bytes.begin(), bytes.end());
    segment.resize(align_up<std::size_t>(segment.size(), dram_alignment));
  }
  return program;
}

package::Shard make_shard(const net::Net& network, const ShardPlan& plan,
                          const std::vector<Transfer>& transfers, const Target& target,
                          const Options& options, Storage& storage) {
  package::Shard shard{.chip = plan.chip};
  const package::Segment weights = weights_segment(network, plan, options.timing_only, storage);
  if (weights.bytes != 0) shard.segments.push_back(weights);

  shard.patterns = plan.patterns;

  const ShardStreams streams = emit_shard(network, plan, transfers);
  const std::uint64_t base = align_up<std::uint64_t>(plan.dram_bytes, 4096);
  std::vector<std::uint8_t> bytes;
  shard.init = place_program(streams.init, base, bytes);
  shard.run = place_program(streams.run, base, bytes);
  if (base + bytes.size() > target.dram_bytes) {
    throw ModelError("chip {}: {} bytes of weights and streams do not fit its DRAM of {}",
                     plan.chip, base + bytes.size(), target.dram_bytes);
  }
  package::Segment segment{.kind = package::SegmentKind::stream,
                           .name = "streams",
                           .dram_offset = base,
                           .bytes = bytes.size()};
  segment.data = keep(storage, std::move(bytes));
  shard.segments.push_back(segment);
  return shard;
}

void count_macs(const net::Net& network, package::Package& package) {
  for (const net::Layer& layer : network.layers) {
    const std::uint64_t macs = net::dense_macs(network, layer);
    const auto* conv = std::get_if<net::Conv>(&layer.op);
    package.dense_macs += macs;
    const double stored = conv != nullptr ? conv->sparsity.stored() : 1.0;
    package.effective_macs +=
        static_cast<std::uint64_t>(std::llround(static_cast<double>(macs) * stored));
  }
}

/// All decisions for a card.
struct Planned {
  PartitionPlan partition;
  Distribution distribution;
  std::vector<Transfer> transfers;
  std::vector<ShardPlan> shards;
};

/// What each layer asks for at least.
std::vector<LayerReport> bounds(const Planned& planned, const Target& target) {
  const net::Net& network = planned.distribution.network;
  std::vector<LayerReport> result(network.layers.size());
  for (const ShardPlan& plan : planned.shards) {
    std::vector<Bytes> read(network.layers.size());
    for (const Tile& tile : plan.tiles) {
      if (!tile.resident) read[tile.layer] += tile.bytes;
    }
    for (const std::uint32_t i : plan.layers) {
      const net::Layer& layer = network.layers[i];
      for (const net::TensorId in : net::inputs_of(layer)) {
        if (network.tensor(in).resident_in_dram) read[i] += network.tensor(in).bytes();
      }
      const LayerBound bound = layer_bound(network, layer, target, read[i]);
      result[i] = {plan.chip, bound.tensor, bound.vector, bound.dram};
    }
  }
  return result;
}

/// The first of the partitions whose activations fit the SRAM.
Planned plan_card(const net::Net& network, const Target& target, const Partition& wanted) {
  const std::vector<PartitionPlan> candidates = partition(network, target, wanted);
  for (std::size_t i = 0;; ++i) {
    Planned planned{.partition = candidates[i], .distribution = distribute(network, candidates[i])};
    Target used = target;
    used.clusters = planned.partition.clusters;
    planned.transfers = find_transfers(planned.distribution);
    try {
      for (std::uint32_t chip = 0; chip < planned.distribution.layers.size(); ++chip) {
        if (planned.distribution.layers[chip].empty()) continue;
        if (planned.partition.replicas > 1 && planned.shards.size() != chip) {
          throw ModelError("--copies: a chip in front of chip {} of a copy has nothing to do",
                           chip);
        }
        planned.shards.push_back(plan_shard(planned.distribution, used, chip, planned.transfers));
      }
      return planned;
    } catch (const ModelError&) {
      if (i + 1 == candidates.size()) throw;
    }
  }
}

}  // namespace

package::Package empty_package(const std::string& model, const Target& target) {
  return {.model = model,
          .compiler = "steppe",
          .target = {.platform = target.platform,
                     .chips = target.chips,
                     .clusters = target.clusters,
                     .sram_bytes = target.sram_bytes}};
}

package::Package compile(const net::Net& whole, const Target& target, const Options& options,
                         Report* report) {
  net::check(whole);
  const Planned planned = plan_card(whole, target, options.partition);
  const net::Net& network = planned.distribution.network;
  auto storage = std::make_shared<Storage>();
  package::Package package = empty_package(network.name, target);
  package.timing_only = options.timing_only;
  package.batch = options.batch;
  package.replicas = planned.partition.replicas;
  package.stateful =
      std::ranges::any_of(network.tensors, [](const net::Tensor& t) { return t.resident_in_dram; });
  package.inputs = make_ports(network, network.inputs, package.input_block_bytes);
  package.outputs = make_ports(network, network.outputs, package.output_block_bytes);
  count_macs(whole, package);
  for (const net::Layer& layer : network.layers) {
    package.debug.push_back({.layer = layer.name, .nodes = layer.nodes});
  }

  for (const ShardPlan& plan : planned.shards) {
    package.shards.push_back(
        make_shard(network, plan, planned.transfers, target, options, *storage));
    const package::Segment& last = package.shards.back().segments.back();
    package.target.dram_bytes = std::max(package.target.dram_bytes, last.dram_offset + last.bytes);
    if (report != nullptr) {
      report->shards.push_back({.chip = plan.chip,
                                .first_layer = network.layers[plan.layers.front()].name,
                                .last_layer = network.layers[plan.layers.back()].name,
                                .layers = static_cast<std::uint32_t>(plan.layers.size()),
                                .weight_bytes = plan.weight_bytes,
                                .resident_bytes = plan.resident_bytes,
                                .peak_sram_bytes = plan.peak_sram_bytes});
    }
  }
  for (const Transfer& transfer : planned.transfers) {
    package.channels.push_back({.tensor = network.tensor(transfer.tensor).name,
                                .from_chip = transfer.from_chip,
                                .to_chip = transfer.to_chip,
                                .bytes = network.tensor(transfer.tensor).bytes()});
  }
  package.storage = storage;
  if (report != nullptr) {
    report->layers = bounds(planned, target);
    report->stages = planned.partition.stages.size();
    report->chips_a_stage = planned.partition.width;
    report->replicas = planned.partition.replicas;
    report->clusters = planned.partition.clusters;
    report->network = planned.distribution.network;
  }
  return package;
}

}  // namespace steppe::schedule
