// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tlm_utils/multi_passthrough_initiator_socket.h>
#include <tlm_utils/multi_passthrough_target_socket.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <cstdint>
#include <systemc>
#include <tlm>

#include "models/base/param.h"
#include "models/fabric/occupancy.h"

namespace steppe {

/// What the two directions of a duplex link have in common: two ends, each with a socket that takes
/// transactions in and one that hands them on, bytes on the wire, and a latency each way.
///
/// A write occupies its own direction. A read goes over as requests, its data occupy the other
/// direction after the latency and take the latency again.
class DuplexLink : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket_tagged<DuplexLink> a_in;      ///< from the device at end a
  tlm_utils::simple_initiator_socket_tagged<DuplexLink> a_out;  ///< to the device at end a
  tlm_utils::simple_target_socket_tagged<DuplexLink> b_in;
  tlm_utils::simple_initiator_socket_tagged<DuplexLink> b_out;

  /// Bytes per second on the wire, each way.
  [[nodiscard]] double wire_bandwidth() const { return wire_bandwidth_; }
  /// Bytes of payload per second in long transfers, each way.
  [[nodiscard]] double payload_bandwidth() const;

 protected:
  DuplexLink(sc_core::sc_module_name name, const Scope& scope);
  void set_rates(double wire_bandwidth, double latency);
  /// Bytes on the wire for a transfer of `bytes`, headers included.
  [[nodiscard]] virtual Bytes wire_bytes(Bytes bytes) const = 0;
  /// Bytes on the wire of the requests that read `bytes`.
  [[nodiscard]] virtual Bytes request_bytes(Bytes) const { return 0; }

 private:
  void b_transport(int from_b, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  bool get_direct_mem_ptr(int from_b, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi);

  double wire_bandwidth_ = 1;
  std::uint64_t latency_ps_ = 0;
  Occupancy a_to_b_;
  Occupancy b_to_a_;
};

/// A PCI Express link: transaction-layer packets of at most `max_payload` bytes with their headers;
/// reads ask for at most `max_read_request` bytes each.
class PcieLink : public DuplexLink {
 public:
  PcieLink(sc_core::sc_module_name name, const Scope& scope);

 private:
  [[nodiscard]] Bytes wire_bytes(Bytes bytes) const override;
  [[nodiscard]] Bytes request_bytes(Bytes bytes) const override;

  Param<std::uint32_t> generation_;
  Param<std::uint32_t> lanes_;
  Param<Bytes> max_payload_;
  Param<Bytes> max_read_request_;
  Param<Bytes> packet_overhead_;
  Param<double> latency_;
};

/// A direct link between two chips. At most `credits` bytes are under way, so that a long one is
/// bound by credits / round trip.
class ChipLink : public DuplexLink {
 public:
  ChipLink(sc_core::sc_module_name name, const Scope& scope);

 private:
  [[nodiscard]] Bytes wire_bytes(Bytes bytes) const override { return bytes; }

  Param<double> bandwidth_;
  Param<double> latency_;
  Param<Bytes> credits_;
};

/// Routes between one upstream port (the host) and one downstream port for each chip, and from chip
/// to chip. Port 0 of both sockets is the host, port n + 1 chip n, in the order of binding.
class PcieSwitch : public sc_core::sc_module {
 public:
  tlm_utils::multi_passthrough_target_socket<PcieSwitch> from;
  tlm_utils::multi_passthrough_initiator_socket<PcieSwitch> to;

  PcieSwitch(sc_core::sc_module_name name, const Scope& scope);

 private:
  /// The port of an address; -1 where it leads nowhere.
  [[nodiscard]] int route(std::uint64_t address);
  void b_transport(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  bool get_direct_mem_ptr(int id, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi);

  Param<double> latency_;
  std::uint64_t latency_ps_;
};

}  // namespace steppe
