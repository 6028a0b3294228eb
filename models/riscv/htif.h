// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>

namespace steppe::riscv {

/// The host's end of the "host-target interface" of bare RISC-V programs: a double word `tohost`
/// through which the program ends or prints. Bits 63 to 56 name a device, 55 to 48 its command.
///
///   device 0, odd payload     the program ends, with the result payload >> 1 (0: passed)
///   device 1, command 1       prints the payload's low byte; tohost is cleared, fromhost answers
///
/// Anything else (system calls, other devices) is an error. A 32-bit program writes the low half
/// first, so that what names no device is believed only when it is still there at the next look.
class Htif {
 public:
  /// `memory` begins at `base` and holds both double words; `fromhost` may be missing.
  Htif(std::span<std::uint8_t> memory, std::uint32_t base, std::uint32_t tohost,
       std::optional<std::uint32_t> fromhost, std::ostream& console);

  enum class Heard { nothing, unsure, printed, ended };
  /// Looks whether the program has said something, and answers. Where it is unsure, the next look
  /// decides. Throws MachineError on what it cannot answer.
  Heard look();
  /// The program's result once it has ended.
  [[nodiscard]] std::uint32_t result() const { return result_; }

 private:
  std::uint8_t* tohost_;
  std::uint8_t* fromhost_;
  std::ostream& console_;
  std::uint64_t last_ = 0;  ///< what the last look was unsure of
  std::uint32_t result_ = 0;
};

}  // namespace steppe::riscv
