// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <systemc>
#include <vector>

#include "models/control/control_block.h"
#include "models/fabric/dram.h"
#include "models/fabric/local_decoder.h"
#include "models/fabric/pcie.h"
#include "models/riscv/control_core.h"
#include "platform/cluster.h"
#include "platform/energy.h"

namespace steppe {

/// One chip: clusters, DRAM, control core and control block on a network, and the PCIe endpoint.
class Chip : public sc_core::sc_module {
 private:
  Param<std::uint32_t> cluster_count_;

 public:
  Noc noc;
  Dram dram;
  SemaphoreFile semaphores;
  std::vector<std::unique_ptr<Cluster>> clusters;
  Dma link_send;
  Dma link_receive;
  Queue link_send_queue;
  Queue link_receive_queue;
  ControlBlock control;
  ControlCore core;
  /// End b is the chip; a is for the card to bind.
  PcieLink pcie;
  EnergyModel energy;

  Chip(sc_core::sc_module_name name, const Scope& scope, std::uint32_t number);

  /// Attaches one end of a direct link to another chip.
  void attach_link(std::uint32_t to_chip, tlm_utils::simple_target_socket_tagged<DuplexLink>& in,
                   tlm_utils::simple_initiator_socket_tagged<DuplexLink>& out);
  /// All queues in the order of their numbers: four of each cluster, link_send, link_receive.
  [[nodiscard]] const std::vector<Queue*>& queues() const { return queues_; }

 private:
  std::vector<std::unique_ptr<Cluster>> make_clusters(const Scope& scope, std::uint32_t number);
  std::vector<Queue*> collect_queues();
  void attach_control();

  std::vector<Queue*> queues_;
  LocalDecoder core_decoder_;
};

}  // namespace steppe
