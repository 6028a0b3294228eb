// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tlm_utils/multi_passthrough_initiator_socket.h>
#include <tlm_utils/multi_passthrough_target_socket.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

#include "models/base/param.h"
#include "models/fabric/occupancy.h"
#include "models/fabric/topology.h"

namespace steppe {

/// A chip's network: every attached device has a port of `port_bandwidth` in each direction, and a
/// transaction takes the initiator's and the target's port together (cut-through).
///
/// Ports are the nodes of the topology, in the order in which they are added. With fidelity `ideal`
/// it gives the number of hops alone; with `routed` a transaction takes every link on its way too,
/// one hop later each. Who asks first is served first, and bytes take every gap, as packets do.
/// A write to several clusters' slices (address::sram_group) leaves the initiator's port once and
/// branches on the way: it takes every link of the tree and every target's port once.
///
/// Devices are attached in the order in which their sockets are bound: the n-th initiator bound to
/// `from` uses the n-th port given to `add_initiator`, likewise `to` and `add_target`.
class Noc : public sc_core::sc_module {
 public:
  tlm_utils::multi_passthrough_target_socket<Noc> from;
  tlm_utils::multi_passthrough_initiator_socket<Noc> to;

  Noc(sc_core::sc_module_name name, const Scope& scope, std::uint32_t chip);

  using Port = std::size_t;
  Port add_port(const std::string& name);
  void add_initiator(Port port) { initiators_.push_back(port); }
  /// A target for local addresses [begin, begin + size).
  void add_target(Port port, std::uint64_t begin, std::uint64_t size);
  /// A target for another chip's addresses.
  void add_chip_target(Port port, std::uint32_t chip);
  /// A target for host memory and for chips without a target of their own.
  void add_outside_target(Port port);

  [[nodiscard]] double port_bandwidth() const { return port_bandwidth_; }

 private:
  struct Directions {
    Occupancy in;  ///< from the device into the network
    Occupancy out;
  };
  struct Target {
    enum class Kind : std::uint8_t { local, chip, outside } kind;
    Port port;
    std::uint64_t begin;
    std::uint64_t size;
    std::uint32_t chip;
  };
  /// Index into targets_; no_target where the address leads nowhere. Turns an address of this
  /// chip's into its local form.
  std::size_t route(std::uint64_t& address, Bytes bytes) const;
  static constexpr std::size_t no_target = ~std::size_t{0};

  void end_of_elaboration() override;
  void multicast(Port near, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  /// Takes the links from node to node for data that set out at `start`, but for those that the
  /// transaction has taken already; returns when the last byte has arrived.
  std::uint64_t take_links(std::uint64_t now, std::uint64_t start, Port source, Port sink,
                           Bytes bytes);
  void b_transport(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  bool get_direct_mem_ptr(int id, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi);

  Scope scope_;
  std::uint32_t chip_;
  Param<std::string> topology_name_;
  Param<std::string> fidelity_;
  Param<std::uint32_t> mesh_columns_;
  Param<double> link_bandwidth_;
  Param<double> port_bandwidth_;
  Param<double> hop_latency_;
  std::uint64_t hop_ps_;
  std::vector<std::unique_ptr<Directions>> ports_;
  std::vector<Port> initiators_;
  std::vector<Target> targets_;
  std::optional<Topology> topology_;
  std::vector<std::unique_ptr<Occupancy>> links_;  ///< of the topology; empty if not `routed`
  std::vector<std::pair<std::uint32_t, Intervals::Span>> taken_;  ///< by the transaction at hand
};

}  // namespace steppe
