// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/emit.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "models/base/address.h"
#include "models/base/error.h"
#include "workloads/schedule/allocate.h"
#include "workloads/schedule/operations.h"
#include "workloads/schedule/tiles.h"

namespace steppe::schedule {
namespace {

using isa::QueueKind;

/// Semaphores of a chip. Each cluster has eight, then come those of the link queues and transfers.
namespace semaphore {
constexpr std::uint32_t barrier(std::uint32_t cluster) { return cluster * 8 + 0; }
constexpr std::uint32_t tensor_go(std::uint32_t cluster) { return cluster * 8 + 1; }
constexpr std::uint32_t vector_go(std::uint32_t cluster) { return cluster * 8 + 2; }
constexpr std::uint32_t tile_full(std::uint32_t cluster) { return cluster * 8 + 3; }
constexpr std::uint32_t cache_ready(std::uint32_t cluster) { return cluster * 8 + 4; }
constexpr std::uint32_t cache_full(std::uint32_t cluster) { return cluster * 8 + 5; }
constexpr std::uint32_t cache_free(std::uint32_t cluster) { return cluster * 8 + 6; }
/// One for each of the two buffers: a cluster that is done with the next tile already must not be
/// taken for one that is done with this.
constexpr std::uint32_t tile_free(std::uint32_t buffer) { return 512 + buffer; }
constexpr std::uint32_t send_go = 514;
constexpr std::uint32_t receive_go = 515;
constexpr std::uint32_t first_of_transfers = 516;
constexpr std::uint32_t data(std::uint32_t transfer) { return first_of_transfers + 2 * transfer; }
constexpr std::uint32_t credit(std::uint32_t transfer) { return data(transfer) + 1; }
constexpr std::size_t most_transfers = (isa::no_semaphore - first_of_transfers) / 2;
}  // namespace semaphore

/// Base register of link queues that points to the other chip.
constexpr std::uint32_t base_peer = 4;

constexpr std::uint32_t no_step = ~0U;

class Emitter {
 public:
  Emitter(const net::Net& network, const ShardPlan& plan, const std::vector<Transfer>& transfers)
      : network_(network), plan_(plan), transfers_(transfers), caches_loaded_(plan.participants) {}

  ShardStreams emit();

 private:
  Stream& run(std::uint32_t cluster, QueueKind kind) { return streams_.run[{cluster, kind}]; }
  Stream& leader(std::uint32_t cluster) { return run(cluster, QueueKind::store); }

  void emit_init();
  void begin_step();
  void end_work(Stream& stream);
  void receive(const Step& step);
  void import(const Step& step);
  void compute(const Step& step);
  void compute_on(const net::Layer& layer, std::uint32_t cluster, std::uint32_t tag);
  std::vector<const Tile*> tiles_of(std::uint32_t layer) const;
  void stream_tiles(std::uint32_t layer, const std::vector<std::uint32_t>& workers);
  void gather(const net::Layer& layer, std::uint32_t cluster, std::uint32_t tag);
  void cache_store(const Step& step);
  void send(const Step& step);
  void output(const Step& step);

  void copy_rows(Stream& stream, isa::Copy copy, Bytes bytes, std::uint32_t tag);
  std::uint64_t stream_cache(std::uint32_t cluster, std::uint64_t dram_offset, Bytes bytes,
                             std::uint32_t tag);
  /// The same place in the SRAM of all participants, to be written.
  std::uint64_t everywhere(std::uint64_t sram_offset) const {
    const std::uint32_t all = plan_.participants;
    return (all == 1 ? address::sram_of(0) : address::sram_of_first(all)) + sram_offset;
  }
  void notify_peer(Stream& stream, std::uint32_t chip, std::uint32_t semaphore_id);
  std::uint64_t row_bytes(net::TensorId tensor) const {
    return network_.tensor(tensor).row_bytes();
  }
  static std::uint32_t tag_of(std::uint32_t layer) { return layer + 1; }

  const net::Net& network_;
  const ShardPlan& plan_;
  const std::vector<Transfer>& transfers_;
  ShardStreams streams_;
  std::uint32_t executors_ = 0;               ///< queues that end the step at hand
  std::uint32_t credit_due_ = no_step;        ///< transfer whose staging buffer has been read
  std::uint32_t tiles_loaded_ = 0;            ///< streamed, by cluster 0's load queue
  std::array<std::uint32_t, 2> readers_{};    ///< clusters that read what is in a stream buffer
  std::vector<std::uint32_t> caches_loaded_;  ///< by cluster
  std::map<net::TensorId, std::vector<RowRange>> present_;  ///< rows that a cluster holds by now
  std::set<net::TensorId> caches_written_;
  std::map<net::TensorId, std::uint64_t> input_offset_, output_offset_;
};

/// One copy of contiguous bytes, in rows short enough for the instruction's fields.
void Emitter::copy_rows(Stream& stream, isa::Copy copy, Bytes bytes, std::uint32_t tag) {
  STEPPE_CHECK(bytes <= 0xffff'ffffU, "a copy of {} bytes", bytes);
  copy.row_bytes = copy.src_pitch = copy.dst_pitch = static_cast<std::uint32_t>(bytes);
  copy.rows = 1;
  stream.add(copy, tag);
}

void Emitter::begin_step() {
  for (std::uint32_t cluster = 0; cluster < plan_.participants; ++cluster) {
    if (executors_ != 0) leader(cluster).wait({semaphore::barrier(cluster), executors_});
  }
  executors_ = 0;
  if (credit_due_ != no_step) {
    leader(0).signal({semaphore::receive_go});
    Stream& stream = run(0, QueueKind::link_receive);
    stream.wait({semaphore::receive_go});
    notify_peer(stream, transfers_[credit_due_].from_chip, semaphore::credit(credit_due_));
    credit_due_ = no_step;
  }
}

void Emitter::end_work(Stream& stream) {
  for (std::uint32_t cluster = 0; cluster < plan_.participants; ++cluster) {
    stream.signal({semaphore::barrier(cluster)});
  }
  ++executors_;
}

void Emitter::notify_peer(Stream& stream, std::uint32_t chip, std::uint32_t semaphore_id) {
  stream.add(isa::SetBase{base_peer, address::on_chip(chip, 0)}, 0);
  isa::Notify notify;
  notify.dst_base = base_peer;
  notify.dst_offset = address::semaphores + std::uint64_t{semaphore_id} * 4;
  notify.value = 1;
  stream.add(notify, 0);
}

void Emitter::receive(const Step& step) {
  leader(0).signal({semaphore::receive_go});
  Stream& stream = run(0, QueueKind::link_receive);
  stream.wait({semaphore::receive_go});
  stream.wait({semaphore::data(step.transfer)});
  stream.add(isa::Sync{}, 0);
  end_work(stream);
}

void Emitter::import(const Step& step) {
  const Window& window = plan_.windows.at(step.tensor);
  for (std::uint32_t cluster = 0; cluster < plan_.participants; ++cluster) {
    const RowRange& rows = window.rows[cluster];
    if (rows.empty()) continue;
    const std::uint64_t from = rows.begin * row_bytes(step.tensor);
    isa::Copy copy;
    if (step.from_host) {
      copy.src_base = isa::base_input;
      copy.src_offset = input_offset_.at(step.tensor) + from;
    } else {
      copy.src_offset = address::sram_of(0) + transfers_[step.transfer].staging_offset + from;
    }
    copy.dst_offset = row_address(network_, plan_, step.tensor, cluster, rows.begin);
    copy_rows(leader(cluster), copy, rows.size() * row_bytes(step.tensor), 0);
    end_work(leader(cluster));
  }
  present_[step.tensor] = window.rows;
  if (!step.from_host) credit_due_ = step.transfer;
}

/// Fetches the rows of the layer's inputs that this cluster needs and does not hold yet.
void Emitter::gather(const net::Layer& layer, std::uint32_t cluster, std::uint32_t tag) {
  const RowRange work = plan_.work(network_, layer, cluster);
  for (const net::TensorId in : net::inputs_of(layer)) {
    if (network_.tensor(in).resident_in_dram) continue;
    RowRange& present = present_.at(in)[cluster];
    const RowRange wanted = hull(present, needed_rows(network_, layer, in, work));
    const RowRange missing[] = {{wanted.begin, present.empty() ? wanted.end : present.begin},
                                {present.empty() ? wanted.end : present.end, wanted.end}};
    for (const RowRange& part : missing) {
      for (std::uint32_t owner = 0; owner < plan_.participants; ++owner) {
        const RowRange rows = intersect(part, plan_.owned(network_, in, owner));
        if (rows.empty()) continue;
        isa::Copy copy;
        copy.src_offset = row_address(network_, plan_, in, owner, rows.begin);
        copy.dst_offset = row_address(network_, plan_, in, cluster, rows.begin);
        copy_rows(leader(cluster), copy, rows.size() * row_bytes(in), tag);
      }
    }
    present = wanted;
  }
}

/// Has a cluster's load queue bring its part of a cache into the next of its buffers and the tensor
/// queue wait for it; returns the address in SRAM. The tensor queue gives the buffer back with
/// cache_free.
std::uint64_t Emitter::stream_cache(std::uint32_t cluster, std::uint64_t dram_offset, Bytes bytes,
                                    std::uint32_t tag) {
  Stream& load = run(cluster, QueueKind::load);
  const std::uint32_t number = caches_loaded_[cluster]++;
  if (number >= 2) load.wait({semaphore::cache_free(cluster)});
  isa::Copy copy;
  copy.src_offset = address::dram + dram_offset;
  copy.dst_offset = address::sram_of(cluster) + plan_.cache_buffer_offset +
                    (number % 2) * plan_.cache_buffer_bytes;
  copy_rows(load, copy, bytes, tag);
  load.signal({semaphore::cache_full(cluster)});
  run(cluster, QueueKind::tensor).wait({semaphore::cache_full(cluster)});
  return copy.dst_offset;
}

std::vector<const Tile*> Emitter::tiles_of(std::uint32_t layer) const {
  std::vector<const Tile*> tiles;
  const auto found = plan_.tiles_of.find(layer);
  if (found == plan_.tiles_of.end()) return tiles;
  for (const std::uint32_t index : found->second) tiles.push_back(&plan_.tiles[index]);
  return tiles;
}

/// Has cluster 0's load queue bring the layer's tiles that do not stay into the stream buffers of
/// all clusters: DRAM is read once. Those that work on the layer are told; they give the buffer
/// back with tile_free.
void Emitter::stream_tiles(std::uint32_t layer, const std::vector<std::uint32_t>& workers) {
  for (const Tile* tile : tiles_of(layer)) {
    if (tile->resident) continue;
    Stream& load = run(0, QueueKind::load);
    const std::uint32_t buffer = tiles_loaded_++ % 2;
    if (readers_[buffer] != 0) load.wait({semaphore::tile_free(buffer), readers_[buffer]});
    readers_[buffer] = static_cast<std::uint32_t>(workers.size());
    isa::Copy copy;
    copy.src_offset = address::dram + tile->dram_offset;
    copy.dst_offset = everywhere(plan_.stream_buffer_offset + buffer * plan_.stream_buffer_bytes);
    copy_rows(load, copy, tile->bytes, tag_of(layer));
    for (const std::uint32_t cluster : workers) load.signal({semaphore::tile_full(cluster)});
  }
}

void Emitter::compute_on(const net::Layer& layer, std::uint32_t cluster, std::uint32_t tag) {
  const bool on_tensor =
      std::holds_alternative<net::Conv>(layer.op) || std::holds_alternative<net::MatMul>(layer.op);
  const std::uint32_t go =
      on_tensor ? semaphore::tensor_go(cluster) : semaphore::vector_go(cluster);
  leader(cluster).signal({go});
  Stream& stream = run(cluster, on_tensor ? QueueKind::tensor : QueueKind::vector);
  stream.wait({go});

  std::vector<const Tile*> tiles = tiles_of(tag - 1);
  if (tiles.empty()) tiles.push_back(nullptr);
  std::uint32_t streamed = tiles_loaded_;  // numbers of the layer's tiles, the last ones loaded
  for (const Tile* tile : tiles) streamed -= tile != nullptr && !tile->resident ? 1 : 0;

  for (const Tile* tile : tiles) {
    Operands operands{.tile = tile};
    std::optional<Tokens> free;
    if (tile != nullptr && tile->resident) {
      operands.tile_address = address::sram_of(cluster) + tile->sram_offset;
    } else if (tile != nullptr) {
      const std::uint32_t buffer = streamed++ % 2;
      operands.tile_address = address::sram_of(cluster) + plan_.stream_buffer_offset +
                              buffer * plan_.stream_buffer_bytes;
      stream.wait({semaphore::tile_full(cluster)});
      free = Tokens{semaphore::tile_free(buffer)};
    }
    if (const auto* matmul = std::get_if<net::MatMul>(&layer.op);
        matmul != nullptr && network_.tensor(matmul->b).resident_in_dram) {
      const CachePart part = cache_part(network_, *matmul, plan_.work(network_, layer, cluster));
      if (caches_written_.contains(matmul->b)) {
        leader(cluster).signal({semaphore::cache_ready(cluster)});
        run(cluster, QueueKind::load).wait({semaphore::cache_ready(cluster)});
      }
      operands.cache_address =
          stream_cache(cluster, plan_.cache_offset.at(matmul->b) + part.offset, part.bytes, tag);
      free = Tokens{semaphore::cache_free(cluster)};
    }
    for (const isa::Operation& operation :
         layer_operations(network_, plan_, layer, cluster, operands)) {
      stream.add(operation, tag);
    }
    if (free) stream.signal(*free);
  }
  end_work(stream);
}

void Emitter::compute(const Step& step) {
  const net::Layer& layer = network_.layers[step.layer];
  const std::uint32_t tag = tag_of(step.layer);
  std::vector<RowRange> owned;
  std::vector<std::uint32_t> workers;
  for (std::uint32_t cluster = 0; cluster < plan_.participants; ++cluster) {
    owned.push_back(plan_.work(network_, layer, cluster));
    if (!owned.back().empty()) workers.push_back(cluster);
  }
  stream_tiles(step.layer, workers);
  for (const std::uint32_t cluster : workers) {
    gather(layer, cluster, tag);
    compute_on(layer, cluster, tag);
  }
  present_[net::output_of(layer)] = owned;
}

void Emitter::cache_store(const Step& step) {
  const net::Layer& layer = network_.layers[step.layer];
  const auto& store = std::get<net::CacheStore>(layer.op);
  for (std::uint32_t cluster = 0; cluster < plan_.participants; ++cluster) {
    const RowRange rows = plan_.work(network_, layer, cluster);
    if (rows.empty()) continue;
    isa::Copy copy;
    copy.src_offset = row_address(network_, plan_, store.in, cluster, rows.begin);
    const Bytes item = network_.tensor(store.cache).item_bytes();
    copy.dst_offset = address::dram + plan_.cache_offset.at(store.cache) +
                      (store.offset + rows.begin * store.row_pitch) * item;
    copy.row_bytes = copy.src_pitch = static_cast<std::uint32_t>(row_bytes(store.in));
    copy.dst_pitch = static_cast<std::uint32_t>(store.row_pitch * item);
    copy.rows = static_cast<std::uint32_t>(rows.size());
    leader(cluster).add(copy, tag_of(step.layer));
    end_work(leader(cluster));
  }
  caches_written_.insert(store.cache);
}

void Emitter::send(const Step& step) {
  const Transfer& transfer = transfers_[step.transfer];
  leader(0).signal({semaphore::send_go});
  Stream& stream = run(0, QueueKind::link_send);
  stream.wait({semaphore::send_go});
  stream.wait({semaphore::credit(step.transfer)});
  stream.add(isa::SetBase{base_peer, address::on_chip(transfer.to_chip, 0)}, 0);
  for (std::uint32_t cluster = 0; cluster < plan_.participants; ++cluster) {
    const RowRange rows = plan_.owned(network_, step.tensor, cluster);
    if (rows.empty()) continue;
    isa::Copy copy;
    copy.src_offset = row_address(network_, plan_, step.tensor, cluster, rows.begin);
    copy.dst_base = base_peer;
    copy.dst_offset =
        address::sram_of(0) + transfer.staging_offset + rows.begin * row_bytes(step.tensor);
    copy_rows(stream, copy, rows.size() * row_bytes(step.tensor), 0);
  }
  notify_peer(stream, transfer.to_chip, semaphore::data(step.transfer));
  end_work(stream);
}

void Emitter::output(const Step& step) {
  for (std::uint32_t cluster = 0; cluster < plan_.participants; ++cluster) {
    const RowRange rows = plan_.owned(network_, step.tensor, cluster);
    if (rows.empty()) continue;
    isa::Copy copy;
    copy.src_offset = row_address(network_, plan_, step.tensor, cluster, rows.begin);
    copy.dst_base = isa::base_output;
    copy.dst_offset = output_offset_.at(step.tensor) + rows.begin * row_bytes(step.tensor);
    copy_rows(leader(cluster), copy, rows.size() * row_bytes(step.tensor), 0);
    end_work(leader(cluster));
  }
}

/// Brings what stays into the SRAM of all clusters, and gives the first credit of each transfer.
void Emitter::emit_init() {
  for (const Tile& tile : plan_.tiles) {
    if (!tile.resident) continue;
    isa::Copy copy;
    copy.src_offset = address::dram + tile.dram_offset;
    copy.dst_offset = everywhere(tile.sram_offset);
    copy_rows(streams_.init[{0, QueueKind::load}], copy, tile.bytes, tag_of(tile.layer));
  }
  for (std::uint32_t i = 0; i < transfers_.size(); ++i) {
    if (transfers_[i].from_chip != plan_.chip) continue;
    streams_.init[{0, QueueKind::link_send}].signal({semaphore::credit(i)});
  }
  for (auto& [queue, stream] : streams_.init) stream.end();
}

ShardStreams Emitter::emit() {
  input_offset_ = block_offsets(network_, network_.inputs, nullptr);
  output_offset_ = block_offsets(network_, network_.outputs, nullptr);
  emit_init();
  for (const Step& step : plan_.steps) {
    begin_step();
    switch (step.kind) {
      case Step::Kind::receive:
        receive(step);
        break;
      case Step::Kind::import:
        import(step);
        break;
      case Step::Kind::compute:
        compute(step);
        break;
      case Step::Kind::cache_store:
        cache_store(step);
        break;
      case Step::Kind::send:
        send(step);
        break;
      case Step::Kind::output:
        output(step);
        break;
    }
  }
  begin_step();
  for (std::uint32_t buffer = 0; buffer < readers_.size(); ++buffer) {
    if (readers_[buffer] == 0) continue;
    run(0, QueueKind::load).wait({semaphore::tile_free(buffer), readers_[buffer]});
  }
  for (std::uint32_t cluster = 0; cluster < plan_.participants; ++cluster) {
    const std::uint32_t buffers_in_use = std::min(caches_loaded_[cluster], 2U);
    if (buffers_in_use != 0) {
      run(cluster, QueueKind::load).wait({semaphore::cache_free(cluster), buffers_in_use});
    }
  }
  for (auto& [queue, stream] : streams_.run) stream.end();
  return std::move(streams_);
}

}  // namespace

ShardStreams emit_shard(const net::Net& network, const ShardPlan& plan,
                        const std::vector<Transfer>& transfers) {
  if (transfers.size() > semaphore::most_transfers) {
    throw ModelError("{} tensors pass from chip to chip; the semaphores suffice for {}",
                     transfers.size(), semaphore::most_transfers);
  }
  return Emitter(network, plan, transfers).emit();
}

std::map<net::TensorId, std::uint64_t> block_offsets(const net::Net& network,
                                                     const std::vector<net::Port>& ports,
                                                     Bytes* total) {
  std::map<net::TensorId, std::uint64_t> offsets;
  Bytes next = 0;
  for (const net::Port& port : ports) {
    offsets[port.tensor] = next;
    next += align_up<Bytes>(network.tensor(port.tensor).bytes(), sram_alignment);
  }
  if (total != nullptr) *total = next;
  return offsets;
}

}  // namespace steppe::schedule
