// SPDX-License-Identifier: Apache-2.0
#include "models/tensor/tensor_unit.h"

#include <cmath>

namespace steppe {
namespace {

/// Weights of one output channel that the engines' address generators count to.
constexpr std::uint64_t largest_k = std::uint64_t{1} << 20;

}  // namespace

TensorUnit::TensorUnit(sc_core::sc_module_name name, const Scope& scope, const SramRange& sram)
    : sc_module(name),
      port("port"),
      functional_(scope.functional()),
      sram_(sram),
      clock_(scope, "clock", 900e6, "Hz", "of the engines", {1e3, 1e11}),
      engines_(scope, "engines", 8, "", "in the cluster", {1, 1024}),
      lanes_(scope, "lanes", 16, "", "output channels at a time", {1, 1024}),
      columns_(scope, "columns", 32, "", "positions at a time", {1, 1024}),
      l1_bytes_(scope, "l1_bytes", 58'982, "B", "buffer of one engine", {256, Bytes{1} << 30}),
      start_cycles_(scope, "start_cycles", 16, "", "from instruction to first multiplication",
                    {0, 100'000}),
      drain_cycles_(scope, "drain_cycles", 24, "", "from last multiplication to last result",
                    {0, 100'000}),
      shape_{engines_, lanes_, columns_, l1_bytes_, {start_cycles_}, {drain_cycles_}} {
  scope.stat("instructions", "", "instructions executed", instructions_);
  scope.stat("cycles", "cycles", "cycles the array was busy", cycles_);
  scope.stat("sram_bound", "ps", "time by which the SRAM held up instructions", sram_bound_);
  scope.stat("dense_macs", "", "multiply-accumulates without sparsity", dense_macs_);
  scope.stat("effective_macs", "", "multiply-accumulates that sparsity leaves", effective_macs_);
  scope.stat("array_utilisation", "",
             "effective multiply-accumulates over those the busy cycles offer", [this] {
               const double offered = static_cast<double>(cycles_.value) * shape_.engines *
                                      shape_.lanes * shape_.columns;
               return offered > 0 ? static_cast<double>(effective_macs_.value) / offered : 0.0;
             });
}

Fault TensorUnit::execute(const Command& command) {
  const auto* conv = std::get_if<isa::Conv>(&command.operation);
  if (conv == nullptr) return {FaultCode::bad_instruction};
  if (const Fault fault = check(command, *conv)) return fault;
  const ConvCost cost = conv_cost(*conv, shape_);
  if (functional_) compute(command, *conv);

  const auto array_ps =
      static_cast<std::uint64_t>(std::ceil(static_cast<double>(cost.cycles.count) * 1e12 / clock_));
  const std::uint64_t sram_ps = reserve_sram(port, sram_, cost.read, cost.written);
  ++instructions_;
  cycles_ += cost.cycles.count;
  dense_macs_ += cost.dense_macs;
  effective_macs_ += cost.effective_macs;
  if (sram_ps > array_ps) sram_bound_ += sram_ps - array_ps;
  sc_core::wait(from_ps(std::max(array_ps, sram_ps)));
  return {};
}

Fault TensorUnit::check(const Command& command, const isa::Conv& conv) const {
  const bool empty = conv.in_h == 0 || conv.in_w == 0 || conv.in_c == 0 || conv.out_h == 0 ||
                     conv.out_w == 0 || conv.out_c == 0 || conv.kernel_h == 0 ||
                     conv.kernel_w == 0 || conv.groups == 0;
  if (empty || conv.out_c % conv.groups != 0 || conv.ratio_log2 > 5 || conv.out_type > 1 ||
      conv.clamp_low > conv.clamp_high) {
    return {FaultCode::bad_operand};
  }
  const std::uint64_t k = std::uint64_t{conv.kernel_h} * conv.kernel_w * conv.in_c;
  if (k > largest_k) return {FaultCode::bad_operand};
  const numerics::RecordShape record{static_cast<std::uint32_t>(k), conv.ratio_log2};
  const std::uint64_t item = conv.out_type == 1 ? sizeof(float) : 1;
  const bool records_overlap =
      conv.out_c > 1 && conv.weight_pitch < record.value_bytes() + record.index_bytes();
  const bool pixels_overlap = conv.out_w > 1 && conv.out_pixel < conv.out_c * item;
  const bool rows_overlap =
      conv.out_h > 1 &&
      conv.out_row < std::uint64_t{conv.out_w - 1} * conv.out_pixel + conv.out_c * item;
  if (records_overlap || pixels_overlap || rows_overlap) return {FaultCode::bad_operand};
  struct Operand {
    std::uint64_t address;
    Bytes bytes;
  };
  const Operand operands[] = {
      {command.address(conv.in_base, conv.in_offset),
       span_bytes(conv.in_h, conv.in_row, conv.in_w, conv.in_pixel,
                  std::uint64_t{conv.in_c} * conv.groups)},
      {command.address(conv.weights_base, conv.weights_offset),
       span_bytes(conv.out_c, conv.weight_pitch, 1, 0,
                  record.value_bytes() + record.index_bytes())},
      {command.address(conv.scales_base, conv.scales_offset),
       Bytes{conv.out_c} * isa::scale_pair_bytes},
      {command.address(conv.out_base, conv.out_offset),
       span_bytes(conv.out_h, conv.out_row, conv.out_w, conv.out_pixel, conv.out_c * item)},
      {command.address(conv.residual_base, conv.residual_offset),
       conv.has_residual == 0 ? 0
                              : span_bytes(conv.out_h, conv.residual_row, conv.out_w,
                                           conv.residual_pixel, conv.out_c)},
      {command.address(conv.lut_base, conv.lut_offset), conv.has_lut == 0 ? Bytes{0} : Bytes{256}},
  };
  for (const Operand& operand : operands) {
    if (operand.bytes != 0 && !sram_.holds(operand.address, operand.bytes)) {
      return {FaultCode::bad_address, operand.address};
    }
  }
  return {};
}

void TensorUnit::compute(const Command& command, const isa::Conv& conv) {
  std::uint8_t* sram = port.direct(sram_.base, sram_.size);
  STEPPE_CHECK(sram != nullptr, "the cluster's SRAM is direct memory");
  const auto at = [&](std::uint32_t base, std::uint64_t offset) {
    return sram + (command.address(base, offset) - sram_.base);
  };
  const auto signed_at = [&](std::uint32_t base, std::uint64_t offset) {
    return reinterpret_cast<const std::int8_t*>(at(base, offset));
  };
  ConvOperands operands;
  operands.in = signed_at(conv.in_base, conv.in_offset);
  operands.weights = at(conv.weights_base, conv.weights_offset);
  operands.scales = at(conv.scales_base, conv.scales_offset);
  operands.out = at(conv.out_base, conv.out_offset);
  if (conv.has_residual != 0)
    operands.residual = signed_at(conv.residual_base, conv.residual_offset);
  if (conv.has_lut != 0) operands.lut = signed_at(conv.lut_base, conv.lut_offset);
  kernel_.run(conv, operands);
}

}  // namespace steppe
