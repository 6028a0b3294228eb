// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tlm_utils/multi_passthrough_target_socket.h>

#include <cstdint>
#include <systemc>
#include <tlm>

#include "models/base/units.h"

namespace steppe {

/// Zeroed memory of the host that is taken page by page as it is touched.
class BackingStore {
 public:
  explicit BackingStore(Bytes bytes);
  ~BackingStore();
  BackingStore(const BackingStore&) = delete;
  BackingStore& operator=(const BackingStore&) = delete;
  [[nodiscard]] std::uint8_t* data() const { return data_; }

 private:
  Bytes bytes_;
  std::uint8_t* data_;
};

/// Storage that initiators share, with direct memory; how long a transaction takes is for the kind
/// of memory to say. Base of Sram and Dram.
class Memory : public sc_core::sc_module {
 public:
  tlm_utils::multi_passthrough_target_socket<Memory> socket;

  [[nodiscard]] Bytes size() const { return size_; }

 protected:
  struct Request {
    std::uint32_t initiator;  ///< in the order of binding
    std::uint64_t offset;
    Bytes bytes;
    bool write;
  };
  Memory(sc_core::sc_module_name name, std::uint64_t base, Bytes size);

 private:
  /// Takes what the request needs from `start` on; returns when its last byte has arrived. A
  /// request of 0 bytes is a probe and takes nothing.
  virtual std::uint64_t serve(std::uint64_t now, std::uint64_t start, const Request& request) = 0;
  void b_transport(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  bool get_direct_mem_ptr(int id, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi);

  std::uint64_t base_;
  Bytes size_;
  BackingStore store_;
};

}  // namespace steppe
