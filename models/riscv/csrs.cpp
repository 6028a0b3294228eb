// SPDX-License-Identifier: Apache-2.0
#include "models/riscv/csrs.h"

#include <initializer_list>

// The RISC-V Instruction Set Manual, volume II (20211203), chapters 2 and 3; for the trigger
// registers the RISC-V Debug Specification 0.13, chapter 5.
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

/// tselect and tdata1 to 3. No trigger is there: tselect stays 0, and the type in tdata1 is "none".
constexpr bool is_trigger(std::uint32_t number) { return number >= 0x7a0 && number <= 0x7a3; }

constexpr std::uint32_t stop_cycles = 1U << 0;  // mcountinhibit
constexpr std::uint32_t stop_instructions = 1U << 2;
constexpr std::uint32_t pmpcfg0 = 0x3a0;
constexpr std::uint32_t pmpaddr0 = 0x3b0;

/// An unlocked entry does not bind machine mode, and there is no other: with the lock always 0,
/// protection is there for software to set up and has no effect. Writable without readable is
/// reserved.
constexpr std::uint32_t legal_pmpcfg(std::uint32_t value) {
  constexpr std::uint32_t readable = 0x0101'0101, writable = 0x0202'0202, mode = 0x1818'1818,
                          executable = 0x0404'0404;
  const std::uint32_t reads = value & readable;
  return reads | (value & (reads << 1) & writable) | (value & (mode | executable));
}

}  // namespace

void Csrs::reset() {
  for (HartCounter* counter : {&cycle_, &instret_}) {
    counter->stop(false, 0);
    counter->set(0, 0);
  }
  mstatus_ = mie_ = mtvec_ = mscratch_ = mepc_ = mcause_ = mtval_ = 0;
  pmpcfg_.fill(0);
  pmpaddr_.fill(0);
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
      return low(cycle_.value());
    case 0xb80:
    case 0xc80:
      return high(cycle_.value());
    case 0xb02:
    case 0xc02:
      return low(instret_.value());
    case 0xb82:
    case 0xc82:
      return high(instret_.value());
    case 0xf14:
      return hart_;
    case 0x320:
      return (cycle_.is_stopped() ? stop_cycles : 0) |
             (instret_.is_stopped() ? stop_instructions : 0);
    case 0x310:  // mstatush: little endian only
    case 0xf11:
    case 0xf12:
    case 0xf13:
    case 0xf15:
      return 0;
    default:
      if (is_idle_counter(number) || is_trigger(number)) return 0;
      return read_pmp(number);
  }
}

std::optional<std::uint32_t> Csrs::read_pmp(std::uint32_t number) const {
  if (number - pmpcfg0 < pmpcfg_.size()) return pmpcfg_[number - pmpcfg0];
  if (number - pmpaddr0 < pmpaddr_.size()) return pmpaddr_[number - pmpaddr0];
  return std::nullopt;
}

bool Csrs::write_pmp(std::uint32_t number, std::uint32_t value) {
  if (number - pmpcfg0 < pmpcfg_.size()) {
    pmpcfg_[number - pmpcfg0] = legal_pmpcfg(value);
  } else if (number - pmpaddr0 < pmpaddr_.size()) {
    pmpaddr_[number - pmpaddr0] = value;
  } else {
    return false;
  }
  return true;
}

bool Csrs::write(std::uint32_t number, std::uint32_t value, std::uint32_t cost) {
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
      cycle_.set(with_low(cycle_.value(), value), cost);
      return true;
    case 0xb80:
      cycle_.set(with_high(cycle_.value(), value), cost);
      return true;
    case 0xb02:
      instret_.set(with_low(instret_.value(), value), 1);
      return true;
    case 0xb82:
      instret_.set(with_high(instret_.value(), value), 1);
      return true;
    case 0x320:
      cycle_.stop((value & stop_cycles) != 0, cost);
      instret_.stop((value & stop_instructions) != 0, 1);
      return true;
    case 0x301:
    case 0x310:
    case 0x344:  // its bits follow the interrupt lines
      return true;
    default:
      return is_idle_counter(number) || is_trigger(number) || write_pmp(number, value);
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
