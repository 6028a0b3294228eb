// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <systemc>
#include <vector>

#include "models/base/param.h"
#include "models/fabric/memory_port.h"
#include "models/queue/execution_unit.h"
#include "models/queue/operand_range.h"

namespace steppe {

/// What an instruction of the vector unit needs: its operands, and cycles by kind of work.
struct VectorWork {
  struct Operand {
    std::uint64_t address = 0;  ///< of its lowest byte
    Bytes bytes = 0;            ///< from the lowest to the highest
  };
  std::vector<Operand> operands;
  FaultCode fault = FaultCode::none;  ///< bad_operand where fields contradict each other
  std::uint64_t lane_ops = 0;         ///< element operations
  std::uint64_t special_ops = 0;      ///< exponentials, divisions, roots
  Bytes permuted = 0;                 ///< bytes that pass the permutation network
  Bytes read = 0;
  Bytes written = 0;
};

/// The vector and special-function units of one cluster. All operands lie in the cluster's SRAM.
class VectorUnit : public sc_core::sc_module, public ExecutionUnit {
 public:
  MemoryPort port;

  VectorUnit(sc_core::sc_module_name name, const Scope& scope, const SramRange& sram);

  Fault execute(const Command& command) override;

  [[nodiscard]] double lanes() const { return lanes_; }
  [[nodiscard]] double special_lanes() const { return special_lanes_; }
  [[nodiscard]] double permute_bytes() const { return permute_bytes_; }

 private:
  [[nodiscard]] std::uint64_t cycles(const VectorWork& work) const;
  void compute(const Command& command);

  bool functional_;
  SramRange sram_;
  Param<double> clock_;
  Param<std::uint32_t> lanes_;
  Param<std::uint32_t> special_lanes_;
  Param<std::uint32_t> permute_bytes_;
  Param<std::uint32_t> start_cycles_;
  Counter instructions_;
  Counter cycles_;
  Counter sram_bound_;
  Counter lane_ops_;
  Counter special_ops_;
  Counter missed_;  ///< functional runs alone know
};

/// The work of a vector instruction; its fault is bad_instruction for others.
VectorWork vector_work(const Command& command);

}  // namespace steppe
