// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/memory_port.h"

namespace steppe {

MemoryPort::MemoryPort(const char* name) : socket(name) {}

bool MemoryPort::transport(tlm::tlm_command command, std::uint64_t address, std::uint8_t* data,
                           Bytes bytes, sc_core::sc_time& delay) {
  // A local payload: the call may wait in a process, and another process may use this port
  // meanwhile.
  tlm::tlm_generic_payload payload;
  payload.set_command(command);
  payload.set_address(address);
  payload.set_data_ptr(data);
  payload.set_data_length(static_cast<unsigned>(bytes));
  payload.set_streaming_width(static_cast<unsigned>(bytes));
  payload.set_byte_enable_ptr(nullptr);
  payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  socket->b_transport(payload, delay);
  return payload.is_response_ok();
}

bool MemoryPort::reserve(tlm::tlm_command command, std::uint64_t address, Bytes bytes,
                         sc_core::sc_time& delay) {
  return transport(command, address, nullptr, bytes, delay);
}

bool MemoryPort::read(std::uint64_t address, void* data, Bytes bytes, sc_core::sc_time& delay) {
  return transport(tlm::TLM_READ_COMMAND, address, static_cast<std::uint8_t*>(data), bytes, delay);
}

bool MemoryPort::write(std::uint64_t address, const void* data, Bytes bytes,
                       sc_core::sc_time& delay) {
  // A write does not change the data; the payload's pointer is for both directions.
  auto* bytes_to_write = static_cast<std::uint8_t*>(const_cast<void*>(data));
  return transport(tlm::TLM_WRITE_COMMAND, address, bytes_to_write, bytes, delay);
}

std::uint8_t* MemoryPort::direct(std::uint64_t address, Bytes bytes, tlm::tlm_command command) {
  const auto holds = [&](const tlm::tlm_dmi& region) {
    return address >= region.get_start_address() && address <= region.get_end_address() &&
           bytes <= region.get_end_address() - address + 1 &&
           (command != tlm::TLM_WRITE_COMMAND || region.is_write_allowed());
  };
  for (const tlm::tlm_dmi& region : regions_) {
    if (holds(region)) return region.get_dmi_ptr() + (address - region.get_start_address());
  }
  tlm::tlm_generic_payload payload;
  payload.set_command(command);
  payload.set_address(address);
  payload.set_data_length(static_cast<unsigned>(bytes));
  tlm::tlm_dmi region;
  if (!socket->get_direct_mem_ptr(payload, region) || !holds(region)) return nullptr;
  regions_.push_back(region);
  return region.get_dmi_ptr() + (address - region.get_start_address());
}

}  // namespace steppe
