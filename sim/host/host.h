// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <systemc>
#include <tlm>
#include <vector>

#include "models/base/param.h"
#include "models/fabric/memory_port.h"

namespace steppe::sim {

/// The host as the card sees it: memory, and a place for interrupt messages. It can be replaced by
/// anything that speaks TLM, for example the socket of a real driver.
///
/// Memory is made of regions. Addresses are offsets; on the bus they carry address::host_bit.
class Host : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<Host> memory;  ///< what the card reads and writes
  MemoryPort mmio;                               ///< to the registers of the card

  Host(sc_core::sc_module_name name, const Scope& scope);

  /// Zeroed memory.
  std::uint64_t allocate(Bytes bytes);
  /// Bytes that stay where they are and may only be read; they outlive this.
  std::uint64_t map(std::span<const std::uint8_t> bytes);
  /// Addresses without contents, for timing: reservations pass, values do not.
  std::uint64_t reserve(Bytes bytes);
  /// The memory behind an allocated offset.
  std::uint8_t* at(std::uint64_t offset);

  /// An address for interrupt messages of one vector; `handler` is called with the time
  /// until the message is there.
  std::uint64_t add_vector(std::function<void(const sc_core::sc_time& delay)> handler);

  static std::uint64_t bus_address(std::uint64_t offset);

 private:
  struct Region {
    Bytes bytes = 0;
    std::uint8_t* data = nullptr;  ///< null without contents
    bool writable = false;
    std::vector<std::uint8_t> owned;
    std::function<void(const sc_core::sc_time&)> on_message;
  };
  Region& add(Bytes bytes, std::uint64_t& offset);
  /// The region that holds the range, and where in it; null where there is none.
  Region* find(std::uint64_t address, Bytes bytes, std::uint64_t& offset);
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  bool get_direct_mem_ptr(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi);

  Param<double> latency_;
  sc_core::sc_time latency_time_;
  std::map<std::uint64_t, std::unique_ptr<Region>> regions_;
  std::uint64_t next_ = 0x1000;
  Counter read_;
  Counter written_;
};

}  // namespace steppe::sim
