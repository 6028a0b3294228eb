// SPDX-License-Identifier: Apache-2.0
#include "platform/chip.h"

#include "models/base/address.h"
#include "platform/firmware_image.h"

namespace steppe {

Chip::Chip(sc_core::sc_module_name name, const Scope& scope, std::uint32_t number)
    : sc_module(name),
      cluster_count_(scope, "clusters", 4, "", "clusters of the chip", {1, 64}),
      noc("noc", scope.child("noc"), number),
      dram("dram", scope.child("dram"), address::dram),
      semaphores("semaphores", scope.child("semaphores")),
      clusters(make_clusters(scope, number)),
      link_send("link_send", scope.child("link_send")),
      link_receive("link_receive", scope.child("link_receive")),
      link_send_queue("link_send_queue", scope.child("link_send").child("queue"), number,
                      isa::QueueKind::link_send, semaphores, link_send),
      link_receive_queue("link_receive_queue", scope.child("link_receive").child("queue"), number,
                         isa::QueueKind::link_receive, semaphores, link_receive),
      control("control", scope.child("control"), number, cluster_count_, semaphores,
              collect_queues()),
      core("core", scope.child("core")),
      pcie("pcie", scope.child("pcie")),
      energy(scope.child("energy"), scope, cluster_count_),
      queues_(collect_queues()),
      core_decoder_("core_decoder", number, address::control, control::CONTROL_BYTES) {
  for (const auto& cluster : clusters) cluster->attach(noc);

  noc.add_target(noc.add_port("dram"), address::dram, dram.size());
  noc.to.bind(dram.socket);

  const Noc::Port link = noc.add_port("link_dma");
  for (MemoryPort* port : {&link_send.port, &link_receive.port, &link_send_queue.fetcher.port,
                           &link_receive_queue.fetcher.port}) {
    noc.add_initiator(link);
    port->socket.bind(noc.from);
  }

  const Noc::Port outside = noc.add_port("pcie");
  noc.add_outside_target(outside);
  noc.to.bind(pcie.b_in);
  noc.add_initiator(outside);
  pcie.b_out.bind(noc.from);

  attach_control();
}

/// The core reaches the control block without the network; both share a port on it.
void Chip::attach_control() {
  const Noc::Port port = noc.add_port("control");
  noc.add_target(port, address::control, control::CONTROL_BYTES);
  noc.to.bind(control.socket);
  noc.add_target(port, address::core_memory, core.memory_bytes());
  noc.to.bind(core.memory);
  noc.add_initiator(port);
  control.dma_port().socket.bind(noc.from);
  core.bus.socket.bind(core_decoder_.from);
  core_decoder_.near.bind(control.socket);
  noc.add_initiator(port);
  core_decoder_.far.bind(noc.from);
  control.on_interrupt = [this](bool line) { core.set_external_interrupt(line); };
  core.load(firmware_image());
}

void Chip::attach_link(std::uint32_t to_chip,
                       tlm_utils::simple_target_socket_tagged<DuplexLink>& in,
                       tlm_utils::simple_initiator_socket_tagged<DuplexLink>& out) {
  const Noc::Port port = noc.add_port("link" + std::to_string(to_chip));
  noc.add_chip_target(port, to_chip);
  noc.to.bind(in);
  noc.add_initiator(port);
  out.bind(noc.from);
}

std::vector<std::unique_ptr<Cluster>> Chip::make_clusters(const Scope& scope,
                                                          std::uint32_t number) {
  std::vector<std::unique_ptr<Cluster>> made;
  for (std::uint32_t i = 0; i < cluster_count_; ++i) {
    made.push_back(std::make_unique<Cluster>(("cluster" + std::to_string(i)).c_str(),
                                             scope.child("cluster", i), number, i, semaphores));
  }
  return made;
}

std::vector<Queue*> Chip::collect_queues() {
  std::vector<Queue*> all;
  for (const auto& cluster : clusters) {
    for (Queue* queue : cluster->queues()) all.push_back(queue);
  }
  all.push_back(&link_send_queue);
  all.push_back(&link_receive_queue);
  return all;
}

}  // namespace steppe
