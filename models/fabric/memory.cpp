// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/memory.h"

#include <sys/mman.h>

#include <cstring>

#include "models/base/error.h"
#include "models/fabric/transport.h"

namespace steppe {

BackingStore::BackingStore(Bytes bytes) : bytes_(bytes) {
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    throw ConfigError("the host cannot map {} bytes for a simulated memory; lower its capacity",
                      bytes);
  }
  data_ = static_cast<std::uint8_t*>(mapped);
}

BackingStore::~BackingStore() { munmap(data_, bytes_); }

Memory::Memory(sc_core::sc_module_name name, std::uint64_t base, Bytes size)
    : sc_module(name), socket("socket"), base_(base), size_(size), store_(size) {
  socket.register_b_transport(this, &Memory::b_transport);
  socket.register_get_direct_mem_ptr(this, &Memory::get_direct_mem_ptr);
}

void Memory::b_transport(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const std::uint64_t offset = payload.get_address() - base_;
  const Bytes bytes = payload.get_data_length();
  if (offset >= size_ || bytes > size_ - offset) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  if (std::uint8_t* data = payload.get_data_ptr(); data != nullptr) {
    if (payload.is_write()) {
      std::memcpy(store_.data() + offset, data, bytes);
    } else {
      std::memcpy(data, store_.data() + offset, bytes);
    }
  }
  const std::uint64_t now = now_ps();
  const std::uint64_t end = serve(
      now, now + to_ps(delay), {static_cast<std::uint32_t>(id), offset, bytes, payload.is_write()});
  delay = from_ps(end - now);
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
}

bool Memory::get_direct_mem_ptr(int, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) {
  const std::uint64_t offset = payload.get_address() - base_;
  if (offset >= size_) return false;
  dmi.allow_read_write();
  dmi.set_start_address(base_);
  dmi.set_end_address(base_ + size_ - 1);
  dmi.set_dmi_ptr(store_.data());
  return true;
}

}  // namespace steppe
