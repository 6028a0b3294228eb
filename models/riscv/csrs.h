// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace steppe::riscv {

/// Interrupts by their number in mcause and their bit in mip and mie.
enum class Interrupt : std::uint32_t { software = 3, timer = 7, external = 11 };

enum class Cause : std::uint32_t {
  instruction_access = 1,
  illegal_instruction = 2,
  breakpoint = 3,
  load_misaligned = 4,
  load_access = 5,
  store_misaligned = 6,
  store_access = 7,
  machine_call = 11,
};

/// The control and status registers of a hart that has machine mode only.
///
/// Present: misa, mvendorid, marchid, mimpid (0), mhartid, mconfigptr (0), mstatus, mstatush, mie,
/// mip, mtvec, mscratch, mepc, mcause, mtval, mcycle[h], minstret[h], mcountinhibit (0),
/// mhpmcounter3..31[h] and mhpmevent3..31 (0), and the user's read-only cycle[h] and instret[h].
/// All others are illegal.
class Csrs {
 public:
  Csrs(std::uint32_t hart, const std::uint64_t& cycles, const std::uint64_t& instructions)
      : hart_(hart), cycles_(cycles), instructions_(instructions) {}
  Csrs(const Csrs&) = delete;
  Csrs& operator=(const Csrs&) = delete;

  void reset();
  /// Nothing where there is no such register.
  [[nodiscard]] std::optional<std::uint32_t> read(std::uint32_t number) const;
  /// False where the register is read-only or missing. The instruction that writes is yet to be
  /// counted, and takes `cost` cycles.
  [[nodiscard]] bool write(std::uint32_t number, std::uint32_t value, std::uint32_t cost);

  void set_pending(Interrupt interrupt, bool pending);
  /// Whether an interrupt is pending and enabled in mie: what ends wfi, whatever mstatus says.
  [[nodiscard]] bool wakes() const { return (mip_ & mie_) != 0; }
  /// The interrupt to be taken now, of the highest priority; nothing where there is none.
  [[nodiscard]] std::optional<Interrupt> to_take() const;

  /// Saves what a trap saves; returns the address of its handler.
  std::uint32_t enter_trap(Cause cause, std::uint32_t pc, std::uint32_t value);
  std::uint32_t enter_interrupt(Interrupt interrupt, std::uint32_t pc);
  /// Undoes it; returns where to go on.
  std::uint32_t leave_trap();

 private:
  void enter(std::uint32_t cause, std::uint32_t pc, std::uint32_t value);

  std::uint32_t hart_;
  const std::uint64_t& cycles_;
  const std::uint64_t& instructions_;
  std::uint64_t cycle_offset_ = 0;
  std::uint64_t instruction_offset_ = 0;
  std::uint32_t mstatus_ = 0;  ///< MIE and MPIE; MPP is always machine mode
  std::uint32_t mie_ = 0;
  std::uint32_t mip_ = 0;
  std::uint32_t mtvec_ = 0;
  std::uint32_t mscratch_ = 0;
  std::uint32_t mepc_ = 0;
  std::uint32_t mcause_ = 0;
  std::uint32_t mtval_ = 0;
};

}  // namespace steppe::riscv
