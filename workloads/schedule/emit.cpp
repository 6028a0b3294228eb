// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/emit.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "models/base/address.h"
#include "models/base/error.h"
#include "workloads/schedule/allocate.h"
#include "workloads/schedule/dependencies.h"
#include "workloads/schedule/operations.h"
#include "workloads/schedule/tiles.h"

namespace steppe::schedule {
namespace {

using isa::QueueKind;

/// The chip's semaphores by what they are for. Those that other chips give to count down from the
/// last, two for each chip; all others are taken from 0 on as they are needed.
class Semaphores {
 public:
  explicit Semaphores(std::uint32_t chips) : chips_(chips) {}

  /// One operation of a cluster's queue behind one of another queue.
  std::uint32_t order(std::uint32_t cluster, QueueKind first, QueueKind then) {
    return number(Use::order, cluster,
                  static_cast<std::uint32_t>(first) * 8 + static_cast<std::uint32_t>(then));
  }
  std::uint32_t barrier(std::uint32_t cluster) { return number(Use::barrier, cluster); }
  std::uint32_t tile_full(std::uint32_t cluster) { return number(Use::tile_full, cluster); }
  /// One for each of the two buffers: a cluster that is done with the next tile already must not be
  /// taken for one that is done with this.
  std::uint32_t tile_free(std::uint32_t buffer) { return number(Use::tile_free, buffer); }
  std::uint32_t arrived(std::uint32_t cluster) { return number(Use::arrived, cluster); }
  std::uint32_t sent(std::uint32_t cluster) { return number(Use::sent, cluster); }

  /// The rows of a cluster that are next to be sent are ready; it has taken those that came.
  std::uint32_t ready(std::uint32_t cluster) { return number(Use::ready, cluster); }
  std::uint32_t taken(std::uint32_t cluster) { return number(Use::taken, cluster); }

  /// Given by another chip: it has taken the next of what was sent to it; and: the next tensor from
  /// it is in its staging buffers. As tensors are taken in the order sent, counts
  /// say which.
  std::uint32_t credit(std::uint32_t chip) const { return of_chip(chip, 0); }
  std::uint32_t data(std::uint32_t chip) const { return of_chip(chip, 1); }

 private:
  enum class Use : std::uint8_t {
    order,
    barrier,
    tile_full,
    tile_free,
    arrived,
    sent,
    ready,
    taken
  };

  std::uint32_t number(Use use, std::uint32_t index, std::uint32_t which = 0) {
    const auto next = static_cast<std::uint32_t>(numbers_.size());
    const auto [found, fresh] = numbers_.try_emplace({use, index, which}, next);
    if (fresh && next + 1 + 2 * chips_ > isa::no_semaphore) {
      throw ModelError(
          "the chip has {} semaphores, too few for the order within its clusters; fewer clusters "
          "would do",
          isa::no_semaphore);
    }
    return found->second;
  }
  [[nodiscard]] std::uint32_t of_chip(std::uint32_t chip, std::uint32_t which) const {
    STEPPE_CHECK(chip < chips_);
    return isa::no_semaphore - 1 - (2 * chip + which);
  }

  std::uint32_t chips_;
  std::map<std::tuple<Use, std::uint32_t, std::uint32_t>, std::uint32_t> numbers_;
};

/// Base register of link queues that points to the other chip.
constexpr std::uint32_t base_peer = 4;

/// Operations of one queue that stand together, by number.
struct Unit {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// One more than the last chip that takes part.
std::uint32_t chips_of(const std::vector<Transfer>& transfers) {
  std::uint32_t chips = 1;
  for (const Transfer& transfer : transfers) {
    chips = std::max({chips, transfer.from_chip + 1, transfer.to_chip + 1});
  }
  return chips;
}

class Emitter {
 public:
  Emitter(const net::Net& network, const ShardPlan& plan, const std::vector<Transfer>& transfers)
      : network_(network),
        plan_(plan),
        transfers_(transfers),
        semaphores_(chips_of(transfers)),
        order_(plan.participants),
        caches_loaded_(plan.participants) {}

  std::pair<Streams, Streams> emit();

 private:
  Stream& run(std::uint32_t cluster, QueueKind kind) { return run_[{cluster, kind}]; }

  /// What one of the two buffers for streamed tiles holds.
  struct StreamBuffer {
    const Tile* tile = nullptr;
    std::uint64_t offset = 0;
    std::uint32_t loaded_by = 0;                        ///< operation of cluster 0's load queue
    std::map<std::uint32_t, std::uint32_t> last_use{};  ///< by cluster: of its tensor queue
  };

  void emit_init();
  void barrier();
  void receive(const Step& step);
  void import_from_host(const Step& step);
  void import_from_chip(const Step& step);
  void compute(const Step& step, std::uint32_t part);
  void compute_all(const std::vector<const Step*>& steps);
  bool reads(const net::Layer& layer, std::uint32_t part, net::TensorId in,
             std::uint32_t other) const;
  void compute_on(const net::Layer& layer, std::uint32_t cluster, const RowRange& rows,
                  Operands operands, std::uint32_t tag);
  void gather(const Step& step);
  void cache_store(const Step& step);
  void send(const Step& step);
  void output(const Step& step);

  Unit add(std::uint32_t cluster, QueueKind kind, const isa::Operation& operation,
           std::uint32_t tag) {
    const std::uint32_t number = run(cluster, kind).add(operation, tag);
    return {number, number};
  }
  /// Has a unit of a cluster's queue wait for what its accesses demand.
  void order(std::uint32_t cluster, QueueKind kind, const Unit& unit,
             const std::vector<Region>& reads, const std::vector<Region>& writes);
  std::vector<const Tile*> tiles_of(std::uint32_t layer) const;
  StreamBuffer& loaded(const Tile& tile);
  std::uint64_t load_cache(const net::MatMul& layer, std::uint32_t cluster, const RowRange& rows,
                           std::uint32_t tag);
  Unit copy_window(const Step& step, isa::Copy copy, std::uint32_t cluster, QueueKind kind,
                   const RowRange& rows);
  void notify_peer(Stream& stream, std::uint32_t chip, std::uint32_t semaphore);

  /// The same place in the SRAM of all participants, to be written.
  std::uint64_t everywhere(std::uint64_t sram_offset) const {
    const std::uint32_t all = plan_.participants;
    return (all == 1 ? address::sram_of(0) : address::sram_of_first(all)) + sram_offset;
  }
  std::uint64_t row_bytes(net::TensorId tensor) const {
    return network_.tensor(tensor).row_bytes();
  }
  Region region(net::TensorId tensor, std::uint32_t cluster, const RowRange& rows) const {
    const std::uint64_t begin = row_address(network_, plan_, tensor, cluster, rows.begin);
    return {begin, begin + rows.size() * row_bytes(tensor)};
  }
  static std::uint32_t tag_of(std::uint32_t layer) { return layer + 1; }

  const net::Net& network_;
  const ShardPlan& plan_;
  const std::vector<Transfer>& transfers_;
  Streams init_, run_;
  Semaphores semaphores_;
  std::vector<Dependencies> order_;  ///< by cluster
  std::uint32_t tiles_loaded_ = 0;   ///< streamed, by cluster 0's load queue
  std::array<StreamBuffer, 2> stream_buffers_{};
  std::vector<std::uint32_t> caches_loaded_;  ///< by cluster
  /// By chip: of the last tensor sent to it, how many before it might not have been taken.
  std::map<std::uint32_t, std::uint32_t> untaken_;
  std::map<net::TensorId, std::uint64_t> input_offset_, output_offset_;
};

/// One copy of contiguous bytes.
isa::Copy whole(isa::Copy copy, Bytes bytes) {
  STEPPE_CHECK(bytes <= 0xffff'ffffU, "a copy of {} bytes", bytes);
  copy.row_bytes = copy.src_pitch = copy.dst_pitch = static_cast<std::uint32_t>(bytes);
  copy.rows = 1;
  return copy;
}

void Emitter::order(std::uint32_t cluster, QueueKind kind, const Unit& unit,
                    const std::vector<Region>& reads, const std::vector<Region>& writes) {
  const auto waits = order_[cluster].add(kind, unit.last, reads, writes);
  for (std::size_t other = 0; other < waits.size(); ++other) {
    if (!waits[other].exists) continue;
    const auto first = static_cast<QueueKind>(other);
    const std::uint32_t semaphore = semaphores_.order(cluster, first, kind);
    run(cluster, first).signal(waits[other].number, {semaphore});
    run(cluster, kind).wait(unit.first, {semaphore});
  }
}

/// Nothing of any cluster behind it starts before all in front of it has ended in every cluster.
void Emitter::barrier() {
  const std::uint32_t all = plan_.participants;
  for (std::uint32_t cluster = 0; cluster < all; ++cluster) {
    const Unit done = add(cluster, QueueKind::store, isa::Sync{}, 0);
    order(cluster, QueueKind::store, done, {}, {{0, ~std::uint64_t{0}}});
    for (std::uint32_t other = 0; other < all; ++other) {
      run(cluster, QueueKind::store).signal(done.last, {semaphores_.barrier(other)});
    }
    const Unit all_done = add(cluster, QueueKind::store, isa::Sync{}, 0);
    run(cluster, QueueKind::store).wait(all_done.first, {semaphores_.barrier(cluster), all});
    order_[cluster].fence(QueueKind::store, all_done.last);
  }
}

void Emitter::notify_peer(Stream& stream, std::uint32_t chip, std::uint32_t semaphore) {
  stream.add(isa::SetBase{base_peer, address::on_chip(chip, 0)}, 0);
  isa::Notify notify;
  notify.dst_base = base_peer;
  notify.dst_offset = address::semaphores + std::uint64_t{semaphore} * 4;
  notify.value = 1;
  stream.add(notify, 0);
}

void Emitter::receive(const Step& step) {
  const Window& window = plan_.windows.at(step.tensor);
  Stream& stream = run(0, QueueKind::link_receive);
  const std::uint32_t here = stream.add(isa::Sync{}, 0);
  stream.wait(here, {semaphores_.data(transfers_[step.transfer].from_chip)});
  for (std::uint32_t cluster = 0; cluster < plan_.participants; ++cluster) {
    if (!window.rows[cluster].empty()) stream.signal(here, {semaphores_.arrived(cluster)});
  }
}

/// Copies rows of a tensor into or out of a cluster's window; the other side is set.
Unit Emitter::copy_window(const Step& step, isa::Copy copy, std::uint32_t cluster, QueueKind kind,
                          const RowRange& rows) {
  const std::uint64_t here = row_address(network_, plan_, step.tensor, cluster, rows.begin);
  const bool in = step.kind == Step::Kind::import;
  (in ? copy.dst_offset : copy.src_offset) = here;
  const Bytes bytes = rows.size() * row_bytes(step.tensor);
  const Unit unit = add(cluster, kind, whole(copy, bytes), 0);
  const std::vector<Region> own{region(step.tensor, cluster, rows)};
  in ? order(cluster, kind, unit, {}, own) : order(cluster, kind, unit, own, {});
  return unit;
}

void Emitter::import_from_host(const Step& step) {
  const Window& window = plan_.windows.at(step.tensor);
  for (std::uint32_t part = 0; part < plan_.chunks; ++part) {
    for (std::uint32_t cluster = 0; cluster < plan_.participants; ++cluster) {
      // The first part takes what the window has in front of the cluster's own rows, the last what
      // it has behind them.
      RowRange rows = plan_.chunk(network_, step.tensor, cluster, part);
      if (part == 0) rows.begin = window.rows[cluster].begin;
      if (part + 1 == plan_.chunks) rows.end = window.rows[cluster].end;
      rows = intersect(rows, window.rows[cluster]);
      if (rows.empty()) continue;
      isa::Copy copy;
      copy.src_base = isa::base_input;
      copy.src_offset = input_offset_.at(step.tensor) + rows.begin * row_bytes(step.tensor);
      copy_window(step, copy, cluster, QueueKind::load, rows);
    }
  }
}

void Emitter::import_from_chip(const Step& step) {
  const Window& window = plan_.windows.at(step.tensor);
  const Transfer& transfer = transfers_[step.transfer];
  Stream& stream = run(0, QueueKind::link_receive);
  const std::uint32_t here = stream.add(isa::Sync{}, 0);
  for (std::uint32_t cluster = 0; cluster < plan_.participants; ++cluster) {
    if (window.rows[cluster].empty()) continue;
    Stream& leader = run(cluster, QueueKind::store);
    const std::uint32_t first = leader.size();
    std::uint32_t last = first;
    for (std::uint32_t owner = 0; owner < plan_.participants; ++owner) {
      const RowRange landed = transfer.rows(network_, owner);
      const RowRange rows = intersect(window.rows[cluster], landed);
      if (rows.empty()) continue;
      isa::Copy copy;
      copy.src_offset = address::sram_of(owner) + transfer.staging_offset +
                        (rows.begin - landed.begin) * row_bytes(step.tensor);
      last = copy_window(step, copy, cluster, QueueKind::store, rows).last;
    }
    leader.wait(first, {semaphores_.arrived(cluster)});
    leader.signal(last, {semaphores_.taken(cluster)});
    stream.wait(here, {semaphores_.taken(cluster)});
  }
  notify_peer(stream, transfer.from_chip, semaphores_.credit(plan_.chip));
}

/// Fetches the rows that the step reads and that other clusters have.
void Emitter::gather(const Step& step) {
  for (const Gather& part : step.gathers) {
    isa::Copy copy;
    copy.src_offset = row_address(network_, plan_, part.tensor, part.owner, part.rows.begin);
    copy.dst_offset = row_address(network_, plan_, part.tensor, part.cluster, part.rows.begin);
    const Unit unit =
        add(part.cluster, QueueKind::store, whole(copy, part.rows.size() * row_bytes(part.tensor)),
            tag_of(step.layer));
    order(part.cluster, QueueKind::store, unit, {}, {region(part.tensor, part.cluster, part.rows)});
  }
}

std::vector<const Tile*> Emitter::tiles_of(std::uint32_t layer) const {
  const auto found = plan_.tiles_of.find(layer);
  if (found == plan_.tiles_of.end()) return {nullptr};
  std::vector<const Tile*> tiles;
  for (const std::uint32_t index : found->second) tiles.push_back(&plan_.tiles[index]);
  return tiles;
}

/// The stream buffer that holds a tile, of which cluster 0's load queue fills one and then the
/// other, in all clusters at once: DRAM is read once. What used the buffer before gives it back
/// first.
Emitter::StreamBuffer& Emitter::loaded(const Tile& tile) {
  for (StreamBuffer& buffer : stream_buffers_) {
    if (buffer.tile == &tile) return buffer;
  }
  const std::uint32_t index = tiles_loaded_++ % 2;
  StreamBuffer& buffer = stream_buffers_[index];
  isa::Copy copy;
  copy.src_offset = address::dram + tile.dram_offset;
  copy.dst_offset = everywhere(plan_.stream_buffer_offset + index * plan_.stream_buffer_bytes);
  Stream& load = run(0, QueueKind::load);
  const std::uint32_t number = load.add(whole(copy, tile.bytes), tag_of(tile.layer));
  if (!buffer.last_use.empty()) {
    const auto users = static_cast<std::uint32_t>(buffer.last_use.size());
    load.wait(number, {semaphores_.tile_free(index), users});
  }
  for (const auto& [cluster, use] : buffer.last_use) {
    run(cluster, QueueKind::tensor).signal(use, {semaphores_.tile_free(index)});
  }
  buffer = {.tile = &tile,
            .offset = plan_.stream_buffer_offset + index * plan_.stream_buffer_bytes,
            .loaded_by = number,
            .last_use = {}};
  return buffer;
}

/// Has a cluster's load queue bring what some rows need of a cache into the next of its two
/// buffers; returns the address in SRAM.
std::uint64_t Emitter::load_cache(const net::MatMul& layer, std::uint32_t cluster,
                                  const RowRange& rows, std::uint32_t tag) {
  const CachePart part = cache_part(network_, layer, rows);
  const std::uint32_t buffer = caches_loaded_[cluster]++ % 2;
  isa::Copy copy;
  copy.src_offset = address::dram + plan_.cache_offset.at(layer.b) + part.offset;
  copy.dst_offset =
      address::sram_of(cluster) + plan_.cache_buffer_offset + buffer * plan_.cache_buffer_bytes;
  const Unit unit = add(cluster, QueueKind::load, whole(copy, part.bytes), tag);
  order(cluster, QueueKind::load, unit, {{copy.src_offset, copy.src_offset + part.bytes}},
        {{copy.dst_offset, copy.dst_offset + part.bytes}});
  return copy.dst_offset;
}

/// Some rows of a layer on one cluster, for the channels of one tile.
void Emitter::compute_on(const net::Layer& layer, std::uint32_t cluster, const RowRange& rows,
                         Operands operands, std::uint32_t tag) {
  std::vector<Region> reads;
  const auto* matmul = std::get_if<net::MatMul>(&layer.op);
  if (matmul != nullptr && network_.tensor(matmul->b).resident_in_dram) {
    operands.cache_address = load_cache(*matmul, cluster, rows, tag);
    const Bytes bytes = cache_part(network_, *matmul, rows).bytes;
    reads.push_back({operands.cache_address, operands.cache_address + bytes});
  }
  const QueueKind kind = runs_on(layer);
  Stream& stream = run(cluster, kind);
  Unit unit{stream.size(), 0};
  for (const isa::Operation& operation :
       layer_operations(network_, plan_, layer, cluster, rows, operands)) {
    const std::string misfit = isa::misfit(operation);
    if (!misfit.empty()) {
      throw ModelError("layer '{}' is too large for one instruction: {}", layer.name, misfit);
    }
    unit.last = stream.add(operation, tag);
  }
  for (const net::TensorId in : net::inputs_of(layer)) {
    if (network_.tensor(in).resident_in_dram) continue;
    const RowRange needed = needed_rows(network_, layer, in, rows);
    if (!needed.empty()) reads.push_back(region(in, cluster, needed));
  }
  order(cluster, kind, unit, reads, {region(net::output_of(layer), cluster, rows)});
}

/// One part of every cluster's rows of a layer.
void Emitter::compute(const Step& step, std::uint32_t part) {
  const net::Layer& layer = network_.layers[step.layer];
  const std::uint32_t tag = tag_of(step.layer);
  const QueueKind kind = runs_on(layer);
  std::vector<std::uint32_t> workers;
  for (std::uint32_t cluster = 0; cluster < plan_.participants; ++cluster) {
    if (!plan_.chunk(network_, work_tensor(layer), cluster, part).empty()) {
      workers.push_back(cluster);
    }
  }
  if (workers.empty()) return;
  for (const Tile* tile : tiles_of(step.layer)) {
    StreamBuffer* buffer = tile != nullptr && !tile->resident ? &loaded(*tile) : nullptr;
    std::uint64_t offset = tile != nullptr ? tile->sram_offset : 0;
    if (buffer != nullptr) offset = buffer->offset;
    for (const std::uint32_t cluster : workers) {
      Stream& stream = run(cluster, kind);
      const std::uint32_t first = stream.size();
      compute_on(layer, cluster, plan_.chunk(network_, work_tensor(layer), cluster, part),
                 {.tile = tile, .tile_address = address::sram_of(cluster) + offset}, tag);
      if (buffer == nullptr) continue;
      if (!buffer->last_use.contains(cluster)) {
        run(0, QueueKind::load).signal(buffer->loaded_by, {semaphores_.tile_full(cluster)});
        stream.wait(first, {semaphores_.tile_full(cluster)});
      }
      buffer->last_use[cluster] = stream.size() - 1;
    }
  }
}

/// Whether a part of a layer needs rows of another part of a tensor.
bool Emitter::reads(const net::Layer& layer, std::uint32_t part, net::TensorId in,
                    std::uint32_t other) const {
  for (std::uint32_t cluster = 0; cluster < plan_.participants; ++cluster) {
    const RowRange work = plan_.chunk(network_, work_tensor(layer), cluster, part);
    const RowRange there = plan_.chunk(network_, in, cluster, other);
    if (!intersect(needed_rows(network_, layer, in, work), there).empty()) return true;
  }
  return false;
}

/// Layers that follow each other, part by part: the queues take their work in the order given, so
/// the part comes next whose queue can start it first by the plan's estimates. A part stands behind
/// all that it reads, of other parts too.
void Emitter::compute_all(const std::vector<const Step*>& steps) {
  std::map<net::TensorId, std::size_t> maker;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    maker[net::output_of(network_.layers[steps[i]->layer])] = i;
  }
  std::vector<std::size_t> next(plan_.chunks);  ///< step, by part
  std::vector<double> ready(plan_.chunks);      ///< when the part's last layer ends
  std::array<double, Dependencies::queues> free{};
  const auto emitted = [&](std::uint32_t part) {
    const net::Layer& layer = network_.layers[steps[next[part]]->layer];
    for (const net::TensorId in : net::inputs_of(layer)) {
      const auto made = maker.find(in);
      if (made == maker.end()) continue;
      for (std::uint32_t other = 0; other < plan_.chunks; ++other) {
        if (next[other] <= made->second && reads(layer, part, in, other)) return false;
      }
    }
    return true;
  };
  for (std::size_t units = steps.size() * plan_.chunks; units != 0; --units) {
    const std::size_t slowest = *std::ranges::min_element(next);
    std::optional<std::uint32_t> best;
    double start = 0;
    for (std::uint32_t part = 0; part < plan_.chunks; ++part) {
      if (next[part] == steps.size() || next[part] - slowest > plan_.lead) continue;
      if (next[part] != slowest && !emitted(part)) continue;
      const auto queue =
          static_cast<std::size_t>(runs_on(network_.layers[steps[next[part]]->layer]));
      const double begin = std::max(free[queue], ready[part]);
      if (best && begin >= start) continue;
      best = part;
      start = begin;
    }
    const Step& step = *steps[next[*best]++];
    const auto queue = static_cast<std::size_t>(runs_on(network_.layers[step.layer]));
    free[queue] = ready[*best] = start + step.seconds / plan_.chunks;
    compute(step, *best);
  }
}

void Emitter::cache_store(const Step& step) {
  const net::Layer& layer = network_.layers[step.layer];
  const auto& store = std::get<net::CacheStore>(layer.op);
  const Bytes item = network_.tensor(store.cache).item_bytes();
  for (std::uint32_t cluster = 0; cluster < plan_.participants; ++cluster) {
    const RowRange rows = plan_.work(network_, layer, cluster);
    if (rows.empty()) continue;
    isa::Copy copy;
    copy.src_offset = row_address(network_, plan_, store.in, cluster, rows.begin);
    copy.dst_offset = address::dram + plan_.cache_offset.at(store.cache) +
                      (store.offset + rows.begin * store.row_pitch) * item;
    copy.row_bytes = copy.src_pitch = static_cast<std::uint32_t>(row_bytes(store.in));
    copy.dst_pitch = static_cast<std::uint32_t>(store.row_pitch * item);
    copy.rows = static_cast<std::uint32_t>(rows.size());
    const Unit unit = add(cluster, QueueKind::store, copy, tag_of(step.layer));
    const Bytes span = (rows.size() - 1) * copy.dst_pitch + copy.row_bytes;
    order(cluster, QueueKind::store, unit, {region(store.in, cluster, rows)},
          {{copy.dst_offset, copy.dst_offset + span}});
  }
}

void Emitter::send(const Step& step) {
  const Transfer& transfer = transfers_[step.transfer];
  Stream& stream = run(0, QueueKind::link_send);
  const std::uint32_t begin =
      stream.add(isa::SetBase{base_peer, address::on_chip(transfer.to_chip, 0)}, 0);
  for (std::uint32_t cluster = 0; cluster < plan_.participants; ++cluster) {
    const RowRange rows = plan_.owned(network_, step.tensor, cluster);
    if (rows.empty()) continue;
    // The cluster's store queue says when the rows are there, and stands for their reader.
    Stream& leader = run(cluster, QueueKind::store);
    const Unit ready = add(cluster, QueueKind::store, isa::Sync{}, 0);
    order(cluster, QueueKind::store, ready, {region(step.tensor, cluster, rows)}, {});
    leader.signal(ready.last, {semaphores_.ready(cluster)});
    stream.wait(begin, {semaphores_.ready(cluster)});
    const Unit sent = add(cluster, QueueKind::store, isa::Sync{}, 0);
    order(cluster, QueueKind::store, sent, {region(step.tensor, cluster, rows)}, {});
    leader.wait(sent.first, {semaphores_.sent(cluster)});
    std::uint32_t number = begin;
    for (std::uint32_t other = 0; other < transfer.to_clusters; ++other) {
      const RowRange lands = transfer.rows(network_, other);
      const RowRange part = intersect(rows, lands);
      if (part.empty()) continue;
      isa::Copy copy;
      copy.src_offset = row_address(network_, plan_, step.tensor, cluster, part.begin);
      copy.dst_base = base_peer;
      copy.dst_offset = address::sram_of(other) + transfer.staging_offset +
                        (part.begin - lands.begin) * row_bytes(step.tensor);
      number = stream.add(whole(copy, part.size() * row_bytes(step.tensor)), 0);
    }
    stream.signal(number, {semaphores_.sent(cluster)});
  }
  std::uint32_t& untaken = untaken_.at(transfer.to_chip);
  const std::uint32_t taken = untaken + 1 - transfer.untaken;
  if (taken != 0) stream.wait(begin, {semaphores_.credit(transfer.to_chip), taken});
  untaken = transfer.untaken;
  notify_peer(stream, transfer.to_chip, semaphores_.data(plan_.chip));
}

void Emitter::output(const Step& step) {
  for (std::uint32_t cluster = 0; cluster < plan_.participants; ++cluster) {
    const RowRange rows = plan_.owned(network_, step.tensor, cluster);
    if (rows.empty()) continue;
    isa::Copy copy;
    copy.dst_base = isa::base_output;
    copy.dst_offset = output_offset_.at(step.tensor) + rows.begin * row_bytes(step.tensor);
    copy_window(step, copy, cluster, QueueKind::store, rows);
  }
}

/// Brings what stays into the SRAM of all clusters, and gives the first credits of each chip.
void Emitter::emit_init() {
  for (const Tile& tile : plan_.tiles) {
    if (!tile.resident) continue;
    isa::Copy copy;
    copy.src_offset = address::dram + tile.dram_offset;
    copy.dst_offset = everywhere(tile.sram_offset);
    init_[{0, QueueKind::load}].add(whole(copy, tile.bytes), tag_of(tile.layer));
  }
  for (const Transfer& transfer : transfers_) {  // as if a run had ended
    if (transfer.from_chip == plan_.chip) untaken_[transfer.to_chip] = transfer.untaken;
  }
  for (const auto& [chip, untaken] : untaken_) {
    Stream& stream = init_[{0, QueueKind::link_send}];
    stream.signal(stream.add(isa::Sync{}, 0), {semaphores_.credit(chip), untaken + 1});
  }
}

std::pair<Streams, Streams> Emitter::emit() {
  input_offset_ = block_offsets(network_, network_.inputs, nullptr);
  output_offset_ = block_offsets(network_, network_.outputs, nullptr);
  emit_init();
  std::vector<const Step*> layers;
  for (const Step& step : plan_.steps) {
    if (step.kind != Step::Kind::compute || step.barrier) {
      compute_all(layers);
      layers.clear();
    }
    if (step.barrier) barrier();
    switch (step.kind) {
      case Step::Kind::receive:
        receive(step);
        break;
      case Step::Kind::import:
        step.from_host ? import_from_host(step) : import_from_chip(step);
        break;
      case Step::Kind::compute:
        gather(step);
        layers.push_back(&step);
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
  compute_all(layers);
  return {std::move(init_), std::move(run_)};
}

}  // namespace

ShardStreams emit_shard(const net::Net& network, const ShardPlan& plan,
                        const std::vector<Transfer>& transfers) {
  auto [init, run] = Emitter(network, plan, transfers).emit();
  return {std::move(init), std::move(run)};
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
