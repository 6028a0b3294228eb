// SPDX-License-Identifier: Apache-2.0
#include "models/riscv/block_cache.h"

#include <algorithm>
#include <cstring>

#include "models/base/error.h"

namespace steppe::riscv {
namespace {

constexpr std::size_t pool_records = 1 << 16;
constexpr std::uint8_t in_this_word = 1;
constexpr std::uint8_t in_next_word = 2;

}  // namespace

std::uint32_t cost(Op op, const Timing& timing) {
  switch (op) {
    case Op::mul:
    case Op::mulh:
    case Op::mulhsu:
    case Op::mulhu:
      return timing.multiply;
    case Op::div:
    case Op::divu:
    case Op::rem:
    case Op::remu:
      return timing.divide;
    case Op::lb:
    case Op::lh:
    case Op::lw:
    case Op::lbu:
    case Op::lhu:
      return timing.load;
    case Op::sb:
    case Op::sh:
    case Op::sw:
      return timing.store;
    case Op::jal:
    case Op::jalr:
    case Op::far_jal:
      return timing.alu + timing.taken_jump;
    case Op::chain:
      return 0;
    default:
      break;
  }
  if (!is_slow(op) || op == Op::far_branch) return timing.alu;
  return op >= Op::lr && op <= Op::amomaxu ? timing.atomic : timing.system;
}

BlockCache::BlockCache(std::span<const std::uint8_t> memory, std::uint32_t base,
                       const Timing& timing)
    : memory_(memory),
      base_(base),
      timing_(timing),
      pool_(pool_records),
      block_(memory.size() / 2, 0),
      code_(memory.size() / 4, 0) {
  STEPPE_CHECK(memory.size() % 4 == 0 && base % 4 == 0 && memory.size() >= 4);
}

Record BlockCache::next(std::uint32_t offset) const {
  const std::uint32_t pc = base_ + offset;
  Record fault;
  fault.op = Op::fetch_fault;
  fault.pc = pc;
  fault.imm = pc;
  if (offset >= memory_.size()) return fault;
  std::uint16_t low = 0;
  std::memcpy(&low, memory_.data() + offset, sizeof low);
  if ((low & 3) != 3) return decode(low, pc);
  if (offset + 4 > memory_.size()) {
    fault.imm = pc + 2;
    return fault;
  }
  std::uint32_t word = 0;
  std::memcpy(&word, memory_.data() + offset, sizeof word);
  return decode(word, pc);
}

void BlockCache::localise(Record& record) const {
  if (record.op >= Op::lb && record.op <= Op::sw) record.imm -= base_;
  if (record.op < Op::beq || record.op > Op::jal) return;
  const std::uint32_t offset = record.imm - base_;
  if (offset < memory_.size()) {
    record.imm = offset / 2;
  } else if (record.op == Op::jal) {
    record.op = Op::far_jal;
  } else {
    record.rd = static_cast<std::uint8_t>(record.op);  // a branch has no rd
    record.op = Op::far_branch;
  }
}

void BlockCache::mark(const Record& record) {
  const std::uint32_t offset = record.pc - base_;
  for (std::uint32_t at = offset; at < offset + record.length; at += 2) {
    code_[at / 4] |= in_this_word;
    if (at >= 4) code_[at / 4 - 1] |= in_next_word;
  }
}

const Record* BlockCache::translate(std::uint32_t index) {
  if (used_ + max_block + 1 > pool_.size()) clear();
  const std::size_t first = used_;
  block_[index] = static_cast<std::uint32_t>(first);
  std::uint32_t offset = index * 2;
  for (;;) {
    Record record = next(offset);
    if (used_ - first == max_block && record.op != Op::fetch_fault) {
      record = {.op = Op::chain, .imm = offset / 2, .pc = record.pc};
    }
    localise(record);
    mark(record);
    pool_[used_++] = record;
    if (ends_block(record.op)) break;
    offset += record.length;
  }
  account(first);
  return pool_.data() + first;
}

/// Fills in what each record of the block counts, from the last to the first.
void BlockCache::account(std::size_t first) {
  std::uint32_t count = 0;
  std::uint32_t cycles = 0;
  for (std::size_t at = used_; at-- > first;) {
    Record& record = pool_[at];
    count += record.op == Op::chain ? 0 : 1;
    cycles += cost(record.op, timing_);
    record.count = static_cast<std::uint8_t>(count);
    record.cycles = static_cast<std::uint16_t>(cycles);
  }
}

bool BlockCache::holds_code(std::uint32_t offset, std::uint32_t bytes) const {
  const std::size_t end =
      std::min<std::size_t>((std::size_t{offset} + bytes + 3) / 4, code_.size());
  for (std::size_t word = offset / 4; word < end; ++word) {
    if ((code_[word] & in_this_word) != 0) return true;
  }
  return false;
}

void BlockCache::clear() {
  for (std::size_t i = 1; i < used_; ++i) {
    const Record& record = pool_[i];
    const std::uint32_t offset = record.pc - base_;
    if (offset < memory_.size()) block_[offset / 2] = 0;
    for (std::uint32_t at = offset; at < offset + record.length; at += 2) {
      code_[at / 4] = 0;
      if (at >= 4) code_[at / 4 - 1] = 0;
    }
  }
  used_ = 1;
}

}  // namespace steppe::riscv
