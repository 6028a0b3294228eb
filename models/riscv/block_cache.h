// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/riscv/decode.h"
#include "models/riscv/timing.h"

namespace steppe::riscv {

/// What an instruction takes by itself: no bus, branch not taken.
std::uint32_t cost(Op op, const Timing& timing);

/// The local memory's instructions in decoded form, in blocks.
///
/// A block begins where a jump arrived and holds the records of consecutive instructions up to a
/// jump or an instruction that leaves the dispatch loop, at most `max_block` of them; a `chain`
/// record closes one that was cut there. Each record counts instructions and cycles to the end of
/// its block, so that the loop accounts once for a whole block.
class BlockCache {
 public:
  static constexpr unsigned max_block = 64;

  /// `memory` begins at address `base`; its size is a multiple of 4.
  BlockCache(std::span<const std::uint8_t> memory, std::uint32_t base, const Timing& timing);

  /// The record at halfword `index` of the memory; an `undecoded` one where no block begins there.
  [[nodiscard]] const Record* find(std::uint32_t index) const {
    return pool_.data() + block_[index];
  }
  [[nodiscard]] const Record* pool() const { return pool_.data(); }
  [[nodiscard]] const std::uint32_t* blocks() const { return block_.data(); }
  /// Decodes the block that begins at halfword `index`.
  const Record* translate(std::uint32_t index);

  /// One byte for each word of the memory: not 0 where a decoded instruction lies in it or in the
  /// next, so that one look decides for a store of any alignment.
  [[nodiscard]] const std::uint8_t* code() const { return code_.data(); }
  /// Whether a decoded instruction lies in `bytes` bytes at `offset` of the memory.
  [[nodiscard]] bool holds_code(std::uint32_t offset, std::uint32_t bytes) const;
  /// Forgets all blocks. Records stay readable until the next translation.
  void clear();

 private:
  Record next(std::uint32_t offset) const;
  /// Turns addresses into offsets and indices, see operations.def.
  void localise(Record& record) const;
  void mark(const Record& record);
  void account(std::size_t first);

  std::span<const std::uint8_t> memory_;
  std::uint32_t base_;
  Timing timing_;
  std::vector<Record> pool_;  ///< of fixed size; the first record is the undecoded one
  std::size_t used_ = 1;
  std::vector<std::uint32_t> block_;  ///< by halfword: index into pool_, 0 for none
  std::vector<std::uint8_t> code_;
};

}  // namespace steppe::riscv
