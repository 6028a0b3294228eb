// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/stream.h"

#include <algorithm>

namespace steppe::schedule {
namespace {

constexpr std::size_t held = 2;  ///< waits, and signals, of an instruction

/// Puts up to two of `tokens` from `first` on into an instruction.
void set_waits(isa::Header& header, const std::vector<Tokens>& tokens, std::size_t first) {
  if (first < tokens.size()) {
    header.wait0 = tokens[first].semaphore;
    header.wait0_count = tokens[first].count;
  }
  if (first + 1 < tokens.size()) {
    header.wait1 = tokens[first + 1].semaphore;
    header.wait1_count = tokens[first + 1].count;
  }
}
void set_signals(isa::Header& header, const std::vector<Tokens>& tokens, std::size_t first) {
  if (first < tokens.size()) {
    header.signal0 = tokens[first].semaphore;
    header.signal0_count = tokens[first].count;
  }
  if (first + 1 < tokens.size()) {
    header.signal1 = tokens[first + 1].semaphore;
    header.signal1_count = tokens[first + 1].count;
  }
}

}  // namespace

std::uint32_t Stream::add(const isa::Operation& operation, std::uint32_t tag) {
  entries_.push_back({operation, tag, {}, {}});
  return size() - 1;
}

std::vector<std::uint8_t> Stream::encode() const {
  std::vector<std::uint8_t> bytes;
  const auto emit = [&](const isa::Instruction& instruction) { isa::encode(instruction, bytes); };
  const auto sync = [](const Entry& entry) {
    isa::Instruction instruction{{}, isa::Sync{}};
    instruction.header.tag = entry.tag;
    return instruction;
  };
  for (const Entry& entry : entries_) {
    std::size_t waited = 0;
    for (; waited + held < entry.waits.size(); waited += held) {
      isa::Instruction before = sync(entry);
      set_waits(before.header, entry.waits, waited);
      emit(before);
    }
    isa::Instruction instruction{{}, entry.operation};
    instruction.header.tag = entry.tag;
    set_waits(instruction.header, entry.waits, waited);
    set_signals(instruction.header, entry.signals, 0);
    emit(instruction);
    for (std::size_t given = held; given < entry.signals.size(); given += held) {
      isa::Instruction behind = sync(entry);
      set_signals(behind.header, entry.signals, given);
      emit(behind);
    }
  }
  emit({{}, isa::End{}});
  return bytes;
}

}  // namespace steppe::schedule
