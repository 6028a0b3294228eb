// SPDX-License-Identifier: Apache-2.0
#include "models/riscv/csrs.h"

#include <initializer_list>

// The RISC-V Instruction Set Manual, volume II (20211203), chapters 2 and 3.
namespace steppe::riscv {
namespace {

constexpr std::uint32_t mie_bit = 1U << 3;
constexpr std::uint32_t mpie_bit = 1U << 7;
constexpr std::uint32_t mpp_machine = 3U << 11;
constexpr std::uint32_t interrupt_bit = 1U << 31;
constexpr std::uint32_t isa =
    1U << 30 | 1U << ('I' - 'A') | 1U << ('M' - 'A') | 1U << ('A' - 'A') | 1U << ('C' - 'A');

constexpr std::uint32_t bit_of(Interrupt interrupt) {
  return 1U << static_cast<std::uint32_t>(interrupt);
}
constexpr std::uint32_t all_interrupts =
    bit_of(Interrupt::software) | bit_of(Interrupt::timer) | bit_of(Interrupt::external);

constexpr std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
constexpr std::uint32_t high(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}
constexpr std::uint64_t with_low(std::uint64_t value, std::uint32_t half) {
  return (value & ~std::uint64_t{0xffff'ffff}) | half;
}
constexpr std::uint64_t with_high(std::uint64_t value, std::uint32_t half) {
  return std::uint64_t{half} << 32 | low(value);
}

/// mhpmcounter3..31, their high halves and mhpmevent3..31: there, and always 0.
constexpr bool is_idle_counter(std::uint32_t number) {
  return (number >= 0xb03 && number <= 0xb1f) || (number >= 0xb83 && number <= 0xb9f) ||
         (number >= 0x323 && number <= 0x33f);
}

}  // namespace

void Csrs::reset() {
  cycle_offset_ = 0 - cycles_;
  instruction_offset_ = 0 - instructions_;
  mstatus_ = mie_ = mtvec_ = mscratch_ = mepc_ = mcause_ = mtval_ = 0;
}

std::optional<std::uint32_t> Csrs::read(std::uint32_t number) const {
  switch (number) {
    case 0x300:
      return mstatus_ | mpp_machine;
    case 0x301:
      return isa;
    case 0x304:
      return mie_;
    case 0x305:
      return mtvec_;
    case 0x340:
      return mscratch_;
    case 0x341:
      return mepc_;
    case 0x342:
      return mcause_;
    case 0x343:
      return mtval_;
    case 0x344:
      return mip_;
    case 0xb00:
    case 0xc00:
      return low(cycles_ + cycle_offset_);
    case 0xb80:
    case 0xc80:
      return high(cycles_ + cycle_offset_);
    case 0xb02:
    case 0xc02:
      return low(instructions_ + instruction_offset_);
    case 0xb82:
    case 0xc82:
      return high(instructions_ + instruction_offset_);
    case 0xf14:
      return hart_;
    case 0x310:  // mstatush: little endian only
    case 0x320:  // mcountinhibit: counters always run
    case 0xf11:
    case 0xf12:
    case 0xf13:
    case 0xf15:
      return 0;
    default:
      if (is_idle_counter(number)) return 0;
      return std::nullopt;
  }
}

bool Csrs::write(std::uint32_t number, std::uint32_t value, std::uint32_t cost) {
  // The instruction that writes a counter does not count in it.
  const std::uint64_t cycles = cycles_ + cycle_offset_;
  const std::uint64_t instructions = instructions_ + instruction_offset_;
  switch (number) {
    case 0x300:
      mstatus_ = value & (mie_bit | mpie_bit);
      return true;
    case 0x304:
      mie_ = value & all_interrupts;
      return true;
    case 0x305:
      mtvec_ = value & ~2U;
      return true;
    case 0x340:
      mscratch_ = value;
      return true;
    case 0x341:
      mepc_ = value & ~1U;
      return true;
    case 0x342:
      mcause_ = value;
      return true;
    case 0x343:
      mtval_ = value;
      return true;
    case 0xb00:
      cycle_offset_ = with_low(cycles, value) - (cycles_ + cost);
      return true;
    case 0xb80:
      cycle_offset_ = with_high(cycles, value) - (cycles_ + cost);
      return true;
    case 0xb02:
      instruction_offset_ = with_low(instructions, value) - (instructions_ + 1);
      return true;
    case 0xb82:
      instruction_offset_ = with_high(instructions, value) - (instructions_ + 1);
      return true;
    case 0x301:
    case 0x310:
    case 0x320:
    case 0x344:  // its bits follow the interrupt lines
      return true;
    default:
      return is_idle_counter(number);
  }
}

void Csrs::set_pending(Interrupt interrupt, bool pending) {
  mip_ = pending ? mip_ | bit_of(interrupt) : mip_ & ~bit_of(interrupt);
}

std::optional<Interrupt> Csrs::to_take() const {
  if ((mstatus_ & mie_bit) == 0 || !wakes()) return std::nullopt;
  const std::uint32_t ready = mip_ & mie_;
  for (const Interrupt first : {Interrupt::external, Interrupt::software}) {
    if ((ready & bit_of(first)) != 0) return first;
  }
  return Interrupt::timer;
}

void Csrs::enter(std::uint32_t cause, std::uint32_t pc, std::uint32_t value) {
  mstatus_ = (mstatus_ & mie_bit) != 0 ? mpie_bit : 0;
  mepc_ = pc;
  mcause_ = cause;
  mtval_ = value;
}

std::uint32_t Csrs::enter_trap(Cause cause, std::uint32_t pc, std::uint32_t value) {
  enter(static_cast<std::uint32_t>(cause), pc, value);
  return mtvec_ & ~3U;
}

std::uint32_t Csrs::enter_interrupt(Interrupt interrupt, std::uint32_t pc) {
  const auto number = static_cast<std::uint32_t>(interrupt);
  enter(interrupt_bit | number, pc, 0);
  const bool is_vectored = (mtvec_ & 1) != 0;
  return (mtvec_ & ~3U) + (is_vectored ? 4 * number : 0);
}

std::uint32_t Csrs::leave_trap() {
  mstatus_ = mpie_bit | ((mstatus_ & mpie_bit) != 0 ? mie_bit : 0);
  return mepc_;
}

}  // namespace steppe::riscv
