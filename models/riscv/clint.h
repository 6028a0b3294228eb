// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace steppe::riscv {

/// Timer and software interrupt of one hart, in the register layout of SiFive's CLINT: msip at
/// offset 0, mtimecmp at 0x4000, mtime at 0xbff8. Time comes in from outside.
class Clint {
 public:
  static constexpr std::uint32_t base = 0x0200'0000;
  static constexpr std::uint32_t bytes = 0x1'0000;
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  /// mtime counts one every `tick_ps` picoseconds, from 0 at time 0.
  explicit Clint(std::uint64_t tick_ps) : tick_ps_(tick_ps) {}

  /// One access of a 32-bit word at `offset`, at the time `now_ps`; false where there is no
  /// register.
  [[nodiscard]] bool read(std::uint32_t offset, std::uint32_t& value, std::uint64_t now_ps) const;
  [[nodiscard]] bool write(std::uint32_t offset, std::uint32_t value, std::uint64_t now_ps);

  [[nodiscard]] bool software() const { return msip_; }
  [[nodiscard]] bool timer(std::uint64_t now_ps) const { return mtime(now_ps) >= mtimecmp_; }
  /// When the timer interrupt rises, at `now_ps` or later; `never` where that time cannot be told
  /// in 64 bits.
  [[nodiscard]] std::uint64_t timer_at(std::uint64_t now_ps) const;

 private:
  [[nodiscard]] std::uint64_t mtime(std::uint64_t now_ps) const {
    return now_ps / tick_ps_ + offset_;
  }

  std::uint64_t tick_ps_;
  std::uint64_t offset_ = 0;  ///< from writes to mtime
  std::uint64_t mtimecmp_ = never;
  bool msip_ = false;
};

}  // namespace steppe::riscv
