// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/operations.h"

#include <algorithm>
#include <array>

#include "models/base/address.h"
#include "models/base/error.h"

namespace steppe::schedule {
namespace {

/// The extent fields of `conv` and `pool` hold 16 bits.
constexpr std::uint64_t most_rows = 0xffff;

/// Rows of a result whose windows do not reach over more.
std::uint64_t most_windows(std::uint64_t kernel, std::uint64_t stride, std::uint64_t dilation) {
  const std::uint64_t covered = (kernel - 1) * dilation + 1;
  return covered < most_rows ? std::min(most_rows, (most_rows - covered) / stride + 1) : 1;
}

std::uint32_t u32(std::uint64_t value) {
  STEPPE_CHECK(value <= 0xffff'ffffU, "{} does not fit 32 bits", value);
  return static_cast<std::uint32_t>(value);
}

std::uint32_t code(net::Type type) { return static_cast<std::uint32_t>(type); }

/// Types, zero points and bounds of a product.
void finish_product(isa::Conv& op, const net::Tensor& in, const net::Tensor& out,
                    const net::Clamp& clamp) {
  op.in_type = in.type == net::Type::bf16 ? 1 : 0;
  op.out_type = code(out.type);
  op.in_zero = in.quant.zero;
  op.out_zero = out.quant.zero;
  op.clamp_low = clamp.low;
  op.clamp_high = clamp.high;
  op.lowest = clamp.lowest;
  op.highest = clamp.highest;
}

/// Type and quantisation of what an instruction with one operand reads and writes.
template <typename Op>
void set_types(Op& op, const net::Tensor& in, const net::Tensor& out) {
  op.in_type = code(in.type);
  op.in_zero = in.quant.zero;
  op.in_scale = in.quant.scale;
  op.out_type = code(out.type);
  op.out_zero = out.quant.zero;
  op.out_inverse = 1.0F / out.quant.scale;
}

/// The fields of a Map that say where and what an operand is; steps of rows, pixels, channels.
struct MapOperand {
  std::uint64_t isa::Map::*offset;
  std::array<std::int32_t isa::Map::*, 3> step;
  std::uint32_t isa::Map::*type;
  std::int32_t isa::Map::*zero;
  float isa::Map::*scale;
};
constexpr std::array map_operands{
    MapOperand{&isa::Map::a_offset,
               {&isa::Map::a_step1, &isa::Map::a_step2, &isa::Map::a_step3},
               &isa::Map::a_type,
               &isa::Map::a_zero,
               &isa::Map::a_scale},
    MapOperand{&isa::Map::b_offset,
               {&isa::Map::b_step1, &isa::Map::b_step2, &isa::Map::b_step3},
               &isa::Map::b_type,
               &isa::Map::b_zero,
               &isa::Map::b_scale},
    MapOperand{&isa::Map::c_offset,
               {&isa::Map::c_step1, &isa::Map::c_step2, &isa::Map::c_step3},
               &isa::Map::c_type,
               &isa::Map::c_zero,
               &isa::Map::c_scale}};

/// Emits the operations of one layer for one cluster.
class Emitter {
 public:
  Emitter(const net::Net& network, const ShardPlan& plan, const net::Layer& layer,
          std::uint32_t cluster, const RowRange& rows, const Operands& operands)
      : network_(network),
        plan_(plan),
        layer_(layer),
        cluster_(cluster),
        work_(rows),
        operands_(operands) {}

  void operator()(const net::Conv& layer);
  void operator()(const net::MatMul& layer);
  void operator()(const net::Map& layer);
  void operator()(const net::Lut& layer);
  void operator()(const net::Pool& layer);
  void operator()(const net::Softmax& layer);
  void operator()(const net::LayerNorm& layer);
  void operator()(const net::Reduce& layer);
  void operator()(const net::Resize& layer);
  void operator()(const net::Permute& layer);
  void operator()(const net::CacheStore&) {}  // done by the store queue

  std::vector<isa::Operation> operations;

 private:
  const net::Tensor& tensor(net::TensorId id) const { return network_.tensor(id); }
  std::uint64_t address(net::TensorId id, std::uint64_t row) const {
    return row_address(network_, plan_, id, cluster_, row);
  }
  isa::Conv conv_template(const net::Conv& layer) const;
  void conv_rows(isa::Conv op, const net::Conv& layer, const WindowRows& in,
                 std::uint64_t in_image_row, std::uint64_t out_row, std::uint64_t out_rows);

  const net::Net& network_;
  const ShardPlan& plan_;
  const net::Layer& layer_;
  std::uint32_t cluster_;
  RowRange work_;
  const Operands& operands_;
};

isa::Conv Emitter::conv_template(const net::Conv& layer) const {
  const net::Shape& in = tensor(layer.in).shape;
  const net::Shape& out = tensor(layer.out).shape;
  const std::uint64_t in_item = tensor(layer.in).item_bytes();
  const std::uint64_t out_item = tensor(layer.out).item_bytes();
  const Tile& tile = *operands_.tile;
  isa::Conv op;
  op.weights_offset = operands_.tile_address;
  op.scales_offset = operands_.tile_address + tile.scales_offset;
  op.in_w = in.w;
  op.in_c = in.c / layer.groups;
  op.in_pixel = u32(in.c * in_item);
  op.in_row = u32(tensor(layer.in).row_bytes());
  op.out_w = out.w;
  op.out_c = tile.channel_end - tile.channel_begin;
  op.out_pixel = u32(out.c * out_item);
  op.out_row = u32(tensor(layer.out).row_bytes());
  op.kernel_h = layer.kernel_h;
  op.kernel_w = layer.kernel_w;
  op.stride_h = layer.stride_h;
  op.stride_w = layer.stride_w;
  op.dilation_h = layer.dilation_h;
  op.dilation_w = layer.dilation_w;
  op.pad_left = layer.pad_left;
  op.groups = layer.groups;
  op.encoding = static_cast<std::uint32_t>(layer.sparsity.encoding);
  op.kept = layer.sparsity.kept;
  op.pattern = tile.pattern;
  op.weight_pitch = u32(tile.scales_offset / op.out_c);
  finish_product(op, tensor(layer.in), tensor(layer.out), layer.clamp);
  if (layer.residual != net::no_tensor) {
    op.has_residual = 1;
    op.residual_pixel = op.out_pixel;
    op.residual_row = op.out_row;
    op.residual_zero = tensor(layer.residual).quant.zero;
    op.residual_scale = layer.residual_scale;
  }
  if (layer.lut.size != 0) {
    op.has_lut = 1;
    op.out_zero = layer.sum_zero;
    op.lut_offset = operands_.tile_address + tile.lut_offset;
  }
  return op;
}

void Emitter::conv_rows(isa::Conv op, const net::Conv& layer, const WindowRows& in,
                        std::uint64_t in_image_row, std::uint64_t out_row, std::uint64_t out_rows) {
  const std::uint64_t channel =
      operands_.tile->channel_begin * tensor(layer.out).item_bytes();  // bytes to it
  op.in_offset = address(layer.in, in_image_row + in.begin);
  op.in_h = in.end - in.begin;
  op.pad_top = in.pad_top;
  op.out_offset = address(layer.out, out_row) + channel;
  op.out_h = u32(out_rows);
  if (op.has_residual != 0) op.residual_offset = address(layer.residual, out_row) + channel;
  operations.emplace_back(op);
}

void Emitter::operator()(const net::Conv& layer) {
  const isa::Conv op = conv_template(layer);
  const net::Shape& in = tensor(layer.in).shape;
  const std::uint32_t out_height = tensor(layer.out).shape.h;
  const bool pointwise = layer.kernel_h == 1 && layer.kernel_w == 1 && layer.stride_h == 1 &&
                         layer.stride_w == 1 && layer.pad_top == 0 && layer.pad_left == 0;
  if (pointwise) {  // images need no parting: rows follow each other
    for (std::uint64_t row = work_.begin; row < work_.end; row += most_rows) {
      const std::uint64_t rows = std::min(most_rows, work_.end - row);
      conv_rows(op, layer, {0, u32(rows), 0}, row, row, rows);
    }
    return;
  }
  const std::uint64_t most = most_windows(layer.kernel_h, layer.stride_h, layer.dilation_h);
  for (const ImageRows& part : split_by_image(work_, out_height, most)) {
    const WindowRows rows =
        window_rows(part, in.h, layer.kernel_h, layer.stride_h, layer.dilation_h, layer.pad_top);
    conv_rows(op, layer, rows, std::uint64_t{part.image} * in.h,
              std::uint64_t{part.image} * out_height + part.begin, part.end - part.begin);
  }
}

void Emitter::operator()(const net::MatMul& layer) {
  const net::Shape& a = tensor(layer.a).shape;
  const net::Tensor& b = tensor(layer.b);
  const net::Shape& out = tensor(layer.out).shape;
  const std::uint64_t first_image = work_.begin / out.h;
  for (const ImageRows& part : split_by_image(work_, out.h, most_rows)) {
    const std::uint64_t row = std::uint64_t{part.image} * out.h + part.begin;
    isa::Conv op;
    op.in_offset = address(layer.a, row);
    op.weights_offset =
        b.resident_in_dram
            ? operands_.cache_address + (part.image - first_image) * b.shape.h * b.row_bytes()
            : address(layer.b, std::uint64_t{part.image} * b.shape.h);
    op.scales_offset = operands_.tile_address;
    op.out_offset = address(layer.out, row);
    op.in_h = op.out_h = part.end - part.begin;
    op.in_w = op.out_w = 1;
    op.in_c = a.c;
    op.in_pixel = op.in_row = op.weight_pitch = u32(tensor(layer.a).row_bytes());
    op.out_c = out.c;
    op.out_pixel = op.out_row = u32(tensor(layer.out).row_bytes());
    op.kernel_h = op.kernel_w = op.stride_h = op.stride_w = 1;
    op.dilation_h = op.dilation_w = op.groups = 1;
    finish_product(op, tensor(layer.a), tensor(layer.out), layer.clamp);
    operations.emplace_back(op);
  }
}

void Emitter::operator()(const net::Map& layer) {
  const net::Tensor& out = tensor(layer.out);
  const auto step = [](std::uint64_t value) { return static_cast<std::int32_t>(u32(value)); };
  // Rows, pixels, channels.
  isa::Map op;
  op.size0 = 1;
  op.size2 = out.shape.w;
  op.size3 = out.shape.c;
  op.out_step1 = step(out.row_bytes());
  op.out_step2 = step(out.shape.c * out.item_bytes());
  op.out_step3 = step(out.item_bytes());
  op.function = layer.function;
  op.out_type = code(out.type);
  op.out_zero = out.quant.zero;
  op.out_inverse = 1.0F / out.quant.scale;
  op.clamp_low = layer.clamp.low;
  op.clamp_high = layer.clamp.high;
  op.lowest = layer.clamp.lowest;
  op.highest = layer.clamp.highest;
  for (std::size_t i = 0; i < layer.operands.size(); ++i) {
    const net::Operand& operand = layer.operands[i];
    const net::Shape& shape = operand.shape;
    const bool constant = operand.tensor == net::no_tensor;
    const net::Type type = constant ? net::Type::fp32 : tensor(operand.tensor).type;
    const net::Quant quant = constant ? net::Quant{} : tensor(operand.tensor).quant;
    const Bytes item = net::item_bytes(type);
    const MapOperand& fields = map_operands.at(i);
    op.*fields.step[0] = shape.h == 1 ? 0 : step(shape.row_elements() * item);
    op.*fields.step[1] = shape.w == 1 ? 0 : step(shape.c * item);
    op.*fields.step[2] = shape.c == 1 ? 0 : step(item);
    op.*fields.type = code(type);
    op.*fields.zero = quant.zero;
    op.*fields.scale = quant.scale;
  }
  for (const ImageRows& part : split_by_image(work_, out.shape.h)) {
    std::uint64_t constants = operands_.tile_address;
    for (std::size_t i = 0; i < layer.operands.size(); ++i) {
      const net::Operand& operand = layer.operands[i];
      const net::Shape& shape = operand.shape;
      const std::uint64_t row = (shape.n == 1 ? 0 : std::uint64_t{part.image} * shape.h) +
                                (shape.h == 1 ? 0 : part.begin);
      const bool constant = operand.tensor == net::no_tensor;
      op.*map_operands[i].offset = constant ? constants + row * shape.row_elements() * sizeof(float)
                                            : address(operand.tensor, row);
      constants += operand.constant.size * sizeof(float);
    }
    op.out_offset = address(layer.out, std::uint64_t{part.image} * out.shape.h + part.begin);
    op.size1 = part.end - part.begin;
    operations.emplace_back(op);
  }
}

void Emitter::operator()(const net::Lut& layer) {
  isa::Lut op;
  op.in_offset = address(layer.in, work_.begin);
  op.out_offset = address(layer.out, work_.begin);
  op.table_offset = operands_.tile_address;
  op.rows = u32(work_.size());
  op.elements = op.in_pitch = op.out_pitch = u32(tensor(layer.out).row_bytes());
  operations.emplace_back(op);
}

void Emitter::operator()(const net::Pool& layer) {
  const net::Tensor& in = tensor(layer.in);
  const net::Tensor& out = tensor(layer.out);
  const std::uint64_t most = most_windows(layer.kernel_h, layer.stride_h, 1);
  for (const ImageRows& part : split_by_image(work_, out.shape.h, most)) {
    const WindowRows rows =
        window_rows(part, in.shape.h, layer.kernel_h, layer.stride_h, 1, layer.pad_top);
    isa::Pool op;
    op.in_offset = address(layer.in, std::uint64_t{part.image} * in.shape.h + rows.begin);
    op.out_offset = address(layer.out, std::uint64_t{part.image} * out.shape.h + part.begin);
    op.in_h = rows.end - rows.begin;
    op.in_w = in.shape.w;
    op.channels = in.shape.c;
    op.in_row = u32(in.row_bytes());
    op.out_h = part.end - part.begin;
    op.out_w = out.shape.w;
    op.out_row = u32(out.row_bytes());
    op.kernel_h = layer.kernel_h;
    op.kernel_w = layer.kernel_w;
    op.stride_h = layer.stride_h;
    op.stride_w = layer.stride_w;
    op.pad_top = rows.pad_top;
    op.pad_left = layer.pad_left;
    op.function = layer.average ? 1 : 0;
    op.count_padding = layer.count_padding ? 1 : 0;
    op.in_zero = in.quant.zero;
    op.out_zero = out.quant.zero;
    op.multiplier = in.quant.scale / out.quant.scale;
    op.type = code(in.type);
    operations.emplace_back(op);
  }
}

void Emitter::operator()(const net::Softmax& layer) {
  const net::Tensor& out = tensor(layer.out);
  isa::Softmax op;
  op.in_offset = address(layer.in, work_.begin);
  op.out_offset = address(layer.out, work_.begin);
  op.rows = u32(work_.size() * out.shape.w);
  op.elements = out.shape.c;
  op.in_pitch = u32(out.shape.c * tensor(layer.in).item_bytes());
  op.out_pitch = u32(out.shape.c * out.item_bytes());
  op.log = layer.log ? 1 : 0;
  set_types(op, tensor(layer.in), out);
  operations.emplace_back(op);
}

void Emitter::operator()(const net::LayerNorm& layer) {
  const net::Tensor& in = tensor(layer.in);
  const net::Tensor& out = tensor(layer.out);
  isa::Norm op;
  op.in_offset = address(layer.in, work_.begin);
  op.out_offset = address(layer.out, work_.begin);
  op.affine_offset = operands_.tile_address;
  op.rows = u32(work_.size() * out.shape.w);
  op.outer = 1;
  op.inner = out.shape.c;
  op.in_pitch = u32(out.shape.c * in.item_bytes());
  op.out_pitch = u32(out.shape.c * out.item_bytes());
  op.affine_period = 1;
  op.gains = 2;
  op.epsilon = layer.epsilon;
  set_types(op, in, out);
  operations.emplace_back(op);
}

void Emitter::operator()(const net::Reduce& layer) {
  const net::Tensor& in = tensor(layer.in);
  const net::Tensor& out = tensor(layer.out);
  isa::Reduce op;
  op.in_offset = address(layer.in, work_.begin);
  op.out_offset = address(layer.out, work_.begin);
  op.outer = 1;
  op.rows = u32(work_.size() * out.shape.w);
  op.elements = in.shape.c;
  op.in_pitch = static_cast<std::int32_t>(in.shape.c * in.item_bytes());
  op.in_step = static_cast<std::int32_t>(in.item_bytes());
  op.out_pitch = static_cast<std::int32_t>(out.item_bytes());
  op.function = static_cast<std::uint32_t>(layer.function);
  set_types(op, in, out);
  operations.emplace_back(op);
}

void Emitter::operator()(const net::Resize& layer) {
  const net::Tensor& in = tensor(layer.in);
  const net::Tensor& out = tensor(layer.out);
  for (const ImageRows& part : split_by_image(work_, out.shape.h)) {
    const std::uint64_t row = std::uint64_t{part.image} * out.shape.h;
    const std::uint64_t image = std::uint64_t{part.image} * in.shape.h;
    const RowRange needed =
        needed_rows(network_, layer_, layer.in, {row + part.begin, row + part.end});
    isa::Resize op;
    op.in_offset = address(layer.in, needed.begin);
    op.out_offset = address(layer.out, row + part.begin);
    op.in_h = u32(needed.size());
    op.in_w = in.shape.w;
    op.channels = in.shape.c;
    op.in_row = u32(in.row_bytes());
    op.out_h = part.end - part.begin;
    op.out_w = out.shape.w;
    op.out_row = u32(out.row_bytes());
    op.whole_h = in.shape.h;
    op.in_first = u32(needed.begin - image);
    op.out_first = part.begin;
    op.step_h = layer.step_h;
    op.step_w = layer.step_w;
    op.half_pixel = layer.half_pixel ? 1 : 0;
    op.linear = layer.linear ? 1 : 0;
    op.rounding = layer.rounding;
    op.type = code(in.type);
    operations.emplace_back(op);
  }
}

void Emitter::operator()(const net::Permute& layer) {
  const auto item = static_cast<std::int64_t>(tensor(layer.out).item_bytes());
  const auto out_row = static_cast<std::int64_t>(tensor(layer.out).shape.row_elements());
  const auto step = [&](std::int64_t value) { return static_cast<std::int32_t>(value * item); };
  for (const net::PermutePart& whole : layer.parts) {
    const auto in_row = static_cast<std::int64_t>(tensor(whole.in).shape.row_elements());
    const auto begin = static_cast<std::int64_t>(work_.begin) * out_row;
    const auto end = static_cast<std::int64_t>(work_.end) * out_row;
    clip_permute(whole, begin, end, [&](const net::PermutePart& part) {
      isa::Permute op;
      op.in_offset = address(whole.in, static_cast<std::uint64_t>(part.in_start / in_row)) +
                     static_cast<std::uint64_t>(part.in_start % in_row * item);
      op.out_offset = address(layer.out, work_.begin) +
                      static_cast<std::uint64_t>((part.out_start - begin) * item);
      op.item = item == 1 ? 0 : item == 2 ? 1 : 2;
      op.size0 = part.size[0];
      op.size1 = part.size[1];
      op.size2 = part.size[2];
      op.size3 = part.size[3];
      op.size4 = part.size[4];
      op.in_step0 = step(part.in_step[0]);
      op.in_step1 = step(part.in_step[1]);
      op.in_step2 = step(part.in_step[2]);
      op.in_step3 = step(part.in_step[3]);
      op.in_step4 = step(part.in_step[4]);
      op.out_step0 = step(part.out_step[0]);
      op.out_step1 = step(part.out_step[1]);
      op.out_step2 = step(part.out_step[2]);
      op.out_step3 = step(part.out_step[3]);
      op.out_step4 = step(part.out_step[4]);
      operations.emplace_back(op);
    });
  }
}

}  // namespace

isa::QueueKind runs_on(const net::Layer& layer) {
  const bool product =
      std::holds_alternative<net::Conv>(layer.op) || std::holds_alternative<net::MatMul>(layer.op);
  return product ? isa::QueueKind::tensor : isa::QueueKind::vector;
}

std::uint64_t row_address(const net::Net& network, const ShardPlan& plan, net::TensorId tensor,
                          std::uint32_t cluster, std::uint64_t row) {
  const Window& window = plan.windows.at(tensor);
  const RowRange& rows = window.rows.at(cluster);
  STEPPE_CHECK(row >= rows.begin && row < rows.end, "row {} of '{}' is not in cluster {}", row,
               network.tensor(tensor).name, cluster);
  return address::sram_of(cluster) + window.offset +
         (row - rows.begin) * network.tensor(tensor).row_bytes();
}

std::vector<isa::Operation> layer_operations(const net::Net& network, const ShardPlan& plan,
                                             const net::Layer& layer, std::uint32_t cluster,
                                             const RowRange& rows, const Operands& operands) {
  Emitter emitter(network, plan, layer, cluster, rows, operands);
  std::visit(emitter, layer.op);
  return std::move(emitter.operations);
}

}  // namespace steppe::schedule
