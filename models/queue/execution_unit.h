// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "models/isa/isa.h"

namespace steppe {

enum class FaultCode : std::uint32_t {
  none = 0,
  bad_instruction = 1,  ///< unknown opcode, padding not zero, or not of this queue
  bad_address = 2,      ///< nothing there, or outside what the unit reaches
  bad_operand = 3,      ///< a field that contradicts another or exceeds the hardware
  loop_nesting = 4,
  stream_overrun = 5,  ///< the stream ended without `end`
};

struct Fault {
  FaultCode code = FaultCode::none;
  std::uint64_t address = 0;  ///< for bad_address
  [[nodiscard]] explicit operator bool() const { return code != FaultCode::none; }
};

/// What a queue hands to its unit: the instruction and the queue's base registers.
struct Command {
  const isa::Header& header;
  const isa::Operation& operation;
  std::span<const std::uint64_t, isa::base_registers> base;

  /// base[reg] + offset
  [[nodiscard]] std::uint64_t address(std::uint32_t reg, std::uint64_t offset) const {
    return base[reg] + offset;
  }
};

/// Executes one instruction after another on behalf of one queue.
class ExecutionUnit {
 public:
  virtual ~ExecutionUnit() = default;
  /// Runs in the queue's SystemC thread and waits there until the instruction has completed. A
  /// guest mistake comes back as a fault; nothing is thrown for it.
  virtual Fault execute(const Command& command) = 0;
};

}  // namespace steppe
