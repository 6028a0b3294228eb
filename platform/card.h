// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

#include "models/fabric/pcie.h"
#include "platform/chip.h"

namespace steppe {

/// What a compiler and a report need to know of a card. Bandwidths in bytes per second. Where chips
/// or clusters differ, sizes are the smallest, and the engines those of the slowest cluster.
struct CardDescription {
  std::uint32_t chips = 0;
  std::uint32_t clusters = 0;  ///< of a chip
  Bytes sram_bytes = 0;        ///< of a cluster
  Bytes dram_bytes = 0;        ///< of a chip
  std::uint32_t engines = 0;   ///< of a cluster
  std::uint32_t lanes = 0;     ///< of an engine: output channels at a time
  std::uint32_t columns = 0;   ///< of an engine: positions at a time
  double clock_hz = 0;
  double bf16_cycles = 0;          ///< of a lane for one bf16 weight
  double vector_lanes = 0;         ///< of a cluster, element operations a cycle
  double special_lanes = 0;        ///< of a cluster, special functions a cycle
  double permute_bytes = 0;        ///< of a cluster, bytes permuted a cycle
  double dram_bandwidth = 0;       ///< of a chip, peak
  double noc_port_bandwidth = 0;   ///< each way
  double host_bandwidth = 0;       ///< payload of the card's link to the host, each way
  double pcie_bandwidth = 0;       ///< payload of a chip's endpoint, each way
  bool direct_links = false;       ///< between the chips
  double chip_link_bandwidth = 0;  ///< from chip to chip: of a direct link, else of the endpoint
  double chip_link_latency = 0;    ///< likewise, seconds one way; through the switch and both links

  /// Takes sizes and rates of a chip where they are smaller.
  void include(const Chip& chip);
};

/// One to four chips behind a PCIe switch.
///
/// Address map: models/base/address.h. The host reaches registers, SRAM and DRAM of chip n at
/// address::on_chip(n, …) through `from_host`; what the card reads and writes in host memory, and
/// on chips that are not its own, comes out of `to_host`.
class Card : public sc_core::sc_module {
 public:
  tlm::tlm_initiator_socket<> to_host;
  tlm::tlm_target_socket<> from_host;

  /// Its chips are numbered from `first_chip` on.
  Card(sc_core::sc_module_name name, const Scope& scope, std::uint32_t first_chip = 0);

  [[nodiscard]] const std::vector<std::unique_ptr<Chip>>& chips() const { return chips_; }
  [[nodiscard]] CardDescription description() const;
  /// Seconds from a chip to the host's end of the card's link, beside the bytes.
  [[nodiscard]] double way_out() const;

 private:
  void add_direct_links(const Scope& scope, std::uint32_t first_chip);

  Param<std::uint32_t> chip_count_;
  Param<bool> direct_links_;
  PcieLink pcie_;  ///< to the host, which is its end a
  PcieSwitch switch_;
  std::vector<std::unique_ptr<Chip>> chips_;
  std::vector<std::unique_ptr<ChipLink>> links_;
};

}  // namespace steppe
