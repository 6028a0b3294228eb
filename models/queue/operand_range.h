// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "models/base/error.h"
#include "models/base/units.h"
#include "models/fabric/memory_port.h"
#include "models/fabric/transport.h"
#include "models/queue/execution_unit.h"

namespace steppe {

/// The SRAM slice that a cluster's units reach.
struct SramRange {
  std::uint64_t base = 0;
  Bytes size = 0;

  [[nodiscard]] bool holds(std::uint64_t address, Bytes bytes) const {
    const std::uint64_t offset = address - base;
    return offset < size && bytes <= size - offset;
  }
};

/// Bytes from the first to the last byte of a row-by-row operand; saturates instead of overflowing.
inline Bytes span_bytes(std::uint64_t rows, std::uint64_t row_pitch, std::uint64_t items,
                        std::uint64_t item_pitch, std::uint64_t item_bytes) {
  if (rows == 0 || items == 0) return 0;
  const auto wide = static_cast<unsigned __int128>(rows - 1) * row_pitch +
                    static_cast<unsigned __int128>(items - 1) * item_pitch + item_bytes;
  return static_cast<Bytes>(std::min<unsigned __int128>(wide, ~Bytes{0}));
}

/// Reserves the SRAM for `read` and `written` bytes from now on; returns when the last has passed,
/// in picoseconds from now.
inline std::uint64_t reserve_sram(MemoryPort& port, const SramRange& sram, Bytes read,
                                  Bytes written) {
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  const auto pass = [&](tlm::tlm_command command, Bytes bytes) {
    // Operands are read again and again: the sum may be more than the memory holds.
    for (; bytes > 0; bytes -= std::min(bytes, sram.size)) {
      sc_core::sc_time part = sc_core::SC_ZERO_TIME;
      const bool granted = port.reserve(command, sram.base, std::min(bytes, sram.size), part);
      STEPPE_CHECK(granted, "the cluster's SRAM answers");
      delay = std::max(delay, part);
    }
  };
  pass(tlm::TLM_READ_COMMAND, read);
  pass(tlm::TLM_WRITE_COMMAND, written);
  return to_ps(delay);
}

}  // namespace steppe
