// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
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

/// A 64-bit counter that software writes in halves and stops, over one that always runs.
class HartCounter {
 public:
  explicit HartCounter(const std::uint64_t& running) : running_(running) {}
  [[nodiscard]] std::uint64_t value() const { return is_stopped_ ? kept_ : running_ + kept_; }
  [[nodiscard]] bool is_stopped() const { return is_stopped_; }
  /// From when the counter below has gone on by `ahead`, this one reads `value`.
  void set(std::uint64_t value, std::uint64_t ahead) {
    kept_ = is_stopped_ ? value : value - (running_ + ahead);
  }
  /// Stops or goes on when the counter below has gone on by `ahead`.
  void stop(bool stopped, std::uint64_t ahead) {
    if (stopped == is_stopped_) return;
    const std::uint64_t now = is_stopped_ ? kept_ : value() + ahead;
    is_stopped_ = stopped;
    set(now, ahead);
  }

 private:
  const std::uint64_t& running_;
  std::uint64_t kept_ = 0;  ///< the value itself while stopped, else what is added
  bool is_stopped_ = false;
};

/// The control and status registers of a hart that has machine mode only; README.md has the table.
/// Those that are not there are illegal.
class Csrs {
 public:
  static constexpr unsigned pmp_entries = 16;

  Csrs(std::uint32_t hart, const std::uint64_t& cycles, const std::uint64_t& instructions)
      : hart_(hart), cycle_(cycles), instret_(instructions) {}
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
  [[nodiscard]] std::optional<std::uint32_t> read_pmp(std::uint32_t number) const;
  [[nodiscard]] bool write_pmp(std::uint32_t number, std::uint32_t value);
  void enter(std::uint32_t cause, std::uint32_t pc, std::uint32_t value);

  std::uint32_t hart_;
  HartCounter cycle_;
  HartCounter instret_;
  std::uint32_t mstatus_ = 0;  ///< MIE and MPIE; MPP is always machine mode
  std::uint32_t mie_ = 0;
  std::uint32_t mip_ = 0;
  std::uint32_t mtvec_ = 0;
  std::uint32_t mscratch_ = 0;
  std::uint32_t mepc_ = 0;
  std::uint32_t mcause_ = 0;
  std::uint32_t mtval_ = 0;
  std::array<std::uint32_t, pmp_entries / 4> pmpcfg_{};
  std::array<std::uint32_t, pmp_entries> pmpaddr_{};
};

}  // namespace steppe::riscv
