// SPDX-License-Identifier: Apache-2.0
#include "sim/host/host.h"

#include <cstring>

#include "models/base/address.h"

namespace steppe::sim {
namespace {

constexpr std::uint64_t page = 4096;

}  // namespace

Host::Host(sc_core::sc_module_name name, const Scope& scope)
    : sc_module(name),
      memory("memory"),
      mmio("mmio"),
      latency_(scope, "memory_latency", 100e-9, "s", "of the host's memory", {0, 1e-3}),
      latency_time_(latency_, sc_core::SC_SEC) {
  memory.register_b_transport(this, &Host::b_transport);
  memory.register_get_direct_mem_ptr(this, &Host::get_direct_mem_ptr);
  scope.stat("bytes_read", "B", "bytes the card read from host memory", read_);
  scope.stat("bytes_written", "B", "bytes the card wrote to host memory", written_);
}

std::uint64_t Host::bus_address(std::uint64_t offset) { return address::host_bit | offset; }

Host::Region& Host::add(Bytes bytes, std::uint64_t& offset) {
  offset = next_;
  // A page stays free between regions, so that what runs over the end of one is noticed.
  next_ += align_up(bytes, page) + page;
  auto region = std::make_unique<Region>();
  region->bytes = bytes;
  return *(regions_[offset] = std::move(region));
}

std::uint64_t Host::allocate(Bytes bytes) {
  std::uint64_t offset = 0;
  Region& region = add(bytes, offset);
  region.owned.resize(bytes);
  region.data = region.owned.data();
  region.writable = true;
  return offset;
}

std::uint64_t Host::map(std::span<const std::uint8_t> bytes) {
  std::uint64_t offset = 0;
  Region& region = add(bytes.size(), offset);
  region.data = const_cast<std::uint8_t*>(bytes.data());  // only read, see get_direct_mem_ptr
  return offset;
}

std::uint64_t Host::reserve(Bytes bytes) {
  std::uint64_t offset = 0;
  add(bytes, offset).writable = true;
  return offset;
}

std::uint8_t* Host::at(std::uint64_t offset) {
  std::uint64_t inner = 0;
  Region* region = find(bus_address(offset), 1, inner);
  STEPPE_CHECK(region != nullptr && region->data != nullptr, "host memory at {}", offset);
  return region->data + inner;
}

std::uint64_t Host::add_vector(std::function<void(const sc_core::sc_time&)> handler) {
  std::uint64_t offset = 0;
  add(sizeof(std::uint32_t), offset).on_message = std::move(handler);
  return offset;
}

Host::Region* Host::find(std::uint64_t address, Bytes bytes, std::uint64_t& offset) {
  if (!address::is_host(address)) return nullptr;
  const std::uint64_t wanted = address & ~address::host_bit;
  auto next = regions_.upper_bound(wanted);
  if (next == regions_.begin()) return nullptr;
  const auto& [begin, region] = *std::prev(next);
  offset = wanted - begin;
  const bool inside = offset < region->bytes && bytes <= region->bytes - offset;
  return inside ? region.get() : nullptr;
}

void Host::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  std::uint64_t offset = 0;
  const Bytes bytes = payload.get_data_length();
  Region* region = find(payload.get_address(), bytes, offset);
  if (region == nullptr) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
  if (region->on_message) {
    if (payload.is_write() && payload.get_data_ptr() != nullptr) region->on_message(delay);
    return;
  }
  if (payload.is_write() && !region->writable) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  (payload.is_write() ? written_ : read_) += bytes;
  if (payload.get_data_ptr() != nullptr && region->data != nullptr) {
    if (payload.is_write()) {
      std::memcpy(region->data + offset, payload.get_data_ptr(), bytes);
    } else {
      std::memcpy(payload.get_data_ptr(), region->data + offset, bytes);
    }
  }
  delay += latency_time_;
}

bool Host::get_direct_mem_ptr(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) {
  std::uint64_t offset = 0;
  const Region* region = find(payload.get_address(), 1, offset);
  if (region == nullptr || region->data == nullptr) return false;
  if (payload.is_write() && !region->writable) return false;
  const std::uint64_t begin = payload.get_address() - offset;
  dmi.set_start_address(begin);
  dmi.set_end_address(begin + region->bytes - 1);
  dmi.set_dmi_ptr(region->data);
  if (region->writable) {
    dmi.allow_read_write();
  } else {
    dmi.allow_read();
  }
  return true;
}

}  // namespace steppe::sim
