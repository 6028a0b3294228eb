// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <systemc>

#include "models/dma/dma.h"
#include "models/fabric/local_decoder.h"
#include "models/fabric/noc.h"
#include "models/fabric/sram.h"
#include "models/queue/queue.h"
#include "models/queue/semaphore_file.h"
#include "models/tensor/tensor_unit.h"
#include "models/vector/vector_unit.h"

namespace steppe {

/// A slice of the chip's SRAM and the units around it, each behind its queue.
///
/// Tensor and vector unit reach their own slice alone; the DMA units reach it without the network,
/// and everything else through it.
class Cluster : public sc_core::sc_module {
 public:
  Sram sram;
  Dma load;
  Dma store;
  TensorUnit tensor;
  VectorUnit vector;
  Queue load_queue;
  Queue store_queue;
  Queue tensor_queue;
  Queue vector_queue;

  Cluster(sc_core::sc_module_name name, const Scope& scope, std::uint32_t chip, std::uint32_t index,
          SemaphoreFile& semaphores);

  /// Puts the cluster on the chip's network, with one port for all that it sends and takes.
  void attach(Noc& noc);
  /// In the order of their numbers.
  [[nodiscard]] std::array<Queue*, 4> queues() {
    return {&load_queue, &store_queue, &tensor_queue, &vector_queue};
  }

 private:
  std::uint32_t index_;
  LocalDecoder decoder_;
};

}  // namespace steppe
