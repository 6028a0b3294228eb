// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/local_decoder.h"

#include "models/base/address.h"

namespace steppe {

LocalDecoder::LocalDecoder(sc_core::sc_module_name name, std::uint32_t chip, std::uint64_t begin,
                           Bytes size)
    : sc_module(name),
      from("from"),
      near("near"),
      far("far"),
      chip_(chip),
      begin_(begin),
      size_(size) {
  from.register_b_transport(this, &LocalDecoder::b_transport);
  from.register_get_direct_mem_ptr(this, &LocalDecoder::get_direct_mem_ptr);
}

bool LocalDecoder::is_near(std::uint64_t& address) const {
  if (address::is_host(address) || address::chip_of(address, chip_) != chip_) return false;
  const std::uint64_t local = address::local(address);
  if (local - begin_ >= size_) return false;
  address = local;
  return true;
}

void LocalDecoder::b_transport(int, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const std::uint64_t given = payload.get_address();
  std::uint64_t address = given;
  auto& next = is_near(address) ? near : far;
  payload.set_address(address);
  next->b_transport(payload, delay);
  payload.set_address(given);
}

bool LocalDecoder::get_direct_mem_ptr(int, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) {
  const std::uint64_t given = payload.get_address();
  std::uint64_t address = given;
  auto& next = is_near(address) ? near : far;
  payload.set_address(address);
  const bool granted = next->get_direct_mem_ptr(payload, dmi);
  payload.set_address(given);
  // The requester's form of the address may name the chip.
  dmi.set_start_address(dmi.get_start_address() + (given - address));
  dmi.set_end_address(dmi.get_end_address() + (given - address));
  return granted;
}

}  // namespace steppe
