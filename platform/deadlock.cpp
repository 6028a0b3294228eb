// SPDX-License-Identifier: Apache-2.0
#include "platform/deadlock.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "models/base/address.h"

namespace steppe {
namespace {

/// An instruction that is left to run and gives to a semaphore.
struct Signal {
  const Queue* queue;
  std::uint64_t offset;
  std::uint32_t tag;
};
using Semaphore = std::pair<std::uint32_t, std::uint32_t>;  // chip, number
using Signals = std::map<Semaphore, std::vector<Signal>>;

/// Collects the signals that a running queue has left, the first for each semaphore.
class Walk {
 public:
  Walk(Queue& queue, Signals& signals) : queue_(queue), signals_(signals), base_(queue.base) {}

  void run() {
    if (queue_.status() != QueueStatus::running) return;
    const std::span<const std::uint8_t> stream = queue_.stream();
    std::uint64_t offset = queue_.left_from();
    while (offset < stream.size()) {
      const isa::Decoded decoded = isa::decode(stream.subspan(offset));
      if (decoded.status != isa::DecodeStatus::ok) return;
      visit(decoded.instruction, offset);
      offset += decoded.bytes;
    }
  }

 private:
  void visit(const isa::Instruction& instruction, std::uint64_t offset) {
    const isa::Header& header = instruction.header;
    const Signal signal{&queue_, offset, header.tag};
    add({queue_.chip(), header.signal0}, signal);
    add({queue_.chip(), header.signal1}, signal);
    if (const auto* set = std::get_if<isa::SetBase>(&instruction.operation)) {
      base_[set->reg] = set->value;
    } else if (const auto* step = std::get_if<isa::AddBase>(&instruction.operation)) {
      base_[step->reg] += static_cast<std::uint64_t>(step->step);
    } else if (const auto* notify = std::get_if<isa::Notify>(&instruction.operation)) {
      const std::uint64_t to = base_[notify->dst_base] + notify->dst_offset;
      const std::uint64_t number = (address::local(to) - address::semaphores) / 4;
      if (address::is_host(to) || number >= SemaphoreFile::count) return;
      add({address::chip_of(to, queue_.chip()), static_cast<std::uint32_t>(number)}, signal);
    }
  }

  void add(const Semaphore& semaphore, const Signal& signal) {
    if (semaphore.second == isa::no_semaphore) return;
    std::vector<Signal>& known = signals_[semaphore];
    if (known.empty() || known.back().queue != &queue_) known.push_back(signal);
  }

  Queue& queue_;
  Signals& signals_;
  std::array<std::uint64_t, isa::base_registers> base_;
};

/// "  cluster0.tensor.queue would signal it at …", for the first few.
std::string format_givers(const std::vector<Signal>& givers) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(givers.size(), most); ++i) {
    const Signal& giver = givers[i];
    text += fmt::format("  {} would signal it at offset {:#x}{}\n", giver.queue->path(),
                        giver.offset, giver.queue->layer(giver.tag));
  }
  if (givers.size() > most) text += fmt::format("  and {} more queues\n", givers.size() - most);
  return text;
}

}  // namespace

std::string deadlock_report(std::span<Queue* const> queues) {
  Signals signals;
  for (Queue* queue : queues) Walk(*queue, signals).run();
  std::string faults;
  std::string roots;
  std::string others;
  for (const Queue* queue : queues) {
    if (queue->status() == QueueStatus::fault) {
      const FaultRecord& fault = queue->fault();
      faults += fmt::format("{} stopped at offset {:#x}{} with fault {} (address {:#x})\n",
                            queue->path(), fault.offset, queue->layer(fault.tag),
                            static_cast<std::uint32_t>(fault.code), fault.address);
    }
    if (queue->waits_for() == isa::no_semaphore) continue;
    std::vector<Signal> givers = signals[{queue->chip(), queue->waits_for()}];
    std::erase_if(givers, [&](const Signal& giver) { return giver.queue == queue; });
    if (givers.empty()) {
      roots += queue->describe_wait() + "\n  nothing that is left to run signals it\n";
    } else {
      others += queue->describe_wait() + '\n' + format_givers(givers);
    }
  }
  const std::string report = faults + roots + others;
  return report.empty() ? "no queue waits for a semaphore\n" : report;
}

}  // namespace steppe
