// SPDX-License-Identifier: Apache-2.0
#include "models/vector/vector_unit.h"

namespace steppe {
namespace {

/// Lane operations an element takes: dequantise, combine, requantise pass the lanes in one go each.
constexpr std::uint64_t eltwise_ops = 3;

/// Elements of a row up to which the sums of a LayerNorm are exact in 64 bits: n^2 * 255^2 < 2^62.
constexpr std::uint32_t longest_norm = 1U << 23;

/// Fills in a VectorWork by the kind of instruction.
class Measure {
 public:
  explicit Measure(const Command& command) : command_(command) {}

  void operator()(const isa::Eltwise& op) {
    const Bytes item = op.b_type == 1 ? sizeof(float) : 1;
    need(op.rows != 0 && op.elements != 0 && op.b_period != 0 && op.function <= 5 &&
         op.b_type <= 1 && op.clamp_low <= op.clamp_high &&
         apart(op.rows, op.out_pitch, op.elements));
    rows(op.a_base, op.a_offset, op.rows, op.a_pitch, op.elements);
    rows(op.b_base, op.b_offset, op.rows, op.b_pitch, std::min(op.b_period, op.elements) * item);
    rows(op.out_base, op.out_offset, op.rows, op.out_pitch, op.elements);
    const std::uint64_t elements = std::uint64_t{op.rows} * op.elements;
    work.lane_ops = eltwise_ops * elements;
    work.special_ops = op.function == 3 ? elements : 0;
    const Bytes second = op.b_pitch == 0 ? std::min(op.b_period, op.elements) : elements;
    work.read = elements + second * item;
    work.written = elements;
  }

  void operator()(const isa::Lut& op) {
    need(op.rows != 0 && op.elements != 0 && apart(op.rows, op.out_pitch, op.elements));
    rows(op.in_base, op.in_offset, op.rows, op.in_pitch, op.elements);
    rows(op.table_base, op.table_offset, 1, 0, 256);
    rows(op.out_base, op.out_offset, op.rows, op.out_pitch, op.elements);
    work.lane_ops = std::uint64_t{op.rows} * op.elements;
    work.read = work.lane_ops + 256;
    work.written = work.lane_ops;
  }

  void operator()(const isa::Pool& op) {
    const Bytes out_row = Bytes{op.out_w} * op.channels;
    need(op.in_h != 0 && op.in_w != 0 && op.channels != 0 && op.out_h != 0 && op.out_w != 0 &&
         op.kernel_h != 0 && op.kernel_w != 0 && op.function <= 1 &&
         apart(op.out_h, op.out_row, out_row));
    rows(op.in_base, op.in_offset, op.in_h, op.in_row, Bytes{op.in_w} * op.channels);
    rows(op.out_base, op.out_offset, op.out_h, op.out_row, out_row);
    const std::uint64_t outputs = op.out_h * out_row;
    // A window reaches beyond the input at most by its padding: count what can lie inside.
    const std::uint64_t window =
        std::uint64_t{std::min(op.kernel_h, op.in_h)} * std::min(op.kernel_w, op.in_w);
    work.lane_ops = outputs * window;
    work.special_ops = op.function == 1 ? outputs : 0;
    work.read = Bytes{op.in_h} * op.in_w * op.channels;
    work.written = outputs;
  }

  void operator()(const isa::Softmax& op) {
    need(op.rows != 0 && op.elements != 0 && apart(op.rows, op.out_pitch, op.elements));
    rows(op.in_base, op.in_offset, op.rows, op.in_pitch, op.elements);
    rows(op.out_base, op.out_offset, op.rows, op.out_pitch, op.elements);
    const std::uint64_t elements = std::uint64_t{op.rows} * op.elements;
    work.lane_ops = 4 * elements;     // maximum, difference, sum, store
    work.special_ops = 2 * elements;  // exponential, division
    work.read = 2 * elements;         // once for the maximum, once for the rest
    work.written = elements;
  }

  void operator()(const isa::LayerNorm& op) {
    need(op.rows != 0 && op.elements != 0 && op.elements <= longest_norm &&
         apart(op.rows, op.out_pitch, op.elements));
    rows(op.in_base, op.in_offset, op.rows, op.in_pitch, op.elements);
    rows(op.affine_base, op.affine_offset, 1, 0, 2 * sizeof(float) * Bytes{op.elements});
    rows(op.out_base, op.out_offset, op.rows, op.out_pitch, op.elements);
    const std::uint64_t elements = std::uint64_t{op.rows} * op.elements;
    work.lane_ops = 7 * elements;  // two sums; difference, two products, gain, shift
    work.special_ops = 2 * std::uint64_t{op.rows};  // root, reciprocal
    work.read = 2 * elements + 2 * sizeof(float) * Bytes{op.elements};
    work.written = elements;
  }

  void operator()(const isa::Permute& op) {
    const std::uint32_t size[] = {op.size0, op.size1, op.size2, op.size3, op.size4};
    const std::int32_t in[] = {op.in_step0, op.in_step1, op.in_step2, op.in_step3, op.in_step4};
    const std::int32_t out[] = {op.out_step0, op.out_step1, op.out_step2, op.out_step3,
                                op.out_step4};
    unsigned __int128 bytes = 1;
    for (const std::uint32_t extent : size) bytes *= extent;
    need(bytes != 0 && bytes <= ~Bytes{0});
    if (work.fault != FaultCode::none) return;
    strided(command_.address(op.in_base, op.in_offset), size, in);
    strided(command_.address(op.out_base, op.out_offset), size, out);
    work.permuted = work.read = work.written = static_cast<Bytes>(bytes);
  }

  void operator()(const auto&) { work.fault = FaultCode::bad_instruction; }

  VectorWork work;

 private:
  void need(bool condition) {
    if (!condition) work.fault = FaultCode::bad_operand;
  }
  static bool apart(std::uint64_t rows, std::uint64_t pitch, std::uint64_t row_bytes) {
    return rows == 1 || pitch >= row_bytes;
  }
  void rows(std::uint32_t base, std::uint64_t offset, std::uint64_t count, std::uint64_t pitch,
            Bytes bytes) {
    work.operands.push_back(
        {command_.address(base, offset), span_bytes(count, pitch, 1, 0, bytes)});
  }
  void strided(std::uint64_t address, const std::uint32_t (&size)[5],
               const std::int32_t (&step)[5]) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    for (int axis = 0; axis < 5; ++axis) {
      const std::int64_t reach = std::int64_t{step[axis]} * (size[axis] - 1);
      (reach < 0 ? low : high) += reach;
    }
    work.operands.push_back(
        {address + static_cast<std::uint64_t>(low), static_cast<Bytes>(high - low) + 1});
  }

  const Command& command_;
};

}  // namespace

VectorWork vector_work(const Command& command) {
  Measure measure(command);
  std::visit(measure, command.operation);
  return std::move(measure.work);
}

}  // namespace steppe
