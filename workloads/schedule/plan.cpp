// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/plan.h"

#include <algorithm>
#include <set>

#include "models/base/error.h"
#include "models/isa/isa.h"
#include "workloads/schedule/allocate.h"
#include "workloads/schedule/cost.h"
#include "workloads/schedule/operations.h"
#include "workloads/schedule/tiles.h"

namespace steppe::schedule {
namespace {

bool is_host_input(const net::Net& network, net::TensorId tensor) {
  return std::ranges::any_of(network.inputs,
                             [&](const net::Port& port) { return port.tensor == tensor; });
}

bool is_host_output(const net::Net& network, net::TensorId tensor) {
  return std::ranges::any_of(network.outputs,
                             [&](const net::Port& port) { return port.tensor == tensor; });
}

/// Takes a tensor from another chip, and before it all that this chip sent earlier: between two
/// chips, tensors are taken in the order in which they were sent.
void receive(const ShardPlan& plan, const std::vector<Transfer>& transfers, net::TensorId wanted,
             std::set<net::TensorId>& here, std::vector<Step>& steps) {
  const auto found = std::ranges::find_if(transfers, [&](const Transfer& transfer) {
    return transfer.tensor == wanted && transfer.to_chip == plan.chip;
  });
  STEPPE_CHECK(found != transfers.end(), "tensor {} comes from nowhere", wanted);
  for (auto transfer = transfers.begin(); transfer <= found; ++transfer) {
    if (transfer->to_chip != plan.chip || transfer->from_chip != found->from_chip) continue;
    if (transfer != found && !here.insert(transfer->tensor).second) continue;
    const auto number = static_cast<std::uint32_t>(transfer - transfers.begin());
    steps.push_back({.kind = Step::Kind::receive, .tensor = transfer->tensor, .transfer = number});
    steps.push_back({.kind = Step::Kind::import, .tensor = transfer->tensor, .transfer = number});
  }
}

/// Steps in order: what arrives just before its first reader, what leaves right behind its
/// producer.
std::vector<Step> make_steps(const net::Net& network, const ShardPlan& plan,
                             const std::vector<Transfer>& transfers) {
  std::vector<Step> steps;
  std::set<net::TensorId> here;
  for (const std::uint32_t index : plan.layers) {
    const net::Layer& layer = network.layers[index];
    for (const net::TensorId in : net::inputs_of(layer)) {
      if (network.tensor(in).resident_in_dram || !here.insert(in).second) continue;
      if (is_host_input(network, in)) {
        steps.push_back({.kind = Step::Kind::import, .tensor = in, .from_host = true});
        continue;
      }
      receive(plan, transfers, in, here, steps);
    }
    if (std::holds_alternative<net::CacheStore>(layer.op)) {
      steps.push_back({.kind = Step::Kind::cache_store, .layer = index});
      continue;
    }
    const net::TensorId out = net::output_of(layer);
    here.insert(out);
    steps.push_back({.kind = Step::Kind::compute, .layer = index});
    for (std::uint32_t i = 0; i < transfers.size(); ++i) {
      if (transfers[i].tensor == out && transfers[i].from_chip == plan.chip) {
        steps.push_back({.kind = Step::Kind::send, .tensor = out, .transfer = i});
      }
    }
    if (is_host_output(network, out)) {
      steps.push_back({.kind = Step::Kind::output, .tensor = out});
    }
  }
  return steps;
}

std::uint32_t count_participants(const net::Net& network, const ShardPlan& plan,
                                 std::uint32_t clusters) {
  std::uint64_t most = 1;
  for (const std::uint32_t i : plan.layers) {
    const net::Tensor& tensor = network.tensor(work_tensor(network.layers[i]));
    most = std::max(most, tensor.shape.rows());
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(clusters, most));
}

Window& window_of(ShardPlan& plan, const net::Net& network, net::TensorId tensor,
                  std::uint32_t step) {
  auto [it, fresh] = plan.windows.try_emplace(tensor);
  Window& window = it->second;
  if (fresh) {
    window.first_step = step;
    for (std::uint32_t cluster = 0; cluster < plan.participants; ++cluster) {
      window.rows.push_back(plan.owned(network, tensor, cluster));
    }
  }
  window.last_step = step;
  return window;
}

void make_windows(const net::Net& network, ShardPlan& plan) {
  for (std::uint32_t index = 0; index < plan.steps.size(); ++index) {
    const Step& step = plan.steps[index];
    if (step.kind == Step::Kind::receive) continue;
    if (step.tensor != net::no_tensor) {
      window_of(plan, network, step.tensor, index);
      continue;
    }
    const net::Layer& layer = network.layers[step.layer];
    const net::TensorId out = net::output_of(layer);
    if (!network.tensor(out).resident_in_dram) window_of(plan, network, out, index);
    for (const net::TensorId in : net::inputs_of(layer)) {
      if (network.tensor(in).resident_in_dram) continue;
      Window& window = window_of(plan, network, in, index);
      for (std::uint32_t cluster = 0; cluster < plan.participants; ++cluster) {
        const RowRange needed = needed_rows(network, layer, in, plan.work(network, layer, cluster));
        window.rows[cluster] = hull(window.rows[cluster], needed);
      }
    }
  }
  for (auto& [tensor, window] : plan.windows) {
    const Bytes row = network.tensor(tensor).row_bytes();
    for (const RowRange& rows : window.rows) {
      window.bytes = std::max(window.bytes, rows.size() * row);
    }
  }
}

/// Which rows each cluster holds of each tensor as the steps go by, and so which ones it has to
/// fetch. A step that fetches, or reads a cache that other clusters wrote to, has a barrier in
/// front.
class Gathering {
 public:
  Gathering(const net::Net& network, ShardPlan& plan) : network_(network), plan_(plan) {}

  void run() {
    for (Step& step : plan_.steps) {
      if (step.kind == Step::Kind::import)
        present_[step.tensor] = plan_.windows.at(step.tensor).rows;
      if (step.kind == Step::Kind::cache_store) {
        written_.insert(net::output_of(network_.layers[step.layer]));
      }
      if (step.kind == Step::Kind::compute) visit(step);
    }
    keep_sources();
  }

 private:
  void visit(Step& step) {
    const net::Layer& layer = network_.layers[step.layer];
    for (const net::TensorId in : net::inputs_of(layer)) {
      if (network_.tensor(in).resident_in_dram) {
        step.barrier = step.barrier || (written_.contains(in) && plan_.participants > 1);
        continue;
      }
      for (std::uint32_t cluster = 0; cluster < plan_.participants; ++cluster) {
        fetch(step, layer, in, cluster);
      }
    }
    step.barrier = step.barrier || !step.gathers.empty();
    if (step.barrier) written_.clear();
    std::vector<RowRange>& owned = present_[net::output_of(layer)];
    for (std::uint32_t cluster = 0; cluster < plan_.participants; ++cluster) {
      owned.push_back(plan_.work(network_, layer, cluster));
    }
  }

  void fetch(Step& step, const net::Layer& layer, net::TensorId in, std::uint32_t cluster) {
    RowRange& present = present_.at(in)[cluster];
    const RowRange needed = needed_rows(network_, layer, in, plan_.work(network_, layer, cluster));
    const RowRange wanted = hull(present, needed);
    const RowRange missing[] = {{wanted.begin, present.empty() ? wanted.end : present.begin},
                                {present.empty() ? wanted.end : present.end, wanted.end}};
    for (const RowRange& part : missing) {
      for (std::uint32_t owner = 0; owner < plan_.participants; ++owner) {
        const RowRange rows = intersect(part, plan_.owned(network_, in, owner));
        if (!rows.empty()) step.gathers.push_back({in, cluster, owner, rows});
      }
    }
    present = wanted;
  }

  /// A tensor that others fetch from must not be overwritten before the next barrier.
  void keep_sources() {
    auto end = static_cast<std::uint32_t>(plan_.steps.size());
    for (std::uint32_t index = end; index-- > 0;) {
      const Step& step = plan_.steps[index];
      for (const Gather& gather : step.gathers) {
        Window& window = plan_.windows.at(gather.tensor);
        window.last_step = std::max(window.last_step, end - 1);
      }
      if (step.barrier) end = index;
    }
  }

  const net::Net& network_;
  ShardPlan& plan_;
  std::map<net::TensorId, std::vector<RowRange>> present_;
  std::set<net::TensorId> written_;  ///< caches, since the last barrier
};

/// Sets the steps' estimates, and cuts the clusters' rows into parts where the vector queue has a
/// share of the work that is worth hiding and the parts' weights can be read twice.
void choose_parts(const net::Net& network, const Target& target, ShardPlan& plan) {
  constexpr double worthwhile = 0.15;
  double tensor = 0;
  double vector = 0;
  Bytes weights = 0;
  for (Step& step : plan.steps) {
    if (step.kind != Step::Kind::compute) continue;
    const net::Layer& layer = network.layers[step.layer];
    step.seconds = layer_seconds(network, layer, target, false);
    (runs_on(layer) == isa::QueueKind::tensor ? tensor : vector) += step.seconds;
    if (const auto* conv = std::get_if<net::Conv>(&layer.op))
      weights += weight_bytes(network, *conv);
  }
  const double reading = static_cast<double>(weights) / target.dram_bandwidth;
  const bool both = std::min(tensor, vector) > worthwhile * std::max(tensor, vector);
  if (!both || (weights > target.sram_bytes && 2 * reading > tensor)) return;
  // As many parts as leave each of them much longer than an instruction takes to start.
  constexpr double shortest = 1e-6;
  const double average = (tensor + vector) / static_cast<double>(plan.steps.size());
  plan.chunks = average > 4 * shortest ? 4 : average > 2 * shortest ? 2 : 1;
  if (plan.chunks > 1) plan.lead = 1;
}

/// The operand that an element-wise layer may write its result over, element by element; none where
/// there is no such operand.
net::TensorId overwritable(const net::Net& network, const net::Layer& layer) {
  const net::Tensor& out = network.tensor(net::output_of(layer));
  const bool elementwise = std::holds_alternative<net::Map>(layer.op) ||
                           std::holds_alternative<net::Softmax>(layer.op) ||
                           std::holds_alternative<net::LayerNorm>(layer.op) ||
                           std::holds_alternative<net::Lut>(layer.op);
  if (!elementwise) return net::no_tensor;
  for (const net::TensorId id : net::inputs_of(layer)) {
    const net::Tensor& in = network.tensor(id);
    if (in.shape == out.shape && in.item_bytes() == out.item_bytes() && !in.resident_in_dram) {
      return id;
    }
  }
  return net::no_tensor;
}

/// Which windows share a buffer, by tensor: a result takes the place of the operand that it alone
/// still needs.
std::map<net::TensorId, net::TensorId> share_buffers(const net::Net& network,
                                                     const ShardPlan& plan) {
  std::map<net::TensorId, net::TensorId> buffer;
  for (const auto& [tensor, window] : plan.windows) buffer[tensor] = tensor;
  for (std::uint32_t index = 0; index < plan.steps.size(); ++index) {
    const Step& step = plan.steps[index];
    if (step.kind != Step::Kind::compute) continue;
    const net::Layer& layer = network.layers[step.layer];
    const net::TensorId in = overwritable(network, layer);
    if (in == net::no_tensor) continue;
    const net::TensorId out = net::output_of(layer);
    const Window& from = plan.windows.at(in);
    if (from.last_step == index && from.rows == plan.windows.at(out).rows) buffer[out] = buffer[in];
  }
  return buffer;
}

void place_windows(const net::Net& network, ShardPlan& plan, Bytes base) {
  const auto buffers = share_buffers(network, plan);
  std::map<net::TensorId, Lifetime> by_buffer;
  for (const auto& [tensor, window] : plan.windows) {
    const Lifetime own{.bytes = window.bytes,
                       .first = window.first_step - std::min(window.first_step, plan.lead),
                       .last = window.last_step + plan.lead};
    const auto [found, fresh] = by_buffer.try_emplace(buffers.at(tensor), own);
    Lifetime& all = found->second;
    all = {.bytes = std::max(all.bytes, own.bytes),
           .first = std::min(all.first, own.first),
           .last = std::max(all.last, own.last)};
  }
  std::vector<Lifetime> lifetimes;
  lifetimes.reserve(by_buffer.size());
  for (const auto& [tensor, lifetime] : by_buffer) lifetimes.push_back(lifetime);
  plan.peak_sram_bytes = base + allocate(lifetimes);
  auto placed = lifetimes.begin();
  for (auto& [tensor, lifetime] : by_buffer) lifetime = *placed++;
  for (auto& [tensor, window] : plan.windows) {
    window.offset = base + by_buffer.at(buffers.at(tensor)).offset;
  }
}

void place_caches(const net::Net& network, ShardPlan& plan) {
  for (const std::uint32_t i : plan.layers) {
    std::vector<net::TensorId> touched = net::inputs_of(network.layers[i]);
    touched.push_back(net::output_of(network.layers[i]));
    for (const net::TensorId tensor : touched) {
      if (!network.tensor(tensor).resident_in_dram) continue;
      if (!plan.cache_offset.try_emplace(tensor, plan.dram_bytes).second) continue;
      plan.dram_bytes += align_up<Bytes>(network.tensor(tensor).bytes(), dram_alignment);
    }
  }
}

}  // namespace

net::TensorId work_tensor(const net::Layer& layer) {
  if (const auto* store = std::get_if<net::CacheStore>(&layer.op)) return store->in;
  return net::output_of(layer);
}

RowRange ShardPlan::owned(const net::Net& network, net::TensorId tensor,
                          std::uint32_t cluster) const {
  return owned_rows(network.tensor(tensor).shape.rows(), cluster, participants);
}

RowRange ShardPlan::chunk(const net::Net& network, net::TensorId tensor, std::uint32_t cluster,
                          std::uint32_t part) const {
  return owned_rows(network.tensor(tensor).shape.rows(), cluster * chunks + part,
                    participants * chunks);
}

RowRange ShardPlan::work(const net::Net& network, const net::Layer& layer,
                         std::uint32_t cluster) const {
  return owned(network, work_tensor(layer), cluster);
}

ShardPlan plan_shard(const Distribution& distribution, const Target& target, std::uint32_t chip,
                     std::vector<Transfer>& transfers) {
  const net::Net& network = distribution.network;
  ShardPlan plan;
  plan.chip = chip;
  plan.layers = distribution.layers[chip];
  plan.participants = count_participants(network, plan, target.clusters);
  plan.steps = make_steps(network, plan, transfers);
  choose_parts(network, target, plan);
  make_windows(network, plan);
  Gathering(network, plan).run();
  const Bytes staging = place_staging(network, plan, transfers);
  place_windows(network, plan, staging);
  if (plan.lead != 0 &&
      plan.peak_sram_bytes > target.sram_bytes / 4 * 3) {  // leave room to weights
    plan.lead = 0;
    place_windows(network, plan, staging);
  }
  if (plan.peak_sram_bytes > target.sram_bytes) {
    throw ModelError(
        "chip {}: the activations of layers '{}' to '{}' take {} bytes of each cluster's SRAM, "
        "which "
        "has {}; a smaller batch or more clusters or SRAM would fit",
        chip, network.layers[plan.layers.front()].name, network.layers[plan.layers.back()].name,
        plan.peak_sram_bytes, target.sram_bytes);
  }
  place_tiles(network, target, plan);
  place_caches(network, plan);
  return plan;
}

}  // namespace steppe::schedule
