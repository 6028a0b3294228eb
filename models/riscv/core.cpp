// SPDX-License-Identifier: Apache-2.0
#include "models/riscv/core.h"

#include <fmt/format.h>

#include <algorithm>

namespace steppe {

using riscv::Cause;
using riscv::Record;

RiscvCore::RiscvCore(std::span<std::uint8_t> memory, std::uint32_t base, riscv::Bus& bus,
                     const riscv::Timing& timing, std::uint32_t hart)
    : memory_(memory),
      base_(base),
      bus_(bus),
      timing_(timing),
      csrs_(hart, cycles_, instructions_),
      cache_(memory, base, timing) {}

void RiscvCore::reset(std::uint32_t pc) {
  x_.fill(0);
  pc_ = pc;
  csrs_.reset();
  cache_.clear();
  reservation_.reset();
  instructions_at_trap_ = ~std::uint64_t{0};
  halt_reason_.clear();
}

RiscvCore::Stop RiscvCore::run(std::uint64_t until) {
  for (;;) {
    if (!halt_reason_.empty()) return Stop::halted;
    if (const auto interrupt = csrs_.to_take()) take_interrupt(*interrupt);
    if (cycles_ >= until) return Stop::limit;
    if (!is_local(pc_, 2)) {
      trap(Cause::instruction_access, pc_);
      continue;
    }
    const Record* record = execute(until);
    if (record == nullptr) continue;
    // A copy: what the instruction does may let its block be forgotten.
    if (const auto stop = slow(Record{*record})) return *stop;
  }
}

void RiscvCore::memory_changed(std::uint32_t address, std::uint64_t bytes) {
  const std::uint64_t offset = address - base_;
  if (offset >= memory_.size()) return;
  bytes = std::min<std::uint64_t>(bytes, memory_.size() - offset);
  if (cache_.holds_code(static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(bytes))) {
    cache_.clear();
  }
  if (reservation_ && *reservation_ + std::uint64_t{4} > address &&
      *reservation_ < address + bytes) {
    reservation_.reset();
  }
}

bool RiscvCore::is_local(std::uint32_t address, unsigned bytes) const {
  const std::uint32_t offset = address - base_;
  return offset < memory_.size() && bytes <= memory_.size() - offset;
}

void RiscvCore::trap(Cause cause, std::uint32_t value) {
  ++traps_;
  cycles_ += timing_.system;
  if (instructions_at_trap_ == instructions_ && handler_ == pc_) {
    halt_reason_ = fmt::format(
        "the trap handler's first instruction, at {:#010x}, traps itself: mcause {}, mtval "
        "{:#010x}",
        pc_, static_cast<std::uint32_t>(cause), value);
  }
  pc_ = handler_ = csrs_.enter_trap(cause, pc_, value);
  instructions_at_trap_ = instructions_;
  reservation_.reset();
}

void RiscvCore::take_interrupt(riscv::Interrupt interrupt) {
  ++interrupts_;
  cycles_ += timing_.system;
  pc_ = csrs_.enter_interrupt(interrupt, pc_);
  instructions_at_trap_ = ~std::uint64_t{0};
  reservation_.reset();
}

}  // namespace steppe
