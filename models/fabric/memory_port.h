// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <cstdint>
#include <systemc>
#include <tlm>
#include <vector>

#include "models/base/units.h"

namespace steppe {

/// An initiator's way to memory: time by blocking transport, bytes by direct memory pointers.
///
/// A transaction without data (null data pointer) reserves the path for its length and returns the
/// delay until its last byte has arrived; every target of Steppe takes it. Values move by pointers
/// from `direct`, so that functional and timing runs take the same time by construction. Registers
/// and other targets without direct memory are reached with data, by `read` and `write`.
class MemoryPort {
 public:
  explicit MemoryPort(const char* name);

  tlm_utils::simple_initiator_socket<MemoryPort> socket;

  /// Reserves the path for `bytes` at `address`, starting at now + delay; raises `delay` to the
  /// completion. False on an address error.
  [[nodiscard]] bool reserve(tlm::tlm_command command, std::uint64_t address, Bytes bytes,
                             sc_core::sc_time& delay);
  /// Transports real bytes; false on an address error.
  [[nodiscard]] bool read(std::uint64_t address, void* data, Bytes bytes, sc_core::sc_time& delay);
  [[nodiscard]] bool write(std::uint64_t address, const void* data, Bytes bytes,
                           sc_core::sc_time& delay);

  /// A pointer to `bytes` bytes at `address`; null where that range is not direct memory, or
  /// may not be written and `command` is a write. Cached.
  [[nodiscard]] std::uint8_t* direct(std::uint64_t address, Bytes bytes,
                                     tlm::tlm_command command = tlm::TLM_READ_COMMAND);

 private:
  bool transport(tlm::tlm_command command, std::uint64_t address, std::uint8_t* data, Bytes bytes,
                 sc_core::sc_time& delay);

  std::vector<tlm::tlm_dmi> regions_;
};

}  // namespace steppe
