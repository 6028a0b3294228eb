// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "models/isa/functions.h"
#include "models/vector/elements.h"
#include "models/vector/vector_unit.h"

namespace steppe {
namespace {

using vector_kernels::item_bytes;

/// Lane operations an element takes besides its function's: dequantise, store.
constexpr std::uint64_t convert_ops = 2;

/// Elements of a row up to which the sums of a Norm are exact in 64 bits: n^2 * 255^2 < 2^62.
constexpr std::uint64_t longest_norm = 1U << 23;

/// Fills in a VectorWork by the kind of instruction.
class Measure {
 public:
  explicit Measure(const Command& command) : command_(command) {}

  void operator()(const isa::Map& op) {
    const auto* function = vector_functions::find(op.function);
    const std::uint32_t size[] = {op.size0, op.size1, op.size2, op.size3};
    const std::uint64_t elements = product(size);
    need(function != nullptr && elements != 0);
    if (op.out_type == vector_kernels::int8) need(op.clamp_low <= op.clamp_high);
    if (op.out_type == vector_kernels::fp32 || op.out_type == vector_kernels::bf16)
      need(!(op.lowest > op.highest));
    if (work.fault != FaultCode::none) return;
    const std::int32_t a[] = {op.a_step0, op.a_step1, op.a_step2, op.a_step3};
    const std::int32_t b[] = {op.b_step0, op.b_step1, op.b_step2, op.b_step3};
    const std::int32_t c[] = {op.c_step0, op.c_step1, op.c_step2, op.c_step3};
    const std::int32_t out[] = {op.out_step0, op.out_step1, op.out_step2, op.out_step3};
    const auto source = [&](std::uint32_t base, std::uint64_t offset, const std::int32_t(&step)[4],
                            std::uint32_t type) {
      work.read += strided(base, offset, size, step, item_bytes(type));
    };
    source(op.a_base, op.a_offset, a, op.a_type);
    if (function->operands >= 2) source(op.b_base, op.b_offset, b, op.b_type);
    if (function->operands >= 3) source(op.c_base, op.c_offset, c, op.c_type);
    strided(op.out_base, op.out_offset, size, out, item_bytes(op.out_type));
    work.lane_ops = (convert_ops + function->lane_ops) * elements;
    work.special_ops = function->special_ops * elements;
    work.written = elements * item_bytes(op.out_type);
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
    const Bytes item = item_bytes(op.type);
    const Bytes out_row = Bytes{op.out_w} * op.channels * item;
    need(op.in_h != 0 && op.in_w != 0 && op.channels != 0 && op.out_h != 0 && op.out_w != 0 &&
         op.kernel_h != 0 && op.kernel_w != 0 && op.function <= 1 &&
         op.type != vector_kernels::int32 && apart(op.out_h, op.out_row, out_row));
    rows(op.in_base, op.in_offset, op.in_h, op.in_row, Bytes{op.in_w} * op.channels * item);
    rows(op.out_base, op.out_offset, op.out_h, op.out_row, out_row);
    const std::uint64_t outputs = std::uint64_t{op.out_h} * op.out_w * op.channels;
    // A window reaches beyond the input at most by its padding: count what can lie inside.
    const std::uint64_t window =
        std::uint64_t{std::min(op.kernel_h, op.in_h)} * std::min(op.kernel_w, op.in_w);
    work.lane_ops = outputs * window;
    work.special_ops = op.function == 1 ? outputs : 0;
    work.read = Bytes{op.in_h} * op.in_w * op.channels * item;
    work.written = outputs * item;
  }

  void operator()(const isa::Softmax& op) {
    const std::uint64_t elements = in_and_out_rows(op, item_bytes(op.in_type), op.elements,
                                                   item_bytes(op.out_type), op.elements);
    work.lane_ops = 5 * elements;  // maximum, difference, sum, product or difference, store
    work.special_ops = elements + op.rows;  // exponentials; a reciprocal or logarithm a row
    work.read = 2 * elements * item_bytes(op.in_type);  // for the maximum, for the rest
    work.written = elements * item_bytes(op.out_type);
  }

  void operator()(const isa::Norm& op) {
    const Bytes in_item = item_bytes(op.in_type);
    const Bytes out_item = item_bytes(op.out_type);
    const std::uint64_t row = std::uint64_t{op.outer} * op.inner;
    need(op.rows != 0 && row != 0 && row <= longest_norm && op.gains <= 2 &&
         (op.gains == 0 || op.affine_period != 0) &&
         apart(op.outer, op.out_outer, op.inner * out_item));
    if (work.fault != FaultCode::none) return;
    operand(op.in_base, op.in_offset,
            span_bytes(op.rows, op.in_pitch, op.outer, op.in_outer, op.inner * in_item));
    const Bytes affine = Bytes{op.gains} * sizeof(float) * op.inner;
    const std::uint32_t sets = std::min(op.rows, op.affine_period);
    if (op.gains != 0) rows(op.affine_base, op.affine_offset, sets, op.affine_pitch, affine);
    operand(op.out_base, op.out_offset,
            span_bytes(op.rows, op.out_pitch, op.outer, op.out_outer, op.inner * out_item));
    const std::uint64_t elements = row * op.rows;
    // Two sums or one; difference and two products, or two products; gain, shift.
    work.lane_ops = ((op.kind == 0 ? 5 : 3) + op.gains) * elements;
    work.special_ops = 2 * std::uint64_t{op.rows};  // root, reciprocal
    work.read = 2 * elements * in_item + (op.gains != 0 ? sets * affine : 0);
    work.written = elements * out_item;
  }

  void operator()(const isa::Permute& op) {
    const std::uint32_t size[] = {op.size0, op.size1, op.size2, op.size3, op.size4};
    const std::int32_t in[] = {op.in_step0, op.in_step1, op.in_step2, op.in_step3, op.in_step4};
    const std::int32_t out[] = {op.out_step0, op.out_step1, op.out_step2, op.out_step3,
                                op.out_step4};
    const std::uint64_t elements = product(size);
    need(elements != 0 && op.item <= 2);
    if (work.fault != FaultCode::none) return;
    const Bytes item = Bytes{1} << op.item;
    strided(op.in_base, op.in_offset, size, in, item);
    strided(op.out_base, op.out_offset, size, out, item);
    work.permuted = work.read = work.written = elements * item;
  }

  void operator()(const isa::Reduce& op) {
    const std::uint32_t size[] = {op.outer, op.rows, op.elements};
    const std::int32_t in[] = {op.in_outer, op.in_pitch, op.in_step};
    const std::uint32_t results[] = {op.outer, op.rows};
    const std::int32_t out[] = {op.out_outer, op.out_pitch};
    const std::uint64_t elements = product(size);
    need(elements != 0 && op.function <= 8 &&
         (op.function < 7 || op.out_type == vector_kernels::int32) &&
         (op.elements == 1 || op.in_step != 0));
    if (work.fault != FaultCode::none) return;
    strided(op.in_base, op.in_offset, size, in, item_bytes(op.in_type));
    strided(op.out_base, op.out_offset, results, out, item_bytes(op.out_type));
    const bool squares = op.function == 5 || op.function == 6;
    work.lane_ops = (squares ? 3 : 2) * elements;  // dequantise, combine; square
    // A division or root each.
    work.special_ops = op.function == 1 || op.function == 6 ? product(results) : 0;
    work.read = elements * item_bytes(op.in_type);
    work.written = product(results) * item_bytes(op.out_type);
  }

  void operator()(const isa::Resize& op) {
    const Bytes item = item_bytes(op.type);
    const Bytes out_row = Bytes{op.out_w} * op.channels * item;
    need(op.in_h != 0 && op.in_w != 0 && op.channels != 0 && op.out_h != 0 && op.out_w != 0 &&
         op.whole_h != 0 && op.type != vector_kernels::int32 &&
         apart(op.out_h, op.out_row, out_row));
    rows(op.in_base, op.in_offset, op.in_h, op.in_row, Bytes{op.in_w} * op.channels * item);
    rows(op.out_base, op.out_offset, op.out_h, op.out_row, out_row);
    work.written = op.out_h * out_row;
    if (op.linear != 0) {
      work.lane_ops = 10 * (work.written / item);  // three times two products and a sum; store
      work.read = 4 * work.written;
    } else {
      work.permuted = work.read = work.written;
    }
  }

  void operator()(const isa::Gather& op) {
    need(op.rows != 0 && op.row_bytes != 0 && op.in_rows != 0 &&
         apart(op.rows, op.out_pitch, op.row_bytes));
    rows(op.in_base, op.in_offset, op.in_rows, op.in_pitch, op.row_bytes);
    rows(op.indices_base, op.indices_offset, 1, 0, Bytes{op.rows} * 4);
    rows(op.out_base, op.out_offset, op.rows, op.out_pitch, op.row_bytes);
    work.permuted = work.written = Bytes{op.rows} * op.row_bytes;
    work.read = work.written + Bytes{op.rows} * 4;
  }

  void operator()(const isa::Scatter& op) {
    const Bytes bytes = Bytes{op.elements} * item_bytes(op.type);
    need(op.rows != 0 && op.elements != 0 && op.out_rows != 0 &&
         (op.add == 0 || op.type != vector_kernels::int8) &&
         apart(op.out_rows, op.out_pitch, bytes));
    rows(op.in_base, op.in_offset, op.rows, op.in_pitch, bytes);
    rows(op.indices_base, op.indices_offset, 1, 0, Bytes{op.rows} * 4);
    rows(op.out_base, op.out_offset, op.out_rows, op.out_pitch, bytes);
    work.permuted = work.written = op.rows * bytes;
    work.lane_ops = op.add != 0 ? std::uint64_t{op.rows} * op.elements : 0;
    work.read = (op.add != 0 ? 2 : 1) * work.written + Bytes{op.rows} * 4;
  }

  void operator()(const isa::TopK& op) {
    const Bytes item = item_bytes(op.type);
    need(op.k != 0 && op.k <= op.elements && apart(op.rows, op.index_pitch, Bytes{op.k} * 4));
    const std::uint64_t elements = in_and_out_rows(op, item, op.elements, item, op.k);
    rows(op.indices_base, op.indices_offset, op.rows, op.index_pitch, Bytes{op.k} * 4);
    // A pass over the row for each result, or a bitonic sort, whichever is less.
    const auto levels = static_cast<std::uint64_t>(std::bit_width(op.elements));
    work.lane_ops = elements * std::min<std::uint64_t>(op.k, levels * (levels + 1) / 2);
    work.read = elements * item;
    work.written = std::uint64_t{op.rows} * op.k * (item + 4);
  }

  void operator()(const auto&) { work.fault = FaultCode::bad_instruction; }

  VectorWork work;

 private:
  void need(bool condition) {
    if (!condition) work.fault = FaultCode::bad_operand;
  }
  static bool apart(std::uint64_t rows, std::uint64_t pitch, std::uint64_t row_bytes) {
    return rows <= 1 || pitch >= row_bytes;
  }
  /// Of all extents; 0 where it does not fit 60 bits.
  template <std::size_t axes>
  static std::uint64_t product(const std::uint32_t (&size)[axes]) {
    unsigned __int128 elements = 1;
    for (const std::uint32_t extent : size) elements *= extent;
    return elements >> 60 != 0 ? 0 : static_cast<std::uint64_t>(elements);
  }
  void operand(std::uint32_t base, std::uint64_t offset, Bytes bytes) {
    work.operands.push_back({command_.address(base, offset), bytes});
  }
  void rows(std::uint32_t base, std::uint64_t offset, std::uint64_t count, std::uint64_t pitch,
            Bytes bytes) {
    operand(base, offset, span_bytes(count, pitch, 1, 0, bytes));
  }
  /// Checks and adds the operands `in` and `out`; returns how many elements go in.
  template <typename Op>
  std::uint64_t in_and_out_rows(const Op& op, Bytes in_item, std::uint64_t in_elements,
                                Bytes out_item, std::uint64_t out_elements) {
    need(op.rows != 0 && in_elements != 0 && apart(op.rows, op.out_pitch, out_elements * out_item));
    rows(op.in_base, op.in_offset, op.rows, op.in_pitch, in_elements * in_item);
    rows(op.out_base, op.out_offset, op.rows, op.out_pitch, out_elements * out_item);
    return op.rows * in_elements;
  }
  /// Adds an operand that lies at any steps; returns its bytes, those of repeats once.
  template <std::size_t axes>
  Bytes strided(std::uint32_t base, std::uint64_t offset, const std::uint32_t (&size)[axes],
                const std::int32_t (&step)[axes], Bytes item) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    Bytes bytes = item;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const std::int64_t reach = std::int64_t{step[axis]} * (std::int64_t{size[axis]} - 1);
      (reach < 0 ? low : high) += reach;
      if (step[axis] != 0) bytes *= size[axis];
    }
    work.operands.push_back({command_.address(base, offset) + static_cast<std::uint64_t>(low),
                             static_cast<Bytes>(high - low) + item});
    return bytes;
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
