// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <systemc>

#include "models/base/param.h"
#include "models/fabric/memory_port.h"
#include "models/queue/execution_unit.h"
#include "models/queue/operand_range.h"
#include "models/tensor/conv_kernel.h"
#include "models/tensor/tensor_timing.h"

namespace steppe {

/// The sparse tensor engines of one cluster, which work on one Conv at a time together. All
/// operands lie in the cluster's SRAM.
class TensorUnit : public sc_core::sc_module, public ExecutionUnit {
 public:
  MemoryPort port;

  TensorUnit(sc_core::sc_module_name name, const Scope& scope, const SramRange& sram);

  Fault execute(const Command& command) override;

  [[nodiscard]] const EngineShape& shape() const { return shape_; }
  [[nodiscard]] double clock() const { return clock_; }

 private:
  Fault check(const Command& command, const isa::Conv& conv) const;
  void compute(const Command& command, const isa::Conv& conv);

  bool functional_;
  SramRange sram_;
  Param<double> clock_;
  Param<std::uint32_t> engines_;
  Param<std::uint32_t> lanes_;
  Param<std::uint32_t> columns_;
  Param<Bytes> l1_bytes_;
  Param<std::uint32_t> start_cycles_;
  Param<std::uint32_t> drain_cycles_;
  EngineShape shape_;
  ConvKernel kernel_;
  Counter instructions_;
  Counter cycles_;
  Counter sram_bound_;
  Counter dense_macs_;
  Counter effective_macs_;
};

}  // namespace steppe
