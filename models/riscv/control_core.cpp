// SPDX-License-Identifier: Apache-2.0
#include "models/riscv/control_core.h"

#include <cstring>

#include "models/fabric/transport.h"
#include "models/riscv/compressed.h"
#include "models/riscv/elf.h"

// The RISC-V Instruction Set Manual, volume I: RV32I 2.1, M 2.0, C 2.0; volume II: machine mode.
namespace steppe {
namespace {

constexpr std::uint32_t mstatus_mie = 1U << 3;
constexpr std::uint32_t mstatus_mpie = 1U << 7;
constexpr std::uint32_t mip_meip = 1U << 11;
constexpr std::uint32_t external_cause = 0x8000'000b;

constexpr std::uint32_t rd_of(std::uint32_t w) { return (w >> 7) & 31; }
constexpr std::uint32_t rs1_of(std::uint32_t w) { return (w >> 15) & 31; }
constexpr std::uint32_t rs2_of(std::uint32_t w) { return (w >> 20) & 31; }
constexpr std::uint32_t f3_of(std::uint32_t w) { return (w >> 12) & 7; }
constexpr std::int32_t s(std::uint32_t value) { return static_cast<std::int32_t>(value); }
constexpr std::uint32_t u(std::int32_t value) { return static_cast<std::uint32_t>(value); }
constexpr std::uint32_t imm_i(std::uint32_t w) { return u(s(w) >> 20); }
constexpr std::uint32_t imm_s(std::uint32_t w) { return (u(s(w) >> 20) & ~31U) | rd_of(w); }
constexpr std::uint32_t imm_b(std::uint32_t w) {
  return (u(s(w) >> 19) & ~0xfffU) | (w << 4 & 0x800) | (w >> 20 & 0x7e0) | (w >> 7 & 0x1e);
}
constexpr std::uint32_t imm_j(std::uint32_t w) {
  return (u(s(w) >> 11) & ~0xfffffU) | (w & 0xff000) | (w >> 9 & 0x800) | (w >> 20 & 0x7fe);
}

}  // namespace

ControlCore::ControlCore(sc_core::sc_module_name name, const Scope& scope)
    : sc_module(name),
      bus("bus"),
      memory("memory"),
      clock_(scope, "clock", 900e6, "Hz", "of the core", {1e3, 1e11}),
      memory_size_(scope, "memory", 65536, "B", "local memory", {4096, 1 << 24}),
      quantum_(scope, "quantum", 1000, "", "cycles it may run ahead of simulated time",
               {1, 1 << 24}),
      cycle_ps_(seconds_to_ps(1.0 / clock_)),
      memory_(memory_size_, 0) {
  memory.register_b_transport(this, &ControlCore::b_transport);
  memory.register_get_direct_mem_ptr(this, &ControlCore::get_direct_mem_ptr);
  scope.stat("instructions", "", "instructions executed", instructions_);
  scope.stat("bus_accesses", "", "accesses outside the local memory", bus_accesses_);
  scope.stat("busy", "ps", "time not asleep", busy_);
  scope.stat("traps", "", "traps and interrupts taken", traps_);
  SC_THREAD(process);
}

void ControlCore::load(std::span<const std::uint8_t> elf) { pc_ = load_elf(elf, memory_); }

void ControlCore::set_external_interrupt(bool line) {
  mip_ = line ? mip_ | mip_meip : mip_ & ~mip_meip;
  if (line) interrupt_.notify(sc_core::SC_ZERO_TIME);
}

void ControlCore::process() {
  for (;;) {
    run_quantum();
    synchronise();
    if (waiting_) sleep();
  }
}

/// Brings simulated time to where the core is.
void ControlCore::synchronise() {
  if (ahead_ == 0) return;
  busy_ += ahead_ * cycle_ps_;
  sc_core::wait(from_ps(ahead_ * cycle_ps_));
  ahead_ = 0;
}

void ControlCore::sleep() {
  while ((mip_ & mie_) == 0) sc_core::wait(interrupt_);
  waiting_ = false;
}

void ControlCore::run_quantum() {
  while (ahead_ < quantum_ && !waiting_) {
    if ((mstatus_ & mstatus_mie) != 0 && (mip_ & mie_ & mip_meip) != 0) {
      enter_trap(external_cause, 0);
    }
    std::uint32_t word = 0;
    std::uint32_t length = 0;
    ++ahead_;
    if (!fetch(word, length)) {
      enter_trap(static_cast<std::uint32_t>(Trap::instruction_access), pc_);
      continue;
    }
    std::uint32_t next = pc_ + length;
    const Trap trap = execute(word, next);
    x_[0] = 0;
    if (trap == Trap::none) {
      pc_ = next;
      ++instructions_;
    } else {
      enter_trap(static_cast<std::uint32_t>(trap), trap == Trap::illegal_instruction ? word : 0);
    }
  }
}

bool ControlCore::fetch(std::uint32_t& word, std::uint32_t& length) {
  if (pc_ + 2 > memory_.size() || pc_ + 2 < pc_) return false;
  std::uint16_t half = 0;
  std::memcpy(&half, memory_.data() + pc_, sizeof half);
  if ((half & 3) != 3) {
    word = riscv::expand(half);
    length = 2;
    return true;
  }
  if (pc_ + 4 > memory_.size()) return false;
  std::memcpy(&word, memory_.data() + pc_, sizeof word);
  length = 4;
  return true;
}

ControlCore::Trap ControlCore::execute(std::uint32_t word, std::uint32_t& next) {
  const std::uint32_t a = x_[rs1_of(word)];
  const std::uint32_t b = x_[rs2_of(word)];
  std::uint32_t& rd = x_[rd_of(word)];
  switch (word & 0x7f) {
    case 0x37:
      rd = word & ~0xfffU;
      return Trap::none;
    case 0x17:
      rd = pc_ + (word & ~0xfffU);
      return Trap::none;
    case 0x6f: {
      const std::uint32_t to = pc_ + imm_j(word);
      rd = next;
      next = to;
      return Trap::none;
    }
    case 0x67:
      rd = next;
      next = (a + imm_i(word)) & ~1U;
      return Trap::none;
    case 0x63: {
      bool taken = false;
      switch (f3_of(word) & 6) {
        case 0:
          taken = a == b;
          break;
        case 4:
          taken = s(a) < s(b);
          break;
        case 6:
          taken = a < b;
          break;
        default:
          return Trap::illegal_instruction;
      }
      if (taken != ((f3_of(word) & 1) != 0)) next = pc_ + imm_b(word);
      return Trap::none;
    }
    case 0x03:
    case 0x23:
      return load_store(word);
    case 0x13:
    case 0x33:
      return compute(word, a, b, rd) ? Trap::none : Trap::illegal_instruction;
    case 0x0f:  // fence: memory is in order
      return Trap::none;
    case 0x73:
      return system(word, next);
    default:
      return Trap::illegal_instruction;
  }
}

bool ControlCore::compute(std::uint32_t word, std::uint32_t a, std::uint32_t b,
                          std::uint32_t& result) const {
  const bool immediate = (word & 0x20) == 0;
  const std::uint32_t f7 = word >> 25;
  if (immediate) b = imm_i(word);
  const std::uint32_t f3 = f3_of(word);
  if (!immediate && f7 == 1) {
    const auto wide_s = std::int64_t{s(a)};
    switch (f3) {
      case 0:
        result = a * b;
        break;
      case 1:
        result = static_cast<std::uint32_t>((wide_s * s(b)) >> 32);
        break;
      case 2:
        result = static_cast<std::uint32_t>((wide_s * std::int64_t{b}) >> 32);
        break;
      case 3:
        result = static_cast<std::uint32_t>((std::uint64_t{a} * b) >> 32);
        break;
      case 4:
        result = b == 0 ? ~0U : a == 0x8000'0000 && b == ~0U ? a : u(s(a) / s(b));
        break;
      case 5:
        result = b == 0 ? ~0U : a / b;
        break;
      case 6:
        result = b == 0 ? a : a == 0x8000'0000 && b == ~0U ? 0 : u(s(a) % s(b));
        break;
      default:
        result = b == 0 ? a : a % b;
    }
    return true;
  }
  const bool shift = f3 == 1 || f3 == 5;
  const bool alternative = f7 == 0x20 && (f3 == 5 || (!immediate && f3 == 0));
  if ((!immediate || shift) && f7 != 0 && !alternative) return false;
  switch (f3) {
    case 0:
      result = alternative ? a - b : a + b;
      break;
    case 1:
      result = a << (b & 31);
      break;
    case 2:
      result = s(a) < s(b) ? 1 : 0;
      break;
    case 3:
      result = a < b ? 1 : 0;
      break;
    case 4:
      result = a ^ b;
      break;
    case 5:
      result = alternative ? u(s(a) >> (b & 31)) : a >> (b & 31);
      break;
    case 6:
      result = a | b;
      break;
    default:
      result = a & b;
  }
  return true;
}

ControlCore::Trap ControlCore::load_store(std::uint32_t word) {
  const std::uint32_t f3 = f3_of(word);
  const unsigned bytes = 1U << (f3 & 3);
  if (bytes > 4) return Trap::illegal_instruction;
  if ((word & 0x20) != 0) {
    if (f3 > 2) return Trap::illegal_instruction;
    std::uint32_t value = x_[rs2_of(word)];
    const bool done = access(tlm::TLM_WRITE_COMMAND, x_[rs1_of(word)] + imm_s(word), value, bytes);
    return done ? Trap::none : Trap::store_access;
  }
  if (f3 > 5) return Trap::illegal_instruction;
  std::uint32_t value = 0;
  if (!access(tlm::TLM_READ_COMMAND, x_[rs1_of(word)] + imm_i(word), value, bytes)) {
    return Trap::load_access;
  }
  if (f3 == 0) value = u(static_cast<std::int8_t>(value));
  if (f3 == 1) value = u(static_cast<std::int16_t>(value));
  x_[rd_of(word)] = value;
  return Trap::none;
}

bool ControlCore::access(tlm::tlm_command command, std::uint32_t address, std::uint32_t& value,
                         unsigned bytes) {
  const bool write = command == tlm::TLM_WRITE_COMMAND;
  if (address < memory_.size() && bytes <= memory_.size() - address) {
    std::uint8_t* at = memory_.data() + address;
    write ? std::memcpy(at, &value, bytes) : std::memcpy(&value, at, bytes);
    return true;
  }
  synchronise();
  ++bus_accesses_;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  const bool done =
      write ? bus.write(address, &value, bytes, delay) : bus.read(address, &value, bytes, delay);
  busy_ += to_ps(delay);
  sc_core::wait(delay);
  return done;
}

std::uint32_t* ControlCore::csr(std::uint32_t number) {
  switch (number) {
    case 0x300:
      return &mstatus_;
    case 0x304:
      return &mie_;
    case 0x305:
      return &mtvec_;
    case 0x340:
      return &mscratch_;
    case 0x341:
      return &mepc_;
    case 0x342:
      return &mcause_;
    case 0x343:
      return &mtval_;
    case 0x344:
      return &mip_;
    default:
      return nullptr;
  }
}

ControlCore::Trap ControlCore::system(std::uint32_t word, std::uint32_t& next) {
  const std::uint32_t f3 = f3_of(word);
  if (f3 == 0) {
    switch (word) {
      case 0x0000'0073:
        return Trap::call;
      case 0x0010'0073:
        return Trap::breakpoint;
      case 0x1050'0073:
        waiting_ = true;
        return Trap::none;
      case 0x3020'0073:
        mstatus_ =
            (mstatus_ & mstatus_mpie) != 0 ? mstatus_ | mstatus_mie : mstatus_ & ~mstatus_mie;
        mstatus_ |= mstatus_mpie;
        next = mepc_;
        return Trap::none;
      default:
        return Trap::illegal_instruction;
    }
  }
  std::uint32_t* at = csr(word >> 20);
  if (at == nullptr || f3 == 4) return Trap::illegal_instruction;
  const std::uint32_t operand = f3 >= 5 ? rs1_of(word) : x_[rs1_of(word)];
  const std::uint32_t old = *at;
  const std::uint32_t changed = (f3 & 3) == 1   ? operand
                                : (f3 & 3) == 2 ? old | operand
                                                : old & ~operand;
  if (at != &mip_) *at = changed;  // its only bit follows the line
  x_[rd_of(word)] = old;
  return Trap::none;
}

void ControlCore::enter_trap(std::uint32_t cause, std::uint32_t value) {
  ++traps_;
  mepc_ = pc_;
  mcause_ = cause;
  mtval_ = value;
  mstatus_ = (mstatus_ & mstatus_mie) != 0 ? mstatus_ | mstatus_mpie : mstatus_ & ~mstatus_mpie;
  mstatus_ &= ~mstatus_mie;
  pc_ = mtvec_ & ~3U;
}

void ControlCore::b_transport(int, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const std::uint64_t address = payload.get_address();
  const unsigned bytes = payload.get_data_length();
  if (address >= memory_.size() || bytes > memory_.size() - address) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  std::uint8_t* at = memory_.data() + address;
  if (std::uint8_t* data = payload.get_data_ptr(); data != nullptr) {
    payload.is_write() ? std::memcpy(at, data, bytes) : std::memcpy(data, at, bytes);
  }
  delay += from_ps(cycle_ps_);
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
}

bool ControlCore::get_direct_mem_ptr(int, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) {
  if (payload.get_address() >= memory_.size()) return false;
  dmi.allow_read_write();
  dmi.set_start_address(0);
  dmi.set_end_address(memory_.size() - 1);
  dmi.set_dmi_ptr(memory_.data());
  return true;
}

}  // namespace steppe
