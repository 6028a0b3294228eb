// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/sram.h"

#include <algorithm>

#include "models/fabric/transport.h"

namespace steppe {

SramParams::SramParams(const Scope& scope)
    : size(scope, "size", 21'495'808, "B", "capacity of the slice", {4096, Bytes{1} << 28}),
      bandwidth(scope, "bandwidth", 2.925e12, "B/s", "of all banks together", {1e6, 1e15}),
      latency(scope, "latency", 5e-9, "s", "from request to first byte", {0, 1e-3}),
      banks(scope, "banks", 32, "", "banks that share the bandwidth evenly", {1, 1024}),
      bank_bytes(scope, "bank_bytes", 64, "B", "width of a bank; neighbours lie in the next one",
                 {1, 4096}),
      ports(scope, "ports", 4, "", "ports that the initiators share in turn", {1, 64}),
      port_bandwidth(scope, "port_bandwidth", 1e15, "B/s",
                     "of one port; more than all banks give never binds", {1e6, 1e15}) {}

Sram::Sram(sc_core::sc_module_name name, const Scope& scope, std::uint64_t base)
    : SramParams(scope),
      Memory(name, base, SramParams::size),
      all_(scope, ""),
      banks_(SramParams::banks),
      ports_(port_bandwidth < SramParams::bandwidth ? ports.get() : 0U),
      bank_bandwidth_(SramParams::bandwidth / SramParams::banks),
      word_ps_(transfer_ps(bank_bytes, bank_bandwidth_)),
      latency_ps_(seconds_to_ps(latency)) {
  register_peak(scope, "", SramParams::bandwidth);
  scope.stat("conflicts", "", "short transactions that waited for a bank", conflicts_);
  scope.stat("conflict_wait", "ps", "time that they waited for it, summed", conflict_wait_);
}

std::uint64_t Sram::serve(std::uint64_t now, std::uint64_t start, const Request& request) {
  if (request.bytes == 0) return start + latency_ps_;
  std::uint64_t end =
      all_.fill(now, start, transfer_ps(request.bytes, SramParams::bandwidth), request.bytes).end;
  if (!ports_.empty()) {
    Intervals& port = ports_[request.initiator % ports_.size()];
    end = std::max(end, port.fill(now, start, transfer_ps(request.bytes, port_bandwidth)).end);
  }
  if (banks_.size() > 1) {
    const std::uint64_t first = request.offset / bank_bytes;
    const std::uint64_t words = (request.offset + request.bytes - 1) / bank_bytes - first + 1;
    if (words < banks_.size()) {
      end = std::max(end, serve_banks(now, start, request, first, words));
    }
  }
  return end + latency_ps_;
}

/// A word in each of fewer banks than there are: each takes its bank for a word's time.
std::uint64_t Sram::serve_banks(std::uint64_t now, std::uint64_t start, const Request& request,
                                std::uint64_t first, std::uint64_t words) {
  const std::uint64_t duration =
      words == 1 ? transfer_ps(request.bytes, bank_bandwidth_) : word_ps_;
  std::uint64_t end = start;
  for (std::uint64_t i = 0; i < words; ++i) {
    end = std::max(end, banks_[(first + i) % banks_.size()].fill(now, start, duration).end);
  }
  if (end > start + duration) {
    ++conflicts_;
    conflict_wait_ += end - start - duration;
  }
  return end;
}

}  // namespace steppe
