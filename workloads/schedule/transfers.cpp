// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/transfers.h"

#include <algorithm>
#include <map>
#include <set>

#include "workloads/schedule/allocate.h"
#include "workloads/schedule/plan.h"

namespace steppe::schedule {
namespace {

/// The layer in front of which each transfer is taken, by number of the transfer.
std::map<std::uint32_t, std::uint32_t> taken_before(const ShardPlan& plan) {
  std::map<std::uint32_t, std::uint32_t> result;
  std::uint32_t layer = 0;
  for (auto step = plan.steps.rbegin(); step != plan.steps.rend(); ++step) {
    const bool runs = step->kind == Step::Kind::compute || step->kind == Step::Kind::cache_store;
    if (runs) layer = step->layer;
    if (step->kind == Step::Kind::receive) result[step->transfer] = layer;
  }
  return result;
}

/// Sets `untaken` of all that one chip sends to another: what was sent behind the last tensor whose
/// room it takes, or, as tensors are taken in order, whose room the one before it took.
void count_untaken(const std::vector<Transfer*>& sent, const std::vector<Lifetime>& rooms) {
  const std::size_t count = sent.size();
  const auto overlap = [&](const Lifetime& a, const Lifetime& b) {
    return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
  };
  auto untaken = static_cast<std::uint32_t>(count);
  for (std::size_t i = 0; i < 2 * count; ++i) {  // from the run before on
    std::uint32_t back = 1;
    while (back < count && !overlap(rooms[i % count], rooms[(i + count - back) % count])) ++back;
    untaken = std::min(untaken + 1, back - 1);
    sent[i % count]->untaken = untaken;
  }
}

}  // namespace

std::vector<Transfer> find_transfers(const Distribution& distribution) {
  const net::Net& network = distribution.network;
  std::vector<std::uint32_t> maker(network.layers.size());
  std::vector<std::set<std::uint32_t>> readers(network.tensors.size());  // chips, by tensor
  for (std::uint32_t chip = 0; chip < distribution.layers.size(); ++chip) {
    for (const std::uint32_t i : distribution.layers[chip]) {
      maker[i] = chip;
      for (const net::TensorId in : net::inputs_of(network.layers[i])) {
        if (!network.tensor(in).resident_in_dram) readers[in].insert(chip);
      }
    }
  }
  std::vector<Transfer> transfers;
  for (std::uint32_t i = 0; i < network.layers.size(); ++i) {
    const net::TensorId out = net::output_of(network.layers[i]);
    for (const std::uint32_t chip : readers[out]) {
      if (chip == maker[i]) continue;
      transfers.push_back({.tensor = out, .layer = i, .from_chip = maker[i], .to_chip = chip});
    }
  }
  return transfers;
}

Bytes place_staging(const net::Net& network, const ShardPlan& plan,
                    std::vector<Transfer>& transfers) {
  const auto taken = taken_before(plan);
  std::map<std::uint32_t, std::vector<Transfer*>> by_sender;
  std::map<std::uint32_t, std::vector<Lifetime>> rooms;
  for (std::uint32_t i = 0; i < transfers.size(); ++i) {
    Transfer& transfer = transfers[i];
    if (transfer.to_chip != plan.chip) continue;
    transfer.to_clusters = plan.participants;
    const net::Tensor& tensor = network.tensor(transfer.tensor);
    const std::uint64_t rows = ceil_div<std::uint64_t>(tensor.shape.rows(), plan.participants);
    std::vector<Lifetime>& all = rooms[transfer.from_chip];
    // So that it may arrive while the one before is still to be taken.
    if (!all.empty()) all.back().last = std::max(all.back().last, transfer.layer);
    all.push_back({.bytes = align_up(rows * tensor.row_bytes(), sram_alignment),
                   .first = transfer.layer,
                   .last = taken.at(i)});
    by_sender[transfer.from_chip].push_back(&transfer);
  }
  Bytes used = 0;
  for (auto& [chip, all] : rooms) {
    const Bytes bytes = allocate(all);
    count_untaken(by_sender[chip], all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      by_sender[chip][i]->staging_offset = used + all[i].offset;
    }
    used += bytes;
  }
  return used;
}

}  // namespace steppe::schedule
