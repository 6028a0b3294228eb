// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tlm_utils/multi_passthrough_target_socket.h>
#include <tlm_utils/simple_initiator_socket.h>

#include <cstdint>
#include <systemc>
#include <tlm>

#include "models/base/units.h"

namespace steppe {

/// Sends what lies in a range of local addresses straight to the device next door, all else on to
/// the network. Takes no time.
class LocalDecoder : public sc_core::sc_module {
 public:
  tlm_utils::multi_passthrough_target_socket<LocalDecoder> from;
  tlm_utils::simple_initiator_socket<LocalDecoder> near;  ///< local addresses [begin, begin + size)
  tlm_utils::simple_initiator_socket<LocalDecoder> far;

  LocalDecoder(sc_core::sc_module_name name, std::uint32_t chip, std::uint64_t begin, Bytes size);

 private:
  /// Whether the address is next door; turns it into its local form then.
  [[nodiscard]] bool is_near(std::uint64_t& address) const;
  void b_transport(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  bool get_direct_mem_ptr(int id, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi);

  std::uint32_t chip_;
  std::uint64_t begin_;
  Bytes size_;
};

}  // namespace steppe
