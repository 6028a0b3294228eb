// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace steppe::riscv {

/// The interrupt controller of one hart in machine mode, in the register layout of the RISC-V PLIC
/// (specification 1.0.0): priority of source n at offset 4 n, pending bits at 0x1000, enable bits
/// at 0x2000, threshold at 0x20'0000, claim and complete at 0x20'0004.
///
/// Sources are levels. One is pending while its line is high and it has not been claimed;
/// completing it lets it become pending again. Other than in the specification a request is
/// withdrawn where the line falls before the claim, so that a program may also serve the device
/// alone. At reset the first source is enabled with priority 1 and the threshold is 0: a program
/// that knows the external interrupt of its hart alone needs no set-up.
class Plic {
 public:
  static constexpr std::uint32_t base = 0x0c00'0000;
  static constexpr std::uint32_t bytes = 0x40'0000;
  static constexpr unsigned sources = 31;  ///< from 1
  static constexpr std::uint32_t largest_priority = 7;

  Plic() { priority_[1] = 1; }

  /// One access of a 32-bit word at `offset`; false where there is no register. Reading the claim
  /// register claims. Priority and threshold keep their low three bits.
  [[nodiscard]] bool read(std::uint32_t offset, std::uint32_t& value);
  [[nodiscard]] bool write(std::uint32_t offset, std::uint32_t value);

  void set_line(unsigned source, bool high);
  /// The hart's external interrupt: an enabled source is pending above the threshold.
  [[nodiscard]] bool interrupt() const { return best(threshold_) != 0; }

 private:
  [[nodiscard]] std::uint32_t pending() const { return lines_ & ~claimed_; }
  /// The pending, enabled source of the highest priority above `floor`, of equals the lowest; 0 for
  /// none.
  [[nodiscard]] unsigned best(std::uint32_t floor) const;

  std::array<std::uint32_t, sources + 1> priority_{};
  std::uint32_t lines_ = 0;
  std::uint32_t claimed_ = 0;
  std::uint32_t enabled_ = 1U << 1;
  std::uint32_t threshold_ = 0;
};

}  // namespace steppe::riscv
