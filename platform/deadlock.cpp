// SPDX-License-Identifier: Apache-2.0
#include "platform/deadlock.h"

#include <map>
#include <utility>
#include <vector>

#include "models/base/address.h"

namespace steppe {
namespace {

/// An instruction that gives to a semaphore.
struct Signal {
  const Queue* queue;
  std::uint64_t offset;
  std::uint32_t tag;
};
using Semaphore = std::pair<std::uint32_t, std::uint32_t>;  // chip, number
using Signals = std::map<Semaphore, std::vector<Signal>>;

void add_notification(const Queue& queue, const isa::Notify& notify, const Signal& signal,
                      Signals& signals) {
  const std::uint64_t address = queue.base[notify.dst_base] + notify.dst_offset;
  if (address::is_host(address)) return;
  const std::uint64_t number = (address::local(address) - address::semaphores) / 4;
  if (address::local(address) < address::semaphores || number >= SemaphoreFile::count) return;
  signals[{address::chip_of(address, queue.chip()), static_cast<std::uint32_t>(number)}].push_back(
      signal);
}

void add_signals(Queue& queue, Signals& signals) {
  std::span<const std::uint8_t> rest = queue.stream();
  for (std::uint64_t offset = 0; !rest.empty();) {
    const isa::Decoded decoded = isa::decode(rest);
    if (decoded.status != isa::DecodeStatus::ok) return;
    const isa::Header& header = decoded.instruction.header;
    const Signal signal{&queue, offset, header.tag};
    for (const std::uint32_t number : {header.signal0, header.signal1}) {
      if (number != isa::no_semaphore) signals[{queue.chip(), number}].push_back(signal);
    }
    if (const auto* notify = std::get_if<isa::Notify>(&decoded.instruction.operation)) {
      add_notification(queue, *notify, signal, signals);
    }
    rest = rest.subspan(decoded.bytes);
    offset += decoded.bytes;
  }
}

std::string_view activity(const Queue& queue) {
  switch (queue.status()) {
    case QueueStatus::idle:
      return "is idle";
    case QueueStatus::running:
      return queue.waits_for() == isa::no_semaphore ? "is running" : "waits itself";
    case QueueStatus::done:
      return "is done";
    case QueueStatus::fault:
      break;
  }
  return "stopped with a fault";
}

}  // namespace

std::string deadlock_report(std::span<Queue* const> queues) {
  Signals signals;
  for (Queue* queue : queues) add_signals(*queue, signals);
  std::string report;
  for (const Queue* queue : queues) {
    if (queue->waits_for() == isa::no_semaphore) continue;
    report += queue->describe_wait() + '\n';
    const auto& givers = signals[{queue->chip(), queue->waits_for()}];
    if (givers.empty()) report += "  no instruction of any queue signals it\n";
    for (const Signal& giver : givers) {
      report += fmt::format("  {} signals it at offset {:#x}{}, and {}\n", giver.queue->path(),
                            giver.offset, giver.queue->layer(giver.tag), activity(*giver.queue));
    }
  }
  for (const Queue* queue : queues) {
    if (queue->status() != QueueStatus::fault) continue;
    const FaultRecord& fault = queue->fault();
    report += fmt::format("{} stopped at offset {:#x}{} with fault {} (address {:#x})\n",
                          queue->path(), fault.offset, queue->layer(fault.tag),
                          static_cast<std::uint32_t>(fault.code), fault.address);
  }
  return report.empty() ? "no queue waits for a semaphore\n" : report;
}

}  // namespace steppe
