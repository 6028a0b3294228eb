// SPDX-License-Identifier: Apache-2.0
#include "models/tensor/tensor_unit.h"

#include <cmath>

#include "models/tensor/row_skipping.h"

namespace steppe {
namespace {

/// Weights of one output channel that the engines' address generators count to.
constexpr std::uint64_t largest_k = std::uint64_t{1} << 20;

constexpr Bytes result_bytes(std::uint32_t out_type) {
  return out_type == 0 ? 1 : out_type == 2 ? 2 : 4;
}

bool is_bitmap(const isa::Conv& conv) {
  return conv.encoding == static_cast<std::uint32_t>(numerics::Encoding::bitmap);
}

}  // namespace

TensorParams::TensorParams(const Scope& scope)
    : clock(scope, "clock", 900e6, "Hz", "of the engines", {1e3, 1e11}),
      engines(scope, "engines", 8, "", "in the cluster", {1, 1024}),
      lanes(scope, "lanes", 16, "", "output channels at a time", {1, 1024}),
      columns(scope, "columns", 32, "", "positions at a time", {1, 1024}),
      l1_bytes(scope, "l1_bytes", 58'982, "B", "buffer of one engine", {256, Bytes{1} << 30}),
      start_cycles(scope, "start_cycles", 16, "", "from instruction to first multiplication",
                   {0, 100'000}),
      drain_cycles(scope, "drain_cycles", 24, "", "from last multiplication to last result",
                   {0, 100'000}),
      lane_queue(scope, "lane_queue", 4, "", "blocks that wait before a lane at most", {1, 1024}),
      bf16_cycles(scope, "bf16_cycles", 2, "", "cycles of a lane for one bf16 weight", {1, 64}),
      dense_rate(scope, "dense_rate", 1, "",
                 "weights a cycle that a lane's decoder brings, dense records", {1e-3, 1}),
      indexed_rate(scope, "indexed_rate", 1, "", "the same of indexed records", {1e-3, 1}),
      bitmap_rate(scope, "bitmap_rate", 1, "", "the same of bitmap records", {1e-3, 1}),
      dual_sparsity(scope, "dual_sparsity", false,
                    "skip activation rows that are zero in all columns"),
      skip_window(scope, "skip_window", 4, "", "weights that a lane looks past in a cycle at most",
                  {0, 32}),
      zero_rows(scope, "zero_rows", 0, "", "share of such rows, in runs without values", {0, 1}) {}

EngineShape TensorParams::shape() const {
  return {.engines = engines,
          .lanes = lanes,
          .columns = columns,
          .l1_bytes = l1_bytes,
          .start = {start_cycles},
          .drain = {drain_cycles},
          .lane_queue = lane_queue,
          .bf16_cycles = bf16_cycles,
          .decode_rate = {dense_rate, indexed_rate, bitmap_rate},
          .dual_sparsity = dual_sparsity,
          .skip_window = skip_window,
          .zero_rows = zero_rows};
}

TensorUnit::TensorUnit(sc_core::sc_module_name name, const Scope& scope, const SramRange& sram)
    : sc_module(name),
      port("port"),
      functional_(scope.functional()),
      sram_(sram),
      params_(scope),
      shape_(params_.shape()),
      int8_(scope.context().workers != nullptr ? *scope.context().workers : alone_),
      bf16_(scope.context().workers != nullptr ? *scope.context().workers : alone_) {
  scope.stat("instructions", "", "instructions executed", instructions_);
  scope.stat("cycles", "cycles", "cycles the array was busy", cycles_);
  scope.stat("sram_bound", "ps", "time by which the SRAM held up instructions", sram_bound_);
  scope.stat("dense_macs", "", "multiply-accumulates without sparsity", dense_macs_);
  scope.stat("effective_macs", "", "multiply-accumulates of the weights stored", effective_macs_);
  scope.stat("bf16_macs", "", "of them, in bf16", bf16_macs_);
  scope.stat("pattern_mismatches", "", "weight patterns that the weights do not have",
             pattern_mismatches_);
  scope.stat("rows", "", "activation rows that dual sparsity looked at, values known", rows_);
  scope.stat("zero_rows_found", "", "of them, zero in all columns", zero_rows_);
  scope.stat("array_work", "", "effective multiply-accumulates, bf16 ones as often as they count",
             [this] {
               return static_cast<double>(effective_macs_.value) +
                      static_cast<double>(bf16_macs_.value) * (shape_.bf16_cycles - 1);
             });
  scope.stat("peak_macs", "1/s", "multiply-accumulates that the engines can do",
             [this] { return clock() * shape_.engines * shape_.lanes * shape_.columns; });
  scope.stat("array_utilisation", "",
             "effective multiply-accumulates over those the busy cycles offer", [this] {
               const double offered = static_cast<double>(cycles_.value) * shape_.engines *
                                      shape_.lanes * shape_.columns;
               return offered > 0 ? static_cast<double>(effective_macs_.value) / offered : 0.0;
             });
}

void TensorUnit::use_patterns(std::span<const numerics::WeightPattern> patterns) {
  patterns_ = patterns;
  loads_.clear();
}

Fault TensorUnit::execute(const Command& command) {
  const auto* conv = std::get_if<isa::Conv>(&command.operation);
  if (conv == nullptr) return {FaultCode::bad_instruction};
  if (const Fault fault = check(command, *conv)) return fault;
  WeightLoad load = load_of(*conv);
  if (functional_) compute(command, *conv, load);
  const ConvCost cost = conv_cost(*conv, shape_, load);

  const auto array_ps = static_cast<std::uint64_t>(
      std::ceil(static_cast<double>(cost.cycles.count) * 1e12 / clock()));
  const std::uint64_t sram_ps = reserve_sram(port, sram_, cost.read, cost.written);
  ++instructions_;
  cycles_ += cost.cycles.count;
  dense_macs_ += cost.dense_macs;
  effective_macs_ += cost.effective_macs;
  if (conv->in_type != 0) bf16_macs_ += cost.effective_macs;
  if (sram_ps > array_ps) sram_bound_ += sram_ps - array_ps;
  sc_core::wait(from_ps(std::max(array_ps, sram_ps)));
  return {};
}

/// The pattern that a Conv names; null where there is none that has its shape.
const numerics::WeightPattern* TensorUnit::pattern_of(const isa::Conv& conv) const {
  if (!is_bitmap(conv) || conv.pattern == 0 || conv.pattern > patterns_.size()) return nullptr;
  const numerics::WeightPattern& pattern = patterns_[conv.pattern - 1];
  const bool fits = pattern.channels == conv.out_c && pattern.blocks == record_shape(conv).blocks();
  return fits ? &pattern : nullptr;
}

WeightLoad TensorUnit::load_of(const isa::Conv& conv) {
  const numerics::WeightPattern* pattern = pattern_of(conv);
  if (pattern == nullptr) return balanced_load(conv, shape_);
  const LoadKey key{conv.pattern, std::uint64_t{conv.out_h} * conv.out_w, conv.out_c, conv.groups,
                    conv.in_type};
  const auto [it, fresh] = loads_.try_emplace(key);
  if (fresh) it->second = pattern_load(conv, shape_, *pattern);
  return it->second;
}

Fault TensorUnit::check(const Command& command, const isa::Conv& conv) const {
  const bool empty = conv.in_h == 0 || conv.in_w == 0 || conv.in_c == 0 || conv.out_h == 0 ||
                     conv.out_w == 0 || conv.out_c == 0 || conv.kernel_h == 0 ||
                     conv.kernel_w == 0 || conv.groups == 0;
  const bool bad_kept = conv.encoding == 1 && (conv.kept == 0 || conv.kept > numerics::block);
  if (empty || conv.out_c % conv.groups != 0 || conv.encoding >= numerics::encodings || bad_kept ||
      conv.clamp_low > conv.clamp_high) {
    return {FaultCode::bad_operand};
  }
  const std::uint64_t k = std::uint64_t{conv.kernel_h} * conv.kernel_w * conv.in_c;
  if (k > largest_k) return {FaultCode::bad_operand};
  const numerics::RecordShape record = record_shape(conv);
  const Bytes in_item = record.item_bytes;
  const Bytes item = result_bytes(conv.out_type);
  const bool records_overlap = conv.out_c > 1 && conv.weight_pitch < record.bytes();
  const bool pixels_overlap = conv.out_w > 1 && conv.out_pixel < conv.out_c * item;
  const bool rows_overlap =
      conv.out_h > 1 &&
      conv.out_row < std::uint64_t{conv.out_w - 1} * conv.out_pixel + conv.out_c * item;
  if (records_overlap || pixels_overlap || rows_overlap) return {FaultCode::bad_operand};
  const bool residual = conv.has_residual != 0 && (conv.out_type == 0 || conv.out_type == 2);
  const Bytes last_record = is_bitmap(conv) ? Bytes{conv.weight_pitch} : record.bytes();
  struct Operand {
    std::uint64_t address;
    Bytes bytes;
  };
  const Operand operands[] = {
      {command.address(conv.in_base, conv.in_offset),
       span_bytes(conv.in_h, conv.in_row, conv.in_w, conv.in_pixel,
                  std::uint64_t{conv.in_c} * conv.groups * in_item)},
      {command.address(conv.weights_base, conv.weights_offset),
       span_bytes(conv.out_c, conv.weight_pitch, 1, 0, std::max(last_record, record.bytes()))},
      {command.address(conv.scales_base, conv.scales_offset),
       Bytes{conv.out_c} * isa::scale_pair_bytes},
      {command.address(conv.out_base, conv.out_offset),
       span_bytes(conv.out_h, conv.out_row, conv.out_w, conv.out_pixel, conv.out_c * item)},
      {command.address(conv.residual_base, conv.residual_offset),
       !residual ? 0
                 : span_bytes(conv.out_h, conv.residual_row, conv.out_w, conv.residual_pixel,
                              conv.out_c * item)},
      {command.address(conv.lut_base, conv.lut_offset), conv.has_lut == 0 ? Bytes{0} : Bytes{256}},
      {command.address(conv.partial_base, conv.partial_offset),
       conv.has_partial == 0 ? 0
                             : span_bytes(conv.out_h, conv.partial_row, conv.out_w,
                                          conv.partial_pixel, conv.out_c * sizeof(float))},
  };
  for (const Operand& operand : operands) {
    if (operand.bytes != 0 && !sram_.holds(operand.address, operand.bytes)) {
      return {FaultCode::bad_address, operand.address};
    }
  }
  return {};
}

void TensorUnit::compute(const Command& command, const isa::Conv& conv, WeightLoad& load) {
  std::uint8_t* sram = port.direct(sram_.base, sram_.size);
  STEPPE_CHECK(sram != nullptr, "the cluster's SRAM is direct memory");
  const auto at = [&](std::uint32_t base, std::uint64_t offset) {
    return sram + (command.address(base, offset) - sram_.base);
  };
  ConvOperands operands;
  operands.in = at(conv.in_base, conv.in_offset);
  operands.weights = at(conv.weights_base, conv.weights_offset);
  operands.scales = at(conv.scales_base, conv.scales_offset);
  operands.out = at(conv.out_base, conv.out_offset);
  if (conv.has_residual != 0) operands.residual = at(conv.residual_base, conv.residual_offset);
  if (conv.has_lut != 0)
    operands.lut = reinterpret_cast<const std::int8_t*>(at(conv.lut_base, conv.lut_offset));
  if (conv.has_partial != 0) operands.partial = at(conv.partial_base, conv.partial_offset);
  if (is_bitmap(conv)) compare_pattern(conv, operands.weights);
  if (conv.in_type == 0) {
    run(int8_, conv, operands, load);
  } else {
    run(bf16_, conv, operands, load);
  }
}

template <typename Item>
void TensorUnit::run(ConvKernel<Item>& kernel, const isa::Conv& conv, const ConvOperands& operands,
                     WeightLoad& load) {
  if (shape_.dual_sparsity) {
    // Before the results are written: they may lie where the input did.
    const SkippedRows skipped = skip_rows<Item>(conv, shape_, operands.in, operands.weights);
    load.cycles = skipped.cycles;
    rows_ += skipped.rows;
    zero_rows_ += skipped.zero;
  }
  kernel.run(conv, operands);
}

/// Counts a pattern that is not that of the records: timing runs would take wrong times from it.
void TensorUnit::compare_pattern(const isa::Conv& conv, const std::uint8_t* records) {
  const numerics::WeightPattern* pattern = pattern_of(conv);
  const numerics::RecordShape shape = record_shape(conv);
  masks_.resize(shape.blocks());
  for (std::uint32_t channel = 0; channel < conv.out_c; ++channel) {
    numerics::stored_masks(record_of(conv, shape, records, channel), shape, masks_.data());
    if (pattern == nullptr || pattern->counts.empty() ||
        !std::ranges::equal(
            masks_, pattern->counts.subspan(std::size_t{channel} * shape.blocks(), shape.blocks()),
            std::ranges::equal_to{}, [](std::uint32_t mask) { return std::popcount(mask); })) {
      ++pattern_mismatches_;
      return;
    }
  }
}

}  // namespace steppe
