// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/schedule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

#include "models/base/address.h"
#include "models/base/error.h"

using namespace steppe;

namespace {

template <typename T>
net::Constant<T> constant(std::uint64_t size, T value) {
  return {size, std::make_shared<const std::vector<T>>(size, value)};
}

net::TensorId add_tensor(net::Net& network, const std::string& name, net::Shape shape) {
  network.tensors.push_back({.name = name, .shape = shape, .quant = {0.1F, 0}});
  return static_cast<net::TensorId>(network.tensors.size() - 1);
}

net::Weights zeros(std::uint64_t size) {
  return {size, std::make_shared<const std::vector<std::int8_t>>(size), nullptr};
}

net::TensorId add_conv(net::Net& network, net::TensorId in, std::uint32_t channels,
                       std::uint32_t kernel, std::uint32_t stride, net::TensorId residual,
                       const std::string& name) {
  const net::Shape& shape = network.tensors[in].shape;
  const std::uint32_t pad = kernel / 2;
  const net::Shape out{shape.n, (shape.h + 2 * pad - kernel) / stride + 1,
                       (shape.w + 2 * pad - kernel) / stride + 1, channels};
  net::Conv conv{.in = in,
                 .weights = zeros(std::uint64_t{channels} * kernel * kernel * shape.c),
                 .bias = constant<std::int32_t>(channels, 1),
                 .multiplier = constant<float>(channels, 0.5F)};
  conv.kernel_h = conv.kernel_w = kernel;
  conv.stride_h = conv.stride_w = stride;
  conv.pad_top = conv.pad_left = pad;
  conv.sparsity = net::balanced(16);
  conv.residual = residual;
  conv.residual_scale = 1.0F;
  conv.out = add_tensor(network, name + ".out", out);
  network.layers.push_back({.name = name, .nodes = {name}, .op = conv});
  return conv.out;
}

/// Products that four chips can share: a pair, and one with a residual connection.
net::Net wide_net() {
  net::Net network{.name = "wide"};
  const net::TensorId in = add_tensor(network, "in", {2, 9, 5, 128});
  const net::TensorId a = add_conv(network, in, 256, 1, 1, net::no_tensor, "a");
  const net::TensorId b = add_conv(network, a, 128, 1, 1, in, "b");
  const net::TensorId c = add_conv(network, b, 128, 3, 1, b, "c");
  network.inputs.push_back(
      {.name = "in", .tensor = in, .dims = {2, 9, 5, 128}, .to_card = {0, 1, 2, 3}});
  network.outputs.push_back(
      {.name = "out", .tensor = c, .dims = {2, 9, 5, 128}, .to_card = {0, 1, 2, 3}});
  return network;
}

/// Three convolutions with a residual connection, a softmax, a transpose and a product with itself.
net::Net small_net() {
  net::Net network{.name = "small"};
  const net::TensorId in = add_tensor(network, "in", {2, 9, 5, 32});
  const net::TensorId a = add_conv(network, in, 32, 3, 1, net::no_tensor, "a");
  const net::TensorId b = add_conv(network, a, 32, 3, 1, in, "b");
  const net::TensorId c = add_conv(network, b, 64, 3, 2, net::no_tensor, "c");  // {2, 5, 3, 64}
  const net::TensorId soft = add_tensor(network, "soft", {2, 5, 3, 64});
  network.layers.push_back({.name = "soft", .nodes = {}, .op = net::Softmax{c, soft}});
  const net::TensorId rows = add_tensor(network, "rows", {2, 15, 1, 64});
  net::Permute permute{.out = rows};
  permute.parts.push_back({.in = soft,
                           .size = {1, 1, 1, 1, 2 * 15 * 64},
                           .in_step = {0, 0, 0, 0, 1},
                           .out_step = {0, 0, 0, 0, 1}});
  network.layers.push_back({.name = "rows", .nodes = {}, .op = permute});
  const net::TensorId product = add_tensor(network, "product", {2, 15, 1, 15});
  network.layers.push_back(
      {.name = "product", .nodes = {}, .op = net::MatMul{rows, rows, product, 0.1F, {}}});
  network.inputs.push_back({"in", in, {2, 32, 9, 5}, {0, 2, 3, 1}});
  network.outputs.push_back({"product", product, {2, 15, 15}, {0, 1, 2}});
  return network;
}

schedule::Target small_target(std::uint32_t chips, std::uint32_t clusters, Bytes sram) {
  return {.platform = "test",
          .chips = chips,
          .clusters = clusters,
          .sram_bytes = sram,
          .dram_bytes = Bytes{1} << 30};
}

/// Runs only the semaphores of a program on all chips, queues in random order.
class TokenMachine {
 public:
  explicit TokenMachine(const package::Package& package) : package_(package) {}

  /// False where queues are left that wait for ever.
  bool run(bool init, std::mt19937& random) {
    std::vector<Queue> queues;
    for (const package::Shard& shard : package_.shards) {
      for (const package::Stream& stream : (init ? shard.init : shard.run).streams) {
        queues.push_back(load(shard, stream));
      }
    }
    for (bool moved = true; moved;) {
      moved = false;
      std::shuffle(queues.begin(), queues.end(), random);
      for (Queue& queue : queues) moved = step(queue) || moved;
    }
    return std::ranges::all_of(queues, [](const Queue& queue) { return queue.ended; });
  }

  /// By chip and semaphore; those without tokens left out.
  [[nodiscard]] std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> tokens() const {
    auto held = tokens_;
    std::erase_if(held, [](const auto& entry) { return entry.second == 0; });
    return held;
  }

 private:
  struct Queue {
    std::uint32_t chip;
    std::vector<isa::Instruction> instructions;
    std::size_t next = 0;
    std::uint64_t peer = 0;
    bool ended = false;
  };

  Queue load(const package::Shard& shard, const package::Stream& stream) {
    Queue queue{.chip = shard.chip};
    const package::Segment& segment = shard.segments.back();
    auto bytes = segment.data.subspan(stream.dram_offset - segment.dram_offset, stream.bytes);
    while (!bytes.empty()) {
      const isa::Decoded decoded = isa::decode(bytes);
      REQUIRE(decoded.status == isa::DecodeStatus::ok);
      REQUIRE(isa::queue_takes(stream.queue,
                               *isa::find_instruction(decoded.instruction.header.opcode)));
      queue.instructions.push_back(decoded.instruction);
      bytes = bytes.subspan(decoded.bytes);
    }
    return queue;
  }

  bool take(std::uint32_t chip, std::uint32_t id0, std::uint32_t count0, std::uint32_t id1,
            std::uint32_t count1) {
    const auto enough = [&](std::uint32_t id, std::uint32_t count) {
      return id == isa::no_semaphore || tokens_[{chip, id}] >= count;
    };
    if (!enough(id0, count0) || !enough(id1, count1)) return false;
    if (id0 != isa::no_semaphore) tokens_[{chip, id0}] -= count0;
    if (id1 != isa::no_semaphore) tokens_[{chip, id1}] -= count1;
    return true;
  }

  bool step(Queue& queue) {
    if (queue.ended) return false;
    const isa::Instruction& instruction = queue.instructions.at(queue.next);
    const isa::Header& header = instruction.header;
    if (!take(queue.chip, header.wait0, header.wait0_count, header.wait1, header.wait1_count)) {
      return false;
    }
    if (const auto* base = std::get_if<isa::SetBase>(&instruction.operation)) {
      queue.peer = base->value;
    }
    if (const auto* notify = std::get_if<isa::Notify>(&instruction.operation)) {
      const std::uint64_t to = queue.peer + notify->dst_offset;
      const auto id = static_cast<std::uint32_t>((address::local(to) - address::semaphores) / 4);
      tokens_[{address::chip_of(to, queue.chip), id}] += notify->value;
    }
    if (header.signal0 != isa::no_semaphore) {
      tokens_[{queue.chip, header.signal0}] += header.signal0_count;
    }
    if (header.signal1 != isa::no_semaphore) {
      tokens_[{queue.chip, header.signal1}] += header.signal1_count;
    }
    ++queue.next;
    queue.ended = std::holds_alternative<isa::End>(instruction.operation);
    return true;
  }

  const package::Package& package_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> tokens_;
};

void check_tokens(const package::Package& package) {
  std::mt19937 random(11);
  for (int round = 0; round < 20; ++round) {
    TokenMachine machine(package);
    REQUIRE(machine.run(true, random));
    const auto at_rest = machine.tokens();
    for (int inference = 0; inference < 3; ++inference) {
      REQUIRE(machine.run(false, random));
      CHECK(machine.tokens() == at_rest);
    }
  }
}

}  // namespace

TEST_CASE("no order of the queues deadlocks, and every run gives back the tokens it took") {
  using Kind = schedule::Partition::Kind;
  for (const std::uint32_t chips : {1U, 2U, 3U, 4U}) {
    for (const std::uint32_t clusters : {1U, 3U, 4U}) {
      const schedule::Target target = small_target(chips, clusters, 1 << 20);
      schedule::Options options;
      options.partition = {.kind = Kind::pipeline, .clusters = clusters};
      const package::Package package = schedule::compile(small_net(), target, options);
      CHECK(package.shards.size() == chips);
      check_tokens(package);
      for (const std::uint32_t width : {2U, 3U, 4U}) {
        if (width > chips) continue;
        options.partition = {.kind = Kind::mixed, .width = width, .clusters = clusters};
        const package::Package shared = schedule::compile(wide_net(), target, options);
        CHECK(shared.shards.size() == chips / width * width);
        check_tokens(shared);
      }
    }
  }
}

TEST_CASE("weights that do not fit are streamed through two buffers") {
  // Three activations of 2 x 9 x 5 x 32 bytes (the residual lives on) take 8,640 of the 13,000
  // bytes; the weights and scales of the convolutions take 2 x 32 x (48 + 8) + 64 x (48 + 8) >
  // 4,360 bytes.
  schedule::Report report;
  const package::Package package =
      schedule::compile(small_net(), small_target(1, 1, 13000), {}, &report);
  CHECK(report.shards[0].resident_bytes < report.shards[0].weight_bytes);
  CHECK(report.shards[0].peak_sram_bytes <= 13000);
  check_tokens(package);
}

TEST_CASE("a network too large for the SRAM is refused") {
  CHECK_THROWS_AS(schedule::compile(small_net(), small_target(1, 1, 4000), {}), ModelError);
}

TEST_CASE("the same network compiles to the same package") {
  const schedule::Target target = small_target(2, 4, 1 << 20);
  const package::Package a = schedule::compile(small_net(), target, {});
  const package::Package b = schedule::compile(small_net(), target, {});
  REQUIRE(a.shards.size() == b.shards.size());
  for (std::size_t i = 0; i < a.shards.size(); ++i) {
    REQUIRE(a.shards[i].segments.size() == b.shards[i].segments.size());
    for (std::size_t j = 0; j < a.shards[i].segments.size(); ++j) {
      CHECK(std::ranges::equal(a.shards[i].segments[j].data, b.shards[i].segments[j].data));
    }
  }
}
