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
/// direction after the latency and take the latency again. Besides the wire, what may be under way
/// bounds the rate: bytes that the receiver has room for, and read requests without an answer.
class DuplexLink : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket_tagged<DuplexLink> a_in;      ///< from the device at end a
  tlm_utils::simple_initiator_socket_tagged<DuplexLink> a_out;  ///< to the device at end a
  tlm_utils::simple_target_socket_tagged<DuplexLink> b_in;
  tlm_utils::simple_initiator_socket_tagged<DuplexLink> b_out;

  /// Bytes per second on the wire, each way.
  [[nodiscard]] double wire_bandwidth() const { return wire_bandwidth_; }
  /// Seconds from one end to the other, beside the bytes.
  [[nodiscard]] double latency() const { return static_cast<double>(latency_ps_) * 1e-12; }
  /// Bytes of payload per second in long writes, each way: by the wire, or by the credits.
  [[nodiscard]] double payload_bandwidth() const;

 protected:
  DuplexLink(sc_core::sc_module_name name, const Scope& scope);
  /// What may be under way; a credit comes back after a round trip of the link. 0: no bound.
  struct Credits {
    Bytes posted = 0;              ///< of writes, each way
    Bytes completion = 0;          ///< of data that answer reads, each way
    std::uint32_t non_posted = 0;  ///< read requests, each way
    std::uint32_t reads = 0;       ///< read requests until their data have come, of each end
  };
  void set_rates(double wire_bandwidth, double latency, const Credits& credits);
  /// Bytes on the wire for a transfer of `bytes`, headers included.
  [[nodiscard]] virtual Bytes wire_bytes(Bytes bytes) const = 0;
  /// Bytes on the wire of the requests that read `bytes`.
  [[nodiscard]] virtual Bytes request_bytes(Bytes) const { return 0; }
  /// Requests that read `bytes`.
  [[nodiscard]] virtual std::uint64_t requests(Bytes) const { return 1; }
  /// What goes wrong with a transfer: bytes that are sent again, and how often, one after the
  /// other, a round trip passes before they are.
  struct Repeats {
    Bytes bytes = 0;
    std::uint32_t rounds = 0;
  };
  virtual Repeats repeats(Bytes) { return {}; }

 private:
  void b_transport(int from_b, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  bool get_direct_mem_ptr(int from_b, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi);

  /// Credits of one kind in one direction: a server that gives one each round trip / credits.
  struct Window {
    Intervals taken;
    double ps_per_unit = 0;
    std::uint64_t take(std::uint64_t now, std::uint64_t start, std::uint64_t units);
  };
  struct Direction {
    Occupancy wire;
    Window posted;
    Window completion;
    Window non_posted;
    Intervals reads;  ///< of the end that asks this way
  };
  std::uint64_t write(std::uint64_t now, std::uint64_t start, Bytes bytes, Direction& outward);
  std::uint64_t wire_ps(Bytes bytes) const;

  double wire_bandwidth_ = 1;
  double posted_bandwidth_ = 0;  ///< by credits; 0: no bound
  std::uint64_t latency_ps_ = 0;
  std::uint32_t reads_ = 0;
  Direction a_to_b_;
  Direction b_to_a_;
};

/// A PCI Express link: transaction-layer packets of at most `max_payload` bytes with their headers;
/// reads ask for at most `max_read_request` bytes each.
class PcieLink : public DuplexLink {
 public:
  PcieLink(sc_core::sc_module_name name, const Scope& scope);

 private:
  [[nodiscard]] Bytes wire_bytes(Bytes bytes) const override;
  [[nodiscard]] Bytes request_bytes(Bytes bytes) const override;
  [[nodiscard]] std::uint64_t requests(Bytes bytes) const override;

  Param<std::uint32_t> generation_;
  Param<std::uint32_t> lanes_;
  Param<Bytes> max_payload_;
  Param<Bytes> max_read_request_;
  Param<Bytes> packet_overhead_;
  Param<double> latency_;
  Param<Bytes> posted_credits_;
  Param<Bytes> completion_credits_;
  Param<std::uint32_t> non_posted_credits_;
  Param<std::uint32_t> outstanding_reads_;
};

struct ChipLinkDefaults {
  double bandwidth = 50e9;  ///< B/s each way
  double latency = 100e-9;  ///< seconds one way
};

/// A direct link between two chips, or of a server to a network. At most `credits` bytes are under
/// way, so that a long one is bound by credits / round trip. A packet with a wrong bit is sent
/// again after a round trip.
class ChipLink : public DuplexLink {
 public:
  ChipLink(sc_core::sc_module_name name, const Scope& scope, const ChipLinkDefaults& defaults = {});

 private:
  [[nodiscard]] Bytes wire_bytes(Bytes bytes) const override { return bytes; }
  Repeats repeats(Bytes bytes) override;

  Param<double> bandwidth_;
  Param<double> latency_;
  Param<Bytes> credits_;
  Param<double> bit_error_rate_;
  Param<Bytes> packet_bytes_;
  Param<std::uint64_t> seed_;
  double packet_error_;  ///< the chance that a packet has a wrong bit
  std::uint64_t drawn_ = 0;
  Counter retries_;
};

/// Routes between one upstream port (the host) and one downstream port for each chip, or each so
/// many chips, and from one of these to another. Port 0 of both sockets is upstream, the others
/// follow in the order of binding: addresses of chips from `first_chip` on lead to them, all other
/// ones upstream.
class PcieSwitch : public sc_core::sc_module {
 public:
  tlm_utils::multi_passthrough_target_socket<PcieSwitch> from;
  tlm_utils::multi_passthrough_initiator_socket<PcieSwitch> to;

  PcieSwitch(sc_core::sc_module_name name, const Scope& scope, std::uint32_t first_chip = 0,
             std::uint32_t chips_of_port = 1);

  /// Seconds from port to port, beside the bytes.
  [[nodiscard]] double latency() const { return static_cast<double>(latency_ps_) * 1e-12; }

 private:
  /// The port of an address that comes from a port; -1 where it leads nowhere.
  [[nodiscard]] int route(int from, std::uint64_t address);
  void b_transport(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  bool get_direct_mem_ptr(int id, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi);

  Param<double> latency_;
  std::uint64_t latency_ps_;
  std::uint32_t first_chip_;
  std::uint32_t chips_of_port_;
};

}  // namespace steppe
