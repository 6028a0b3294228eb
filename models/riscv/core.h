// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "models/riscv/block_cache.h"
#include "models/riscv/csrs.h"

namespace steppe {

namespace riscv {

/// What the core reaches beyond its local memory.
class Bus {
 public:
  struct Answer {
    bool ok = false;           ///< false: an access fault
    std::uint64_t cycles = 0;  ///< that the access took, on top of the instruction's own
  };
  virtual ~Bus() = default;
  /// One access of 1, 2 or 4 bytes, aligned; values stand in the low bits. The core's counters are
  /// up to date when it is called.
  virtual Answer read(std::uint32_t address, std::uint32_t& value, unsigned bytes) = 0;
  virtual Answer write(std::uint32_t address, std::uint32_t value, unsigned bytes) = 0;
};

}  // namespace riscv

/// An instruction set simulator of RV32IMAC with machine mode, free of SystemC.
///
/// Instructions come from the local memory alone; loads and stores reach the bus too. Loads and
/// stores in the local memory may have any alignment; on the bus a misaligned one traps, and so do
/// atomics anywhere. Stores into code are seen at once; a change of code behind the core's back
/// (by a DMA) is seen after fence.i, as the architecture says.
class RiscvCore {
 public:
  enum class Stop {
    limit,   ///< the cycles were run
    bus,     ///< an access to the bus was made: interrupt lines may have changed
    sleep,   ///< in wfi, with nothing pending
    halted,  ///< a trap handler's first instruction traps: nothing else will ever happen
  };

  /// `memory` begins at `base`; both multiples of 4.
  RiscvCore(std::span<std::uint8_t> memory, std::uint32_t base, riscv::Bus& bus,
            const riscv::Timing& timing, std::uint32_t hart = 0);

  /// Starts at `pc` with registers 0. Counters of the host's side (below) go on.
  void reset(std::uint32_t pc);
  /// Runs until cycles() has reached `until`, or something else stops it. Passes `until` by at most
  /// one block.
  Stop run(std::uint64_t until);

  void set_interrupt(riscv::Interrupt interrupt, bool pending) {
    csrs_.set_pending(interrupt, pending);
  }
  /// Whether an interrupt is pending that ends wfi.
  [[nodiscard]] bool wakes() const { return csrs_.wakes(); }
  /// Others wrote to the local memory: forgets what was decoded there and a reservation there.
  void memory_changed(std::uint32_t address, std::uint64_t bytes);

  [[nodiscard]] std::uint32_t pc() const { return pc_; }
  [[nodiscard]] std::uint32_t x(unsigned number) const { return x_[number]; }
  [[nodiscard]] const riscv::Csrs& csrs() const { return csrs_; }
  [[nodiscard]] std::uint64_t cycles() const { return cycles_; }
  [[nodiscard]] std::uint64_t instructions() const { return instructions_; }
  [[nodiscard]] std::uint64_t traps() const { return traps_; }
  [[nodiscard]] std::uint64_t interrupts() const { return interrupts_; }
  /// Why the core halted; empty while it has not.
  [[nodiscard]] const std::string& halt_reason() const { return halt_reason_; }

 private:
  /// Runs fast operations. Returns the slow record it arrived at, with the counters and pc_ before
  /// it; null at the limit, or when pc_ has left the local memory.
  const riscv::Record* execute(std::uint64_t until);

  /// Executes a record that left the dispatch loop; returns a stop, or nothing to go on.
  std::optional<Stop> slow(const riscv::Record& record);
  std::optional<Stop> load(const riscv::Record& record);
  std::optional<Stop> store(const riscv::Record& record);
  void atomic(const riscv::Record& record);
  void load_reserved(const riscv::Record& record, std::uint32_t address);
  void store_conditional(const riscv::Record& record, std::uint32_t address);
  void modify(const riscv::Record& record, std::uint32_t address);
  void access_csr(const riscv::Record& record);
  void go_far(const riscv::Record& record);
  void write_local(std::uint32_t address, std::uint32_t value, unsigned bytes);
  [[nodiscard]] bool is_local(std::uint32_t address, unsigned bytes) const;

  void retire(const riscv::Record& record);
  void trap(riscv::Cause cause, std::uint32_t value);
  void take_interrupt(riscv::Interrupt interrupt);

  std::array<std::uint32_t, 33> x_{};  ///< the last: riscv::sink
  std::uint32_t pc_ = 0;
  std::uint64_t cycles_ = 0;
  std::uint64_t instructions_ = 0;
  std::span<std::uint8_t> memory_;
  std::uint32_t base_;
  riscv::Bus& bus_;
  riscv::Timing timing_;
  riscv::Csrs csrs_;
  riscv::BlockCache cache_;
  std::optional<std::uint32_t> reservation_;
  std::uint64_t traps_ = 0;
  std::uint64_t interrupts_ = 0;
  /// Where the last trap went and what had been executed then: trapping again from there without
  /// progress will never end.
  std::uint32_t handler_ = 0;
  std::uint64_t instructions_at_trap_ = ~std::uint64_t{0};
  std::string halt_reason_;
};

}  // namespace steppe
