// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <systemc>
#include <tuple>

#include "models/base/param.h"
#include "models/fabric/memory_port.h"
#include "models/queue/execution_unit.h"
#include "models/queue/operand_range.h"
#include "models/tensor/conv_kernel.h"
#include "models/tensor/tensor_timing.h"

namespace steppe {

/// Parameters of the engines of one cluster.
struct TensorParams {
  explicit TensorParams(const Scope& scope);
  [[nodiscard]] EngineShape shape() const;

  Param<double> clock;
  Param<std::uint32_t> engines;
  Param<std::uint32_t> lanes;
  Param<std::uint32_t> columns;
  Param<Bytes> l1_bytes;
  Param<std::uint32_t> start_cycles;
  Param<std::uint32_t> drain_cycles;
  Param<std::uint32_t> lane_queue;
  Param<std::uint32_t> bf16_cycles;
  Param<double> dense_rate;
  Param<double> indexed_rate;
  Param<double> bitmap_rate;
  Param<bool> dual_sparsity;
  Param<std::uint32_t> skip_window;
  Param<double> zero_rows;
};

/// The sparse tensor engines of one cluster, which work on one Conv at a time together. All
/// operands lie in the cluster's SRAM.
class TensorUnit : public sc_core::sc_module, public ExecutionUnit {
 public:
  MemoryPort port;

  TensorUnit(sc_core::sc_module_name name, const Scope& scope, const SramRange& sram);

  Fault execute(const Command& command) override;

  /// The patterns that Conv instructions name, number 1 first; they stay alive as long as the unit
  /// or until others are given.
  void use_patterns(std::span<const numerics::WeightPattern> patterns);

  [[nodiscard]] const EngineShape& shape() const { return shape_; }
  [[nodiscard]] double clock() const { return params_.clock; }

 private:
  Fault check(const Command& command, const isa::Conv& conv) const;
  const numerics::WeightPattern* pattern_of(const isa::Conv& conv) const;
  WeightLoad load_of(const isa::Conv& conv);
  /// Computes the values; changes the load to what they make of it.
  void compute(const Command& command, const isa::Conv& conv, WeightLoad& load);
  template <typename Item>
  void run(ConvKernel<Item>& kernel, const isa::Conv& conv, const ConvOperands& operands,
           WeightLoad& load);
  void compare_pattern(const isa::Conv& conv, const std::uint8_t* records);

  /// What the cycles of one pattern depend on beside it: number, positions, channels, groups, type.
  using LoadKey =
      std::tuple<std::uint32_t, std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t>;

  bool functional_;
  SramRange sram_;
  TensorParams params_;
  EngineShape shape_;
  Workers alone_{1};  ///< where the simulation has no workers
  ConvKernel<std::int8_t> int8_;
  ConvKernel<numerics::Bf16> bf16_;
  std::span<const numerics::WeightPattern> patterns_;
  std::map<LoadKey, WeightLoad> loads_;
  std::vector<std::uint32_t> masks_;
  Counter instructions_;
  Counter cycles_;
  Counter sram_bound_;
  Counter dense_macs_;
  Counter effective_macs_;
  Counter bf16_macs_;
  Counter pattern_mismatches_;
  Counter rows_;
  Counter zero_rows_;
};

}  // namespace steppe
