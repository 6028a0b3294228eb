// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/pcie.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>

#include "models/base/address.h"
#include "models/base/error.h"
#include "models/fabric/transport.h"

namespace steppe {
namespace {

/// The n-th number of a sequence, evenly distributed in [0, 1): SplitMix64 (Steele et al. 2014).
double draw(std::uint64_t seed, std::uint64_t n) {
  std::uint64_t z = seed + (n + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

}  // namespace

DuplexLink::DuplexLink(sc_core::sc_module_name name, const Scope& scope)
    : sc_module(name),
      a_in("a_in"),
      a_out("a_out"),
      b_in("b_in"),
      b_out("b_out"),
      a_to_b_{Occupancy(scope, "downstream.", Occupancy::Trace::yes), {}, {}, {}, {}},
      b_to_a_{Occupancy(scope, "upstream.", Occupancy::Trace::yes), {}, {}, {}, {}} {
  for (const char* direction : {"downstream.", "upstream."}) {
    scope.stat(std::string(direction) + "peak_bandwidth", "B/s", "the most payload that can pass",
               [this] { return payload_bandwidth(); });
  }
  a_in.register_b_transport(this, &DuplexLink::b_transport, 0);
  b_in.register_b_transport(this, &DuplexLink::b_transport, 1);
  a_in.register_get_direct_mem_ptr(this, &DuplexLink::get_direct_mem_ptr, 0);
  b_in.register_get_direct_mem_ptr(this, &DuplexLink::get_direct_mem_ptr, 1);
}

void DuplexLink::set_rates(double wire_bandwidth, double latency, const Credits& credits) {
  wire_bandwidth_ = wire_bandwidth;
  latency_ps_ = seconds_to_ps(latency);
  reads_ = credits.reads;
  const auto round_trip = 2 * static_cast<double>(latency_ps_);
  const auto each = [&](std::uint64_t some) {
    return some == 0 ? 0.0 : round_trip / static_cast<double>(some);
  };
  for (Direction* direction : {&a_to_b_, &b_to_a_}) {
    direction->posted.ps_per_unit = each(credits.posted);
    direction->completion.ps_per_unit = each(credits.completion);
    direction->non_posted.ps_per_unit = each(credits.non_posted);
  }
  if (a_to_b_.posted.ps_per_unit > 0) posted_bandwidth_ = 1e12 / a_to_b_.posted.ps_per_unit;
}

double DuplexLink::payload_bandwidth() const {
  constexpr Bytes much = Bytes{1} << 20;
  const double by_wire =
      wire_bandwidth_ * static_cast<double>(much) / static_cast<double>(wire_bytes(much));
  return posted_bandwidth_ > 0 ? std::min(by_wire, posted_bandwidth_) : by_wire;
}

std::uint64_t DuplexLink::Window::take(std::uint64_t now, std::uint64_t start,
                                       std::uint64_t units) {
  return taken
      .fill(now, start, static_cast<std::uint64_t>(static_cast<double>(units) * ps_per_unit))
      .end;
}

std::uint64_t DuplexLink::wire_ps(Bytes bytes) const { return transfer_ps(bytes, wire_bandwidth_); }

/// When the last byte of a write has arrived at the other end.
std::uint64_t DuplexLink::write(std::uint64_t now, std::uint64_t start, Bytes bytes,
                                Direction& outward) {
  const Repeats again = repeats(bytes);
  const std::uint64_t duration = wire_ps(wire_bytes(bytes) + again.bytes);
  const std::uint64_t end = std::max(outward.wire.fill(now, start, duration, bytes).end,
                                     outward.posted.take(now, start, bytes));
  return end + (1 + 2 * again.rounds) * latency_ps_;
}

void DuplexLink::b_transport(int from_b, tlm::tlm_generic_payload& payload,
                             sc_core::sc_time& delay) {
  const Bytes bytes = payload.get_data_length();
  const std::uint64_t now = now_ps();
  Direction& outward = from_b != 0 ? b_to_a_ : a_to_b_;
  Direction& homeward = from_b != 0 ? a_to_b_ : b_to_a_;

  std::uint64_t start = now + to_ps(delay);
  std::uint64_t all_asked = start;
  if (payload.is_read()) {
    // Requests do not pass what travels before them; the first of them starts the data.
    const std::uint64_t request_ps = wire_ps(request_bytes(bytes));
    all_asked = outward.wire.fill(now, start, request_ps, 0).end;
    start = all_asked - request_ps;
    if (bytes != 0)
      all_asked = std::max(all_asked, outward.non_posted.take(now, start, requests(bytes)));
  }
  delay = from_ps(start + latency_ps_ - now);
  (from_b != 0 ? a_out : b_out)->b_transport(payload, delay);
  if (!payload.is_response_ok()) return;

  const std::uint64_t done = now + to_ps(delay);
  std::uint64_t end = 0;
  if (payload.is_read()) {
    const Repeats again = repeats(bytes);
    const std::uint64_t duration = wire_ps(wire_bytes(bytes) + again.bytes);
    // Data take the wire when they come from the target, no earlier: the way is free until then.
    const std::uint64_t first = std::max(start + latency_ps_, done - std::min(done, duration));
    end = std::max({homeward.wire.fill(now, first, duration, bytes).end,
                    homeward.completion.take(now, first, bytes), all_asked + latency_ps_});
    end += (1 + 2 * again.rounds) * latency_ps_;
    if (reads_ != 0 && bytes != 0) {
      // Of n requests each waits for its own data, and all together hold `reads_` places. Waiting
      // for the wire does not count: fewer under way would wait less, and fill it as well.
      const std::uint64_t count = requests(bytes);
      const std::uint64_t own = duration / count;
      const std::uint64_t target = done - start - latency_ps_;
      const std::uint64_t service = target > duration - own ? target - (duration - own) : 0;
      const std::uint64_t round_trip = 2 * latency_ps_ + service + own;
      end = std::max(end, outward.reads.fill(now, start, count * round_trip / reads_).end);
    }
  } else {
    end = std::max(write(now, start, bytes, outward), done);
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
      latency_(scope, "latency", 250e-9, "s", "one way, both ends' layers included", {0, 1e-3}),
      posted_credits_(scope, "posted_credits", 65536, "B",
                      "written data that the receiver has room for", {64, 1 << 30}),
      completion_credits_(scope, "completion_credits", 65536, "B",
                          "data of reads that the receiver has room for", {64, 1 << 30}),
      non_posted_credits_(scope, "non_posted_credits", 128, "",
                          "read requests that the receiver has room for", {1, 65536}),
      outstanding_reads_(scope, "outstanding_reads", 256, "",
                         "read requests of an end without an answer: tags", {1, 1024}) {
  // Widths and sizes that the PCI Express Base Specification knows.
  constexpr std::array<std::uint32_t, 7> widths{1, 2, 4, 8, 12, 16, 32};
  if (std::ranges::find(widths, lanes_) == widths.end()) {
    throw ConfigError("{}.lanes: {}; a link has 1, 2, 4, 8, 12, 16 or 32", scope.path(),
                      lanes_.get());
  }
  for (const auto& [parameter, bytes] :
       {std::pair{"max_payload", max_payload_.get()}, {"max_read_request", max_read_request_}}) {
    if (!std::has_single_bit(bytes)) {
      throw ConfigError("{}.{}: {} B are no power of two", scope.path(), parameter, bytes);
    }
  }
  for (const auto& [parameter, bytes] : {std::pair{"posted_credits", posted_credits_.get()},
                                         {"completion_credits", completion_credits_}}) {
    if (bytes < max_payload_) {
      throw ConfigError("{}.{}: {} B have no room for a packet of max_payload, {} B", scope.path(),
                        parameter, bytes, max_payload_.get());
    }
  }
  // PCI Express Base Specification: 2.5, 5, 8, 16, 32 GT/s; 8b/10b up to generation 2, then
  // 128b/130b.
  constexpr std::array rates{2.5e9, 5e9, 8e9, 16e9, 32e9};
  const double coding = generation_ <= 2 ? 8.0 / 10 : 128.0 / 130;
  set_rates(rates.at(generation_ - 1) * coding * lanes_ / 8, latency_,
            {posted_credits_, completion_credits_, non_posted_credits_, outstanding_reads_});
}

Bytes PcieLink::wire_bytes(Bytes bytes) const {
  return bytes + ceil_div<Bytes>(bytes, max_payload_) * packet_overhead_;
}

std::uint64_t PcieLink::requests(Bytes bytes) const {
  return ceil_div<Bytes>(bytes, max_read_request_);
}

Bytes PcieLink::request_bytes(Bytes bytes) const { return requests(bytes) * packet_overhead_; }

ChipLink::ChipLink(sc_core::sc_module_name name, const Scope& scope,
                   const ChipLinkDefaults& defaults)
    : DuplexLink(name, scope),
      bandwidth_(scope, "bandwidth", defaults.bandwidth, "B/s", "each way", {1e6, 1e13}),
      latency_(scope, "latency", defaults.latency, "s", "one way", {0, 1e-3}),
      credits_(scope, "credits", 65536, "B", "bytes that may be under way", {64, 1 << 30}),
      bit_error_rate_(scope, "bit_error_rate", 0, "", "chance of a bit to arrive wrong", {0, 1e-5}),
      packet_bytes_(scope, "packet_bytes", 256, "B", "what is checked, and sent again, as one",
                    {16, 4096}),
      seed_(scope, "seed", 1, "", "of the draw which packets arrive wrong", {0, 1ULL << 53}),
      packet_error_(
          -std::expm1(8 * static_cast<double>(packet_bytes_) * std::log1p(-bit_error_rate_))) {
  if (credits_ < packet_bytes_) {
    throw ConfigError("{}.credits: {} B have no room for a packet of packet_bytes, {} B",
                      scope.path(), credits_.get(), packet_bytes_.get());
  }
  scope.stat("retries", "", "packets that were sent again", retries_);
  set_rates(bandwidth_, latency_, {credits_, credits_, 0, 0});
}

/// Draws for each packet how often it arrives wrong: the same at every run.
DuplexLink::Repeats ChipLink::repeats(Bytes bytes) {
  if (packet_error_ <= 0) return {};
  Repeats again;
  for (Bytes packet = 0; packet < ceil_div<Bytes>(bytes, packet_bytes_); ++packet) {
    std::uint32_t rounds = 0;
    while (draw(seed_, drawn_++) < packet_error_) ++rounds;
    retries_ += rounds;
    again.bytes += rounds * packet_bytes_;
    again.rounds = std::max(again.rounds, rounds);
  }
  return again;
}

PcieSwitch::PcieSwitch(sc_core::sc_module_name name, const Scope& scope, std::uint32_t first_chip,
                       std::uint32_t chips_of_port)
    : sc_module(name),
      from("from"),
      to("to"),
      latency_(scope, "latency", 110e-9, "s", "from port to port", {0, 1e-3}),
      latency_ps_(seconds_to_ps(latency_)),
      first_chip_(first_chip),
      chips_of_port_(chips_of_port) {
  from.register_b_transport(this, &PcieSwitch::b_transport);
  from.register_get_direct_mem_ptr(this, &PcieSwitch::get_direct_mem_ptr);
}

int PcieSwitch::route(int from_port, std::uint64_t address) {
  constexpr std::uint32_t none = ~0U;
  const std::uint32_t chip = address::is_host(address) ? none : address::chip_of(address, none);
  if (chip != none && chip >= first_chip_) {
    const std::uint32_t port = (chip - first_chip_) / chips_of_port_ + 1;
    if (port < to.size()) return static_cast<int>(port);
  }
  return from_port == 0 ? -1 : 0;
}

void PcieSwitch::b_transport(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const int port = route(id, payload.get_address());
  if (port < 0) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  delay += from_ps(latency_ps_);
  to[port]->b_transport(payload, delay);
  if (payload.is_read()) delay += from_ps(latency_ps_);
}

bool PcieSwitch::get_direct_mem_ptr(int id, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) {
  const int port = route(id, payload.get_address());
  return port >= 0 && to[port]->get_direct_mem_ptr(payload, dmi);
}

}  // namespace steppe
