// SPDX-License-Identifier: Apache-2.0
#include "models/vector/vector_unit.h"

#include <algorithm>
#include <cmath>

#include "models/isa/functions.h"
#include "models/vector/vector_kernels.h"

namespace steppe {

VectorUnit::VectorUnit(sc_core::sc_module_name name, const Scope& scope, const SramRange& sram)
    : sc_module(name),
      port("port"),
      functional_(scope.functional()),
      sram_(sram),
      clock_(scope, "clock", 900e6, "Hz", "of the unit", {1e3, 1e11}),
      lanes_(scope, "lanes", 448, "", "element operations a cycle", {1, 1 << 20}),
      special_lanes_(scope, "special_lanes", 32, "", "exponentials, divisions or roots a cycle",
                     {1, 1 << 20}),
      permute_bytes_(scope, "permute_bytes", 64, "B",
                     "bytes that the permutation network moves a cycle", {1, 1 << 20}),
      start_cycles_(scope, "start_cycles", 20, "", "from instruction to first result",
                    {0, 100'000}) {
  scope.stat("instructions", "", "instructions executed", instructions_);
  scope.stat("missed_indices", "", "rows of gather and scatter whose index is outside the table",
             missed_);
  scope.stat("cycles", "cycles", "cycles the lanes were busy", cycles_);
  scope.stat("lane_ops", "", "element operations of the lanes", lane_ops_);
  scope.stat("special_ops", "", "special functions", special_ops_);
  scope.stat("peak_ops", "1/s", "element operations that the lanes can do",
             [this] { return clock_ * lanes_; });
  scope.stat("sram_bound", "ps", "time by which the SRAM held up instructions", sram_bound_);
}

Fault VectorUnit::execute(const Command& command) {
  const VectorWork work = vector_work(command);
  if (work.fault != FaultCode::none) return {work.fault};
  // More results than the slice holds would fall on one another.
  if (work.written > sram_.size) return {FaultCode::bad_operand};
  for (const VectorWork::Operand& operand : work.operands) {
    if (!sram_.holds(operand.address, operand.bytes)) {
      return {FaultCode::bad_address, operand.address};
    }
  }
  if (functional_) compute(command);

  const std::uint64_t busy = cycles(work);
  const auto lanes_ps =
      static_cast<std::uint64_t>(std::ceil(static_cast<double>(busy) * 1e12 / clock_));
  const std::uint64_t sram_ps = reserve_sram(port, sram_, work.read, work.written);
  ++instructions_;
  cycles_ += busy;
  lane_ops_ += work.lane_ops;
  special_ops_ += work.special_ops;
  if (sram_ps > lanes_ps) sram_bound_ += sram_ps - lanes_ps;
  sc_core::wait(from_ps(std::max(lanes_ps, sram_ps)));
  return {};
}

std::uint64_t VectorUnit::cycles(const VectorWork& work) const {
  const std::uint64_t lanes = ceil_div<std::uint64_t>(work.lane_ops, lanes_);
  const std::uint64_t special = ceil_div<std::uint64_t>(work.special_ops, special_lanes_);
  const std::uint64_t permute = ceil_div<std::uint64_t>(work.permuted, permute_bytes_);
  return start_cycles_ + std::max({lanes, special, permute});
}

void VectorUnit::compute(const Command& command) {
  std::uint8_t* sram = port.direct(sram_.base, sram_.size);
  STEPPE_CHECK(sram != nullptr, "the cluster's SRAM is direct memory");
  const auto bytes = [&](std::uint32_t base, std::uint64_t offset) {
    return sram + (command.address(base, offset) - sram_.base);
  };
  using namespace vector_kernels;
  const auto in = [&](const auto& op) { return bytes(op.in_base, op.in_offset); };
  const auto out = [&](const auto& op) { return bytes(op.out_base, op.out_offset); };
  const auto& operation = command.operation;
  if (const auto* map = std::get_if<isa::Map>(&operation)) {
    const std::uint32_t operands = vector_functions::find(map->function)->operands;
    run(*map, bytes(map->a_base, map->a_offset),
        operands >= 2 ? bytes(map->b_base, map->b_offset) : nullptr,
        operands >= 3 ? bytes(map->c_base, map->c_offset) : nullptr, out(*map));
  } else if (const auto* lut = std::get_if<isa::Lut>(&operation)) {
    run(*lut, in(*lut), bytes(lut->table_base, lut->table_offset), out(*lut));
  } else if (const auto* pool = std::get_if<isa::Pool>(&operation)) {
    run(*pool, in(*pool), out(*pool));
  } else if (const auto* softmax = std::get_if<isa::Softmax>(&operation)) {
    run(*softmax, in(*softmax), out(*softmax));
  } else if (const auto* norm = std::get_if<isa::Norm>(&operation)) {
    run(*norm, in(*norm),
        norm->gains != 0 ? bytes(norm->affine_base, norm->affine_offset) : nullptr, out(*norm));
  } else if (const auto* permute = std::get_if<isa::Permute>(&operation)) {
    run(*permute, in(*permute), out(*permute));
  } else if (const auto* reduce = std::get_if<isa::Reduce>(&operation)) {
    run(*reduce, in(*reduce), out(*reduce));
  } else if (const auto* resize = std::get_if<isa::Resize>(&operation)) {
    run(*resize, in(*resize), out(*resize));
  } else if (const auto* gather = std::get_if<isa::Gather>(&operation)) {
    missed_ += run(*gather, in(*gather), bytes(gather->indices_base, gather->indices_offset),
                   out(*gather));
  } else if (const auto* scatter = std::get_if<isa::Scatter>(&operation)) {
    missed_ += run(*scatter, in(*scatter), bytes(scatter->indices_base, scatter->indices_offset),
                   out(*scatter));
  } else if (const auto* topk = std::get_if<isa::TopK>(&operation)) {
    run(*topk, in(*topk), out(*topk), bytes(topk->indices_base, topk->indices_offset));
  }
}

}  // namespace steppe
