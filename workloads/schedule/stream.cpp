// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/stream.h"

namespace steppe::schedule {

void Stream::add(const isa::Operation& operation, std::uint32_t tag) {
  constexpr std::size_t waits_an_instruction_holds = 2;
  isa::Instruction instruction{{}, operation};
  while (waits_.size() > waits_an_instruction_holds) {
    const std::vector<Tokens> rest(waits_.begin() + waits_an_instruction_holds, waits_.end());
    waits_.resize(waits_an_instruction_holds);
    add(isa::Sync{}, tag);
    waits_ = rest;
  }
  instruction.header.tag = tag;
  if (!waits_.empty()) {
    instruction.header.wait0 = waits_[0].semaphore;
    instruction.header.wait0_count = waits_[0].count;
  }
  if (waits_.size() > 1) {
    instruction.header.wait1 = waits_[1].semaphore;
    instruction.header.wait1_count = waits_[1].count;
  }
  waits_.clear();
  instructions_.push_back(instruction);
}

void Stream::signal(Tokens tokens) {
  if (instructions_.empty() || !waits_.empty()) add(isa::Sync{}, 0);
  isa::Header* last = &instructions_.back().header;
  if (last->signal1 != isa::no_semaphore) {
    const std::uint32_t tag = last->tag;
    add(isa::Sync{}, tag);
    last = &instructions_.back().header;
  }
  if (last->signal0 == isa::no_semaphore) {
    last->signal0 = tokens.semaphore;
    last->signal0_count = tokens.count;
  } else {
    last->signal1 = tokens.semaphore;
    last->signal1_count = tokens.count;
  }
}

void Stream::end() { add(isa::End{}, 0); }

std::vector<std::uint8_t> Stream::encode() const {
  std::vector<std::uint8_t> bytes;
  for (const isa::Instruction& instruction : instructions_) isa::encode(instruction, bytes);
  return bytes;
}

}  // namespace steppe::schedule
