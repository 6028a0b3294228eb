// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tlm_utils/multi_passthrough_target_socket.h>

#include <cstdint>
#include <functional>
#include <systemc>
#include <tlm>
#include <vector>

#include "models/base/param.h"
#include "models/control/registers.h"
#include "models/dma/dma.h"
#include "models/queue/queue.h"
#include "models/queue/semaphore_file.h"

namespace steppe {

/// The registers of a chip (models/control/registers.def) and what hangs on them: doorbells, the
/// control DMA, the queues, the semaphores, the interrupt line to the core, MSI-X to the host.
class ControlBlock : public sc_core::sc_module {
 public:
  tlm_utils::multi_passthrough_target_socket<ControlBlock> socket;

  SC_HAS_PROCESS(ControlBlock);
  /// `queues` are in the order of their numbers and outlive this.
  ControlBlock(sc_core::sc_module_name name, const Scope& scope, std::uint32_t chip,
               std::uint32_t clusters, SemaphoreFile& semaphores, std::vector<Queue*> queues);

  /// To be bound to the chip's network: the control DMA, which also sends MSI-X messages.
  [[nodiscard]] MemoryPort& dma_port() { return dma_.port; }
  /// Called when the interrupt line to the core rises or falls.
  std::function<void(bool)> on_interrupt;

 private:
  void b_transport(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  bool read(std::uint32_t offset, std::uint32_t& value);
  bool write(std::uint32_t offset, std::uint32_t value);
  bool read_queue(Queue& queue, std::uint32_t offset, std::uint32_t& value);
  bool write_queue(Queue& queue, std::uint32_t offset, std::uint32_t value);
  /// The queue whose registers `offset` lies in, and the offset among them; null where there is
  /// none.
  Queue* queue_at(std::uint32_t& offset);

  void raise(std::uint32_t sources);
  void update_interrupt();
  void start(Queue& queue);
  void queue_stopped(Queue& queue);
  void send_message();
  void dma_process();
  std::uint32_t& at(std::uint32_t offset) { return registers_[offset / 4]; }
  std::uint64_t pair(std::uint32_t low) { return at(low) | std::uint64_t{at(low + 4)} << 32; }

  std::uint32_t chip_;
  SemaphoreFile& semaphores_;
  std::vector<Queue*> queues_;
  Dma dma_;
  Param<double> access_latency_;
  sc_core::sc_time access_time_;
  std::vector<std::uint32_t> registers_;
  std::uint32_t running_ = 0;
  bool line_ = false;
  bool message_pending_ = false;
  sc_core::sc_event dma_start_;
  Counter doorbells_;
  Counter messages_;
};

}  // namespace steppe
