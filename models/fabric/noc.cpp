// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/noc.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/base/address.h"
#include "models/fabric/transport.h"

namespace steppe {

Noc::Noc(sc_core::sc_module_name name, const Scope& scope, std::uint32_t chip)
    : sc_module(name),
      from("from"),
      to("to"),
      scope_(scope),
      chip_(chip),
      topology_name_(scope, "topology", "crossbar", "how ports are connected, in their order",
                     {"crossbar", "ring", "mesh"}),
      fidelity_(scope, "fidelity", "ideal",
                "ideal: contention at the ports alone; routed: on every link of the way as well",
                {"ideal", "routed"}),
      mesh_columns_(scope, "mesh_columns", 0, "", "ports in a row of the mesh; 0: a square",
                    {0, 1024}),
      link_bandwidth_(scope, "link_bandwidth", 204.8e9, "B/s", "routed: of a link, each way",
                      {1e6, 1e14}),
      port_bandwidth_(scope, "port_bandwidth", 204.8e9, "B/s", "of a port, each way", {1e6, 1e14}),
      hop_latency_(scope, "hop_latency", 20e-9, "s", "from a port to the next on the way",
                   {0, 1e-3}),
      hop_ps_(seconds_to_ps(hop_latency_)) {
  from.register_b_transport(this, &Noc::b_transport);
  from.register_get_direct_mem_ptr(this, &Noc::get_direct_mem_ptr);
}

Noc::Port Noc::add_port(const std::string& name) {
  ports_.push_back(std::unique_ptr<Directions>(
      new Directions{Occupancy(scope_, name + ".in."), Occupancy(scope_, name + ".out.")}));
  register_peak(scope_, name + ".in.", port_bandwidth_);
  register_peak(scope_, name + ".out.", port_bandwidth_);
  return ports_.size() - 1;
}

/// All ports are known now.
void Noc::end_of_elaboration() {
  topology_.emplace(topology_name_, static_cast<std::uint32_t>(ports_.size()), mesh_columns_);
  if (fidelity_.get() != "routed") return;
  for (const Topology::Link& link : topology_->links()) {
    const std::string name = fmt::format("link_{}_{}.", link.from, link.to);
    links_.push_back(std::make_unique<Occupancy>(scope_, name));
    register_peak(scope_, name, link_bandwidth_);
  }
}

void Noc::add_target(Port port, std::uint64_t begin, std::uint64_t size) {
  targets_.push_back({Target::Kind::local, port, begin, size, 0});
}
void Noc::add_chip_target(Port port, std::uint32_t chip) {
  targets_.push_back({Target::Kind::chip, port, 0, 0, chip});
}
void Noc::add_outside_target(Port port) {
  targets_.push_back({Target::Kind::outside, port, 0, 0, 0});
}

std::size_t Noc::route(std::uint64_t& address, Bytes bytes) const {
  const bool host = address::is_host(address);
  const std::uint32_t chip = host ? 0 : address::chip_of(address, chip_);
  if (!host && chip == chip_) {
    address = address::local(address);
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      const Target& target = targets_[i];
      if (target.kind != Target::Kind::local || address < target.begin) continue;
      const std::uint64_t offset = address - target.begin;
      if (offset < target.size && bytes <= target.size - offset) return i;
    }
    return no_target;
  }
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (!host && targets_[i].kind == Target::Kind::chip && targets_[i].chip == chip) return i;
  }
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (targets_[i].kind == Target::Kind::outside) return i;
  }
  return no_target;
}

void Noc::b_transport(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const std::uint64_t given = payload.get_address();
  const Port near = initiators_.at(static_cast<std::size_t>(id));
  taken_.clear();
  if (address::group_size(given) != 0 && address::chip_of(given, chip_) == chip_) {
    return multicast(near, payload, delay);
  }
  std::uint64_t address = given;
  const Bytes bytes = payload.get_data_length();
  const std::size_t index = route(address, bytes);
  if (index == no_target) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  const Port far = targets_[index].port;
  const bool write = payload.is_write();
  Occupancy& source = ports_[write ? near : far]->in;
  Occupancy& sink = ports_[write ? far : near]->out;

  const std::uint64_t now = now_ps();
  const std::uint64_t asked = now + to_ps(delay);
  const std::uint64_t there =
      topology_->hops(static_cast<std::uint32_t>(near), static_cast<std::uint32_t>(far)) * hop_ps_;
  const std::uint64_t start = asked + there;
  delay = from_ps(start - now);
  payload.set_address(address);
  to[static_cast<int>(index)]->b_transport(payload, delay);
  payload.set_address(given);
  if (!payload.is_response_ok()) return;

  // Bytes flow through both ports and the target at once: the slowest of the three decides.
  const std::uint64_t duration = transfer_ps(bytes, port_bandwidth_);
  std::uint64_t end = now + to_ps(delay);
  end = std::max(end, source.fill(now, start, duration, bytes).end);
  end = std::max(end, sink.fill(now, start, duration, bytes).end);
  if (!write) end += there;
  if (!links_.empty() && bytes != 0) {
    end = std::max(end, write ? take_links(now, asked, near, far, bytes)
                              : take_links(now, start, far, near, bytes));
  }
  delay = from_ps(end - now);
}

void Noc::multicast(Port near, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const std::uint64_t given = payload.get_address();
  const Bytes bytes = payload.get_data_length();
  const std::uint64_t now = now_ps();
  const std::uint64_t asked = now + to_ps(delay);
  const std::uint64_t duration = transfer_ps(bytes, port_bandwidth_);
  std::uint64_t end = asked;
  payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  if (!payload.is_write()) return;
  for (std::uint32_t cluster = 0; cluster < address::group_size(given); ++cluster) {
    std::uint64_t address = address::group_member(given, cluster);
    const std::size_t index = route(address, bytes);
    if (index == no_target) {
      payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
      break;
    }
    const Port far = targets_[index].port;
    const std::uint64_t start =
        asked + topology_->hops(static_cast<std::uint32_t>(near), static_cast<std::uint32_t>(far)) *
                    hop_ps_;
    sc_core::sc_time arrival = from_ps(start - now);
    payload.set_address(address);
    to[static_cast<int>(index)]->b_transport(payload, arrival);
    if (!payload.is_response_ok()) break;
    end = std::max(end, now + to_ps(arrival));
    if (cluster == 0) end = std::max(end, ports_[near]->in.fill(now, start, duration, bytes).end);
    end = std::max(end, ports_[far]->out.fill(now, start, duration, bytes).end);
    if (!links_.empty() && bytes != 0) {
      end = std::max(end, take_links(now, asked, near, far, bytes));
    }
  }
  payload.set_address(given);
  if (payload.is_response_ok()) delay = from_ps(end - now);
}

std::uint64_t Noc::take_links(std::uint64_t now, std::uint64_t start, Port source, Port sink,
                              Bytes bytes) {
  const std::uint64_t duration = transfer_ps(bytes, link_bandwidth_);
  std::uint64_t head = start;
  std::uint64_t tail = start;
  for (const std::uint32_t link :
       topology_->route(static_cast<std::uint32_t>(source), static_cast<std::uint32_t>(sink))) {
    const auto branch = std::ranges::find(taken_, link, [](const auto& one) { return one.first; });
    const Intervals::Span span =
        branch != taken_.end() ? branch->second : links_[link]->fill(now, head, duration, bytes);
    if (branch == taken_.end()) taken_.emplace_back(link, span);
    head = span.begin + hop_ps_;
    tail = std::max(tail, span.end) + hop_ps_;
  }
  return tail;
}

bool Noc::get_direct_mem_ptr(int, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) {
  const std::uint64_t given = payload.get_address();
  std::uint64_t address = given;
  const std::size_t index = route(address, 1);
  if (index == no_target) return false;
  payload.set_address(address);
  const bool granted = to[static_cast<int>(index)]->get_direct_mem_ptr(payload, dmi);
  payload.set_address(given);
  // The requester's form of the address may name the chip.
  dmi.set_start_address(dmi.get_start_address() + (given - address));
  dmi.set_end_address(dmi.get_end_address() + (given - address));
  return granted;
}

}  // namespace steppe
