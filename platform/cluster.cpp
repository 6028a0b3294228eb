// SPDX-License-Identifier: Apache-2.0
#include "platform/cluster.h"

#include "models/base/address.h"

namespace steppe {

Cluster::Cluster(sc_core::sc_module_name name, const Scope& scope, std::uint32_t chip,
                 std::uint32_t index, SemaphoreFile& semaphores)
    : sc_module(name),
      sram("sram", scope.child("sram"), address::sram_of(index)),
      load("load", scope.child("load")),
      store("store", scope.child("store")),
      tensor("tensor", scope.child("tensor"), {address::sram_of(index), sram.size()}),
      vector("vector", scope.child("vector"), {address::sram_of(index), sram.size()}),
      load_queue("load_queue", scope.child("load").child("queue"), chip, isa::QueueKind::load,
                 semaphores, load),
      store_queue("store_queue", scope.child("store").child("queue"), chip, isa::QueueKind::store,
                  semaphores, store),
      tensor_queue("tensor_queue", scope.child("tensor").child("queue"), chip,
                   isa::QueueKind::tensor, semaphores, tensor),
      vector_queue("vector_queue", scope.child("vector").child("queue"), chip,
                   isa::QueueKind::vector, semaphores, vector),
      index_(index),
      decoder_("decoder", chip, address::sram_of(index), sram.size()) {
  tensor.port.socket.bind(sram.socket);
  vector.port.socket.bind(sram.socket);
  load.port.socket.bind(decoder_.from);
  store.port.socket.bind(decoder_.from);
  decoder_.near.bind(sram.socket);
}

void Cluster::attach(Noc& noc) {
  const Noc::Port port = noc.add_port("cluster" + std::to_string(index_));
  noc.add_target(port, address::sram_of(index_), sram.size());
  noc.to.bind(sram.socket);
  noc.add_initiator(port);
  decoder_.far.bind(noc.from);
  for (Queue* queue : queues()) {
    noc.add_initiator(port);
    queue->fetcher.port.socket.bind(noc.from);
  }
}

}  // namespace steppe
