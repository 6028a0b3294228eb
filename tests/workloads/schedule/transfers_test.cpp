// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/transfers.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>

#include "workloads/schedule/allocate.h"
#include "workloads/schedule/plan.h"

using namespace steppe;
using namespace steppe::schedule;

namespace {

constexpr net::Shape shape{1, 16, 1, 64};
constexpr std::uint32_t chips = 3;

/// Sums of two tensors made before, of 16 rows of 64 channels, in bf16 or fp32; `pick(n)` says
/// which of n.
template <typename Pick>
Distribution sums(std::uint32_t layers, Pick pick) {
  Distribution result;
  result.layers.resize(chips);
  net::Net& net = result.network;
  for (std::uint32_t i = 0; i <= layers; ++i) {
    net.tensors.push_back({.name = fmt::format("t{}", i),
                           .shape = shape,
                           .type = pick(2) == 0 ? net::Type::fp32 : net::Type::bf16});
  }
  for (std::uint32_t i = 0; i < layers; ++i) {
    net::Map map{.function = vector_functions::add_};
    for (int operand = 0; operand < 2; ++operand) {
      const auto tensor = i - std::min(i, static_cast<std::uint32_t>(pick(6)));
      map.operands.push_back({.tensor = tensor, .constant = {}, .shape = shape});
    }
    map.out = i + 1;
    net.layers.push_back({.name = fmt::format("l{}", i), .nodes = {}, .op = map});
    result.layers[pick(chips)].push_back(i);
  }
  net.inputs.push_back({.name = "x", .tensor = 0, .dims = {16, 64}, .to_card = {0, 1}});
  net.outputs.push_back({.name = "y", .tensor = layers, .dims = {16, 64}, .to_card = {0, 1}});
  return result;
}

struct Placed {
  Distribution distribution;
  std::vector<Transfer> transfers;
  std::vector<ShardPlan> plans;
};

Placed place(Distribution distribution) {
  const Target target{
      .chips = chips, .clusters = 4, .sram_bytes = Bytes{1} << 20U, .dram_bytes = Bytes{1} << 30U};
  Placed result{std::move(distribution), {}, {}};
  result.transfers = find_transfers(result.distribution);
  for (std::uint32_t chip = 0; chip < chips; ++chip) {
    if (result.distribution.layers[chip].empty()) continue;
    result.plans.push_back(plan_shard(result.distribution, target, chip, result.transfers));
  }
  return result;
}

/// The layer of the receiving chip that is the first to need a tensor, or one sent behind it.
std::uint32_t taken_before(const Placed& placed, const std::vector<const Transfer*>& sent,
                           std::size_t from) {
  const net::Net& net = placed.distribution.network;
  for (const std::uint32_t i : placed.distribution.layers[sent[from]->to_chip]) {
    for (std::size_t k = from; k < sent.size(); ++k) {
      const auto in = net::inputs_of(net.layers[i]);
      if (std::ranges::find(in, sent[k]->tensor) != in.end()) return i;
    }
  }
  FAIL("nobody reads it");
  return 0;
}

Bytes room(const Placed& placed, const Transfer& transfer) {
  return 4 * placed.distribution.network.tensor(transfer.tensor).row_bytes();  // of 16, 4 clusters
}

void check_way(const Placed& placed, const std::vector<const Transfer*>& sent) {
  const std::size_t count = sent.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Transfer& transfer = *sent[i];
    CHECK(transfer.to_clusters == 4);
    CHECK(transfer.rows(placed.distribution.network, 1) == RowRange{4, 8});
    REQUIRE(transfer.untaken < count);
    if (i > 0) CHECK(transfer.untaken >= 1);  // the one before may still be there
    for (std::uint32_t back = 1; back <= transfer.untaken; ++back) {
      const Transfer& other = *sent[(i + count - back) % count];
      const bool apart = transfer.staging_offset + room(placed, transfer) <= other.staging_offset ||
                         other.staging_offset + room(placed, other) <= transfer.staging_offset;
      CHECK(apart);
    }
    // What has to have been taken is taken, layer by layer, before this one is made.
    if (i > transfer.untaken) {
      CHECK(taken_before(placed, sent, i - transfer.untaken - 1) < transfer.layer);
    }
  }
}

}  // namespace

TEST_CASE("tensors between chips land where none lies that may not have been taken") {
  std::mt19937 random(3);
  std::size_t shared = 0;
  for (int round = 0; round < 40; ++round) {
    const auto layers = static_cast<std::uint32_t>(2 + random() % 40);
    const Placed placed = place(sums(layers, [&](std::uint32_t n) { return random() % n; }));
    for (std::uint32_t from = 0; from < chips; ++from) {
      for (std::uint32_t to = 0; to < chips; ++to) {
        std::vector<const Transfer*> sent;
        for (const Transfer& transfer : placed.transfers) {
          if (transfer.from_chip == from && transfer.to_chip == to) sent.push_back(&transfer);
        }
        INFO(layers, " layers, from chip ", from, " to chip ", to);
        check_way(placed, sent);
        if (sent.size() > 3) ++shared;
      }
    }
  }
  CHECK(shared > 40);
}

TEST_CASE("a chain between two chips needs room for two tensors each way") {
  std::uint32_t turn = 0;
  // In the order in which `sums` asks: types, then operands and chip of each layer.
  const Placed placed = place(sums(20, [&](std::uint32_t n) -> std::uint32_t {
    if (n == 2 || n == 6) return 0;
    return turn++ % 2;
  }));
  REQUIRE(placed.transfers.size() == 19);
  const Bytes two = 2 * Bytes{4} * 64 * 4;  // 4 rows of 64 fp32 numbers
  for (const ShardPlan& plan : placed.plans) {
    for (const auto& [tensor, window] : plan.windows) CHECK(window.offset >= two);
    std::vector<Transfer> again = placed.transfers;
    CHECK(place_staging(placed.distribution.network, plan, again) == two);
  }
}
