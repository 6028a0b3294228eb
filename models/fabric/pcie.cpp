// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/pcie.h"

#include <algorithm>
#include <array>

#include "models/base/address.h"
#include "models/fabric/transport.h"

namespace steppe {

DuplexLink::DuplexLink(sc_core::sc_module_name name, const Scope& scope)
    : sc_module(name),
      a_in("a_in"),
      a_out("a_out"),
      b_in("b_in"),
      b_out("b_out"),
      a_to_b_(scope, "downstream.", Occupancy::Trace::yes),
      b_to_a_(scope, "upstream.", Occupancy::Trace::yes) {
  a_in.register_b_transport(this, &DuplexLink::b_transport, 0);
  b_in.register_b_transport(this, &DuplexLink::b_transport, 1);
  a_in.register_get_direct_mem_ptr(this, &DuplexLink::get_direct_mem_ptr, 0);
  b_in.register_get_direct_mem_ptr(this, &DuplexLink::get_direct_mem_ptr, 1);
}

void DuplexLink::set_rates(double wire_bandwidth, double latency) {
  wire_bandwidth_ = wire_bandwidth;
  latency_ps_ = seconds_to_ps(latency);
}

double DuplexLink::payload_bandwidth() const {
  constexpr Bytes much = Bytes{1} << 20;
  return wire_bandwidth_ * static_cast<double>(much) / static_cast<double>(wire_bytes(much));
}

void DuplexLink::b_transport(int from_b, tlm::tlm_generic_payload& payload,
                             sc_core::sc_time& delay) {
  const Bytes bytes = payload.get_data_length();
  const std::uint64_t now = now_ps();
  Occupancy& outward = from_b != 0 ? b_to_a_ : a_to_b_;
  Occupancy& homeward = from_b != 0 ? a_to_b_ : b_to_a_;
  const std::uint64_t duration = transfer_ps(wire_bytes(bytes), wire_bandwidth_);

  std::uint64_t start = now + to_ps(delay);
  std::uint64_t all_asked = start;
  if (payload.is_read()) {
    // Requests do not pass what travels before them; the first of them starts the data.
    const std::uint64_t request_ps = transfer_ps(request_bytes(bytes), wire_bandwidth_);
    all_asked = outward.reserve(now, start, request_ps, 0);
    start = all_asked - request_ps;
  }
  delay = from_ps(start + latency_ps_ - now);
  (from_b != 0 ? a_out : b_out)->b_transport(payload, delay);
  if (!payload.is_response_ok()) return;

  const std::uint64_t done = now + to_ps(delay);
  std::uint64_t end = 0;
  if (payload.is_read()) {
    // Data take the wire when they come from the target, no earlier: the way is free until then.
    const std::uint64_t first = std::max(start + latency_ps_, done - std::min(done, duration));
    end = std::max(homeward.reserve(now, first, duration, bytes), all_asked + latency_ps_);
    end += latency_ps_;
  } else {
    end = std::max(outward.reserve(now, start, duration, bytes) + latency_ps_, done);
  }
  delay = from_ps(end - now);
}

bool DuplexLink::get_direct_mem_ptr(int from_b, tlm::tlm_generic_payload& payload,
                                    tlm::tlm_dmi& dmi) {
  return (from_b != 0 ? a_out : b_out)->get_direct_mem_ptr(payload, dmi);
}

PcieLink::PcieLink(sc_core::sc_module_name name, const Scope& scope)
    : DuplexLink(name, scope),
      generation_(scope, "generation", 3, "", "PCI Express generation", {1, 5}),
      lanes_(scope, "lanes", 16, "", "width", {1, 32}),
      max_payload_(scope, "max_payload", 256, "B", "payload of a packet", {64, 4096}),
      max_read_request_(scope, "max_read_request", 512, "B", "data that one read request asks for",
                        {64, 4096}),
      packet_overhead_(scope, "packet_overhead", 24, "B",
                       "header, sequence number, CRC and framing", {0, 64}),
      latency_(scope, "latency", 250e-9, "s", "one way, both ends' layers included", {0, 1e-3}) {
  // PCI Express Base Specification: 2.5, 5, 8, 16, 32 GT/s; 8b/10b up to generation 2, then
  // 128b/130b.
  constexpr std::array rates{2.5e9, 5e9, 8e9, 16e9, 32e9};
  const double coding = generation_ <= 2 ? 8.0 / 10 : 128.0 / 130;
  set_rates(rates.at(generation_ - 1) * coding * lanes_ / 8, latency_);
}

Bytes PcieLink::wire_bytes(Bytes bytes) const {
  return bytes + ceil_div<Bytes>(bytes, max_payload_) * packet_overhead_;
}

Bytes PcieLink::request_bytes(Bytes bytes) const {
  return ceil_div<Bytes>(bytes, max_read_request_) * packet_overhead_;
}

ChipLink::ChipLink(sc_core::sc_module_name name, const Scope& scope)
    : DuplexLink(name, scope),
      bandwidth_(scope, "bandwidth", 50e9, "B/s", "each way", {1e6, 1e13}),
      latency_(scope, "latency", 100e-9, "s", "one way", {0, 1e-3}),
      credits_(scope, "credits", 65536, "B", "bytes that may be under way", {64, 1 << 30}) {
  const double round_trip = 2 * latency_;
  const double by_credits =
      round_trip > 0 ? static_cast<double>(credits_) / round_trip : bandwidth_;
  set_rates(std::min<double>(bandwidth_, by_credits), latency_);
}

PcieSwitch::PcieSwitch(sc_core::sc_module_name name, const Scope& scope)
    : sc_module(name),
      from("from"),
      to("to"),
      latency_(scope, "latency", 110e-9, "s", "from port to port", {0, 1e-3}),
      latency_ps_(seconds_to_ps(latency_)) {
  from.register_b_transport(this, &PcieSwitch::b_transport);
  from.register_get_direct_mem_ptr(this, &PcieSwitch::get_direct_mem_ptr);
}

int PcieSwitch::route(std::uint64_t address) {
  if (address::is_host(address)) return 0;
  constexpr std::uint32_t none = ~0U;
  const std::uint32_t chip = address::chip_of(address, none);
  const bool there = chip != none && chip + 1 < to.size();
  return there ? static_cast<int>(chip + 1) : -1;
}

void PcieSwitch::b_transport(int, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const int port = route(payload.get_address());
  if (port < 0) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  delay += from_ps(latency_ps_);
  to[port]->b_transport(payload, delay);
  if (payload.is_read()) delay += from_ps(latency_ps_);
}

bool PcieSwitch::get_direct_mem_ptr(int, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) {
  const int port = route(payload.get_address());
  return port >= 0 && to[port]->get_direct_mem_ptr(payload, dmi);
}

}  // namespace steppe
