// SPDX-License-Identifier: Apache-2.0
//
// What leaves the dispatch loop: accesses outside the local memory or into code, atomics, CSRs,
// traps, and what changes the flow of control in other ways than a jump.
#include <cstring>

#include "models/riscv/core.h"

namespace steppe {

using riscv::Cause;
using riscv::Op;
using riscv::Record;

namespace {

std::uint32_t get_word(const std::uint8_t* at) {
  std::uint32_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

unsigned width(Op op) {
  switch (op) {
    case Op::lw:
    case Op::sw:
      return 4;
    case Op::lh:
    case Op::lhu:
    case Op::sh:
      return 2;
    default:
      return 1;
  }
}

/// What a load of `value`'s low bits puts into the register.
std::uint32_t extended(Op load, std::uint32_t value) {
  switch (load) {
    case Op::lb:
      return static_cast<std::uint32_t>(static_cast<std::int8_t>(value));
    case Op::lbu:
      return value & 0xff;
    case Op::lh:
      return static_cast<std::uint32_t>(static_cast<std::int16_t>(value));
    case Op::lhu:
      return value & 0xffff;
    default:
      return value;
  }
}

/// What a read-modify-write stores, from the old value and the register.
std::uint32_t modified(Op op, std::uint32_t old, std::uint32_t operand) {
  const auto less = static_cast<std::int32_t>(old) < static_cast<std::int32_t>(operand);
  switch (op) {
    case Op::amoswap:
      return operand;
    case Op::amoadd:
      return old + operand;
    case Op::amoxor:
      return old ^ operand;
    case Op::amoand:
      return old & operand;
    case Op::amoor:
      return old | operand;
    case Op::amomin:
      return less ? old : operand;
    case Op::amomax:
      return less ? operand : old;
    case Op::amominu:
      return old < operand ? old : operand;
    default:
      return old < operand ? operand : old;
  }
}

bool holds(Op branch, std::uint32_t a, std::uint32_t b) {
  const auto less = static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b);
  switch (branch) {
    case Op::beq:
      return a == b;
    case Op::bne:
      return a != b;
    case Op::blt:
      return less;
    case Op::bge:
      return !less;
    case Op::bltu:
      return a < b;
    default:
      return a >= b;
  }
}

}  // namespace

std::optional<RiscvCore::Stop> RiscvCore::slow(const Record& record) {
  switch (record.op) {
    case Op::lb:
    case Op::lh:
    case Op::lw:
    case Op::lbu:
    case Op::lhu:
      return load(record);
    case Op::sb:
    case Op::sh:
    case Op::sw:
      return store(record);
    case Op::far_branch:
    case Op::far_jal:
      go_far(record);
      return {};
    case Op::csr:
      access_csr(record);
      return {};
    case Op::ecall:
      trap(Cause::machine_call, 0);
      return {};
    case Op::ebreak:
      trap(Cause::breakpoint, pc_);
      return {};
    case Op::illegal:
      trap(Cause::illegal_instruction, record.imm);
      return {};
    case Op::fetch_fault:
      trap(Cause::instruction_access, record.imm);
      return {};
    case Op::mret:
      retire(record);
      pc_ = csrs_.leave_trap();
      reservation_.reset();
      return {};
    case Op::wfi:
      retire(record);
      if (csrs_.wakes()) return {};
      return Stop::sleep;
    case Op::fence_i:
      retire(record);
      cache_.clear();
      return {};
    default:
      atomic(record);
      return {};
  }
}

/// Counts the instruction and goes to the next one.
void RiscvCore::retire(const Record& record) {
  ++instructions_;
  cycles_ += riscv::cost(record.op, timing_);
  pc_ = record.pc + record.length;
}

std::optional<RiscvCore::Stop> RiscvCore::load(const Record& record) {
  const unsigned bytes = width(record.op);
  const std::uint32_t address = x_[record.rs1] + record.imm + base_;
  if (address % bytes != 0) {
    trap(Cause::load_misaligned, address);
    return {};
  }
  std::uint32_t value = 0;
  const riscv::Bus::Answer answer = bus_.read(address, value, bytes);
  cycles_ += answer.cycles;
  if (!answer.ok) {
    trap(Cause::load_access, address);
    return Stop::bus;
  }
  x_[record.rd] = extended(record.op, value);
  retire(record);
  return Stop::bus;
}

std::optional<RiscvCore::Stop> RiscvCore::store(const Record& record) {
  const unsigned bytes = width(record.op);
  const std::uint32_t address = x_[record.rs1] + record.imm + base_;
  const std::uint32_t value = x_[record.rs2];
  if (is_local(address, bytes)) {
    write_local(address, value, bytes);
    retire(record);
    return {};
  }
  if (address % bytes != 0) {
    trap(Cause::store_misaligned, address);
    return {};
  }
  const riscv::Bus::Answer answer = bus_.write(address, value, bytes);
  cycles_ += answer.cycles;
  if (answer.ok) {
    retire(record);
  } else {
    trap(Cause::store_access, address);
  }
  return Stop::bus;
}

void RiscvCore::write_local(std::uint32_t address, std::uint32_t value, unsigned bytes) {
  std::memcpy(memory_.data() + (address - base_), &value, bytes);
  if (cache_.holds_code(address - base_, bytes)) cache_.clear();
}

void RiscvCore::atomic(const Record& record) {
  const std::uint32_t address = x_[record.rs1];
  const bool is_load = record.op == Op::lr;
  if (address % 4 != 0) {
    trap(is_load ? Cause::load_misaligned : Cause::store_misaligned, address);
  } else if (!is_local(address, 4)) {
    trap(is_load ? Cause::load_access : Cause::store_access, address);
  } else if (is_load) {
    load_reserved(record, address);
  } else if (record.op == Op::sc) {
    store_conditional(record, address);
  } else {
    modify(record, address);
  }
}

void RiscvCore::load_reserved(const Record& record, std::uint32_t address) {
  reservation_ = address;
  x_[record.rd] = get_word(memory_.data() + (address - base_));
  retire(record);
}

void RiscvCore::store_conditional(const Record& record, std::uint32_t address) {
  const bool succeeds = reservation_ == address;
  reservation_.reset();
  if (succeeds) write_local(address, x_[record.rs2], 4);
  x_[record.rd] = succeeds ? 0 : 1;
  retire(record);
}

void RiscvCore::modify(const Record& record, std::uint32_t address) {
  const std::uint32_t old = get_word(memory_.data() + (address - base_));
  write_local(address, modified(record.op, old, x_[record.rs2]), 4);
  x_[record.rd] = old;
  retire(record);
}

void RiscvCore::access_csr(const Record& record) {
  const unsigned function = record.rs2 & 3;
  const bool is_immediate = (record.rs2 & 4) != 0;
  const std::uint32_t operand = is_immediate ? record.rs1 : x_[record.rs1];
  const bool writes = function == 1 || record.rs1 != 0;
  const std::optional<std::uint32_t> old = csrs_.read(record.imm);
  bool ok = old.has_value();
  if (ok && writes) {
    const std::uint32_t changed = function == 1   ? operand
                                  : function == 2 ? *old | operand
                                                  : *old & ~operand;
    ok = csrs_.write(record.imm, changed, riscv::cost(record.op, timing_));
  }
  if (!ok) {
    // The instruction again, from what the record keeps of it.
    const std::uint32_t rd = record.rd == riscv::sink ? 0 : record.rd;
    trap(Cause::illegal_instruction, record.imm << 20 | std::uint32_t{record.rs1} << 15 |
                                         std::uint32_t{record.rs2} << 12 | rd << 7 | 0x73);
    return;
  }
  x_[record.rd] = *old;
  retire(record);
}

/// A jump to where no instruction can be fetched; the fetch traps, not the jump.
void RiscvCore::go_far(const Record& record) {
  const std::uint32_t next = record.pc + record.length;
  retire(record);
  if (record.op == Op::far_jal) {
    x_[record.rd] = next;
    pc_ = record.imm;
  } else if (holds(static_cast<Op>(record.rd), x_[record.rs1], x_[record.rs2])) {
    pc_ = record.imm;
    cycles_ += timing_.taken_jump;
  }
}

}  // namespace steppe
