// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/memory.h"

#include <sys/mman.h>

#include <cstring>

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

Memory::Memory(sc_core::sc_module_name name, const Scope& scope, std::uint64_t base, Bytes size,
               double bandwidth, double latency, Occupancy::Trace trace)
    : sc_module(name),
      socket("socket"),
      base_(base),
      size_(size),
      bandwidth_(bandwidth),
      latency_ps_(seconds_to_ps(latency)),
      store_(size),
      port_(scope, "", trace) {
  socket.register_b_transport(this, &Memory::b_transport);
  socket.register_get_direct_mem_ptr(this, &Memory::get_direct_mem_ptr);
}

void Memory::b_transport(int, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
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
  const std::uint64_t end =
      port_.reserve(now, now + to_ps(delay), transfer_ps(bytes, bandwidth_), bytes);
  delay = from_ps(end - now + latency_ps_);
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

SramParams::SramParams(const Scope& scope)
    : size(scope, "size", 21'495'808, "B", "capacity of the slice", {4096, Bytes{1} << 28}),
      bandwidth(scope, "bandwidth", 2.925e12, "B/s", "of all ports together", {1e6, 1e15}),
      latency(scope, "latency", 5e-9, "s", "from request to first byte", {0, 1e-3}) {}

Sram::Sram(sc_core::sc_module_name name, const Scope& scope, std::uint64_t base)
    : SramParams(scope),
      Memory(name, scope, base, SramParams::size, SramParams::bandwidth, SramParams::latency,
             Occupancy::Trace::no) {}

DramParams::DramParams(const Scope& scope)
    : fidelity(scope, "fidelity", "ideal", "how closely it is modelled", {"ideal"}),
      capacity(scope, "capacity", 20'000'000'000, "B", "of the chip", {1 << 20, Bytes{1} << 38}),
      bandwidth(scope, "bandwidth", 82e9, "B/s", "peak of all channels", {1e6, 1e14}),
      efficiency(scope, "efficiency", 0.92, "", "part of the peak that streaming reaches",
                 {0.01, 1.0}),
      latency(scope, "latency", 90e-9, "s", "from request to first byte", {0, 1e-3}) {}

Dram::Dram(sc_core::sc_module_name name, const Scope& scope, std::uint64_t base)
    : DramParams(scope),
      Memory(name, scope, base, capacity, DramParams::bandwidth * efficiency, DramParams::latency,
             Occupancy::Trace::yes) {}

}  // namespace steppe
