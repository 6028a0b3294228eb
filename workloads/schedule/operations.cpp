// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/operations.h"

#include <algorithm>

#include "models/base/address.h"
#include "models/base/error.h"

namespace steppe::schedule {
namespace {

/// The extent fields of `conv` hold 16 bits.
constexpr std::uint64_t most_rows = 0xffff;

std::uint32_t u32(std::uint64_t value) {
  STEPPE_CHECK(value <= 0xffff'ffffU, "{} does not fit 32 bits", value);
  return static_cast<std::uint32_t>(value);
}

/// Emits the operations of one layer for one cluster.
class Emitter {
 public:
  Emitter(const net::Net& network, const ShardPlan& plan, std::uint32_t cluster, RowRange work,
          const Operands& operands)
      : network_(network), plan_(plan), cluster_(cluster), work_(work), operands_(operands) {}

  void operator()(const net::Conv& layer);
  void operator()(const net::MatMul& layer);
  void operator()(const net::Eltwise& layer);
  void operator()(const net::Lut& layer);
  void operator()(const net::Pool& layer);
  void operator()(const net::Softmax& layer);
  void operator()(const net::LayerNorm& layer);
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
  std::uint32_t cluster_;
  RowRange work_;
  const Operands& operands_;
};

isa::Conv Emitter::conv_template(const net::Conv& layer) const {
  const net::Shape& in = tensor(layer.in).shape;
  const net::Shape& out = tensor(layer.out).shape;
  const Tile& tile = *operands_.tile;
  isa::Conv op;
  op.weights_offset = operands_.tile_address;
  op.scales_offset = operands_.tile_address + tile.scales_offset;
  op.in_w = in.w;
  op.in_c = in.c / layer.groups;
  op.in_pixel = in.c;
  op.in_row = u32(in.row_bytes());
  op.out_w = out.w;
  op.out_c = tile.channel_end - tile.channel_begin;
  op.out_pixel = out.c;
  op.out_row = u32(out.row_bytes());
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
  op.in_zero = tensor(layer.in).quant.zero;
  op.out_zero = tensor(layer.out).quant.zero;
  op.clamp_low = layer.clamp.low;
  op.clamp_high = layer.clamp.high;
  if (layer.residual != net::no_tensor) {
    op.has_residual = 1;
    op.residual_pixel = out.c;
    op.residual_row = u32(out.row_bytes());
    op.residual_zero = tensor(layer.residual).quant.zero;
    op.residual_scale = layer.residual_scale;
  }
  if (layer.lut.size != 0) {
    op.has_lut = 1;
    op.lut_offset = operands_.tile_address + tile.lut_offset;
  }
  return op;
}

void Emitter::conv_rows(isa::Conv op, const net::Conv& layer, const WindowRows& in,
                        std::uint64_t in_image_row, std::uint64_t out_row, std::uint64_t out_rows) {
  const std::uint32_t channel = operands_.tile->channel_begin;
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
  for (const ImageRows& part : split_by_image(work_, out_height)) {
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
  for (const ImageRows& part : split_by_image(work_, out.h)) {
    const std::uint64_t row = std::uint64_t{part.image} * out.h + part.begin;
    isa::Conv op;
    op.in_offset = address(layer.a, row);
    op.weights_offset =
        b.resident_in_dram
            ? operands_.cache_address + (part.image - first_image) * b.shape.h * b.shape.row_bytes()
            : address(layer.b, std::uint64_t{part.image} * b.shape.h);
    op.scales_offset = operands_.tile_address;
    op.out_offset = address(layer.out, row);
    op.in_h = op.out_h = part.end - part.begin;
    op.in_w = op.out_w = 1;
    op.in_c = op.in_pixel = op.in_row = op.weight_pitch = a.c;
    op.out_c = op.out_pixel = op.out_row = out.c;
    op.kernel_h = op.kernel_w = op.stride_h = op.stride_w = 1;
    op.dilation_h = op.dilation_w = op.groups = 1;
    op.out_zero = tensor(layer.out).quant.zero;
    op.clamp_low = layer.clamp.low;
    op.clamp_high = layer.clamp.high;
    operations.emplace_back(op);
  }
}

void Emitter::operator()(const net::Eltwise& layer) {
  const net::Shape& out = tensor(layer.out).shape;
  const net::Shape& shape = layer.b == net::no_tensor ? layer.b_shape : tensor(layer.b).shape;
  const bool constant = layer.b == net::no_tensor;
  const std::uint32_t b_item = constant ? sizeof(float) : 1;
  const std::uint64_t b_row_bytes = shape.row_bytes() * b_item;
  const auto step = [](std::uint64_t value) { return static_cast<std::int32_t>(u32(value)); };
  // Rows, pixels, channels.
  isa::Map op;
  op.size0 = 1;
  op.size2 = out.w;
  op.size3 = out.c;
  op.a_step1 = op.out_step1 = step(out.row_bytes());
  op.a_step2 = op.out_step2 = step(out.c);
  op.a_step3 = op.out_step3 = 1;
  op.b_step1 = shape.h == 1 ? 0 : step(b_row_bytes);
  op.b_step2 = shape.w == 1 ? 0 : step(std::uint64_t{shape.c} * b_item);
  op.b_step3 = shape.c == 1 ? 0 : static_cast<std::int32_t>(b_item);
  op.function = static_cast<std::uint32_t>(layer.function);
  op.a_zero = tensor(layer.a).quant.zero;
  op.a_scale = tensor(layer.a).quant.scale;
  op.b_type = constant ? 1 : 0;
  if (!constant) {
    op.b_zero = tensor(layer.b).quant.zero;
    op.b_scale = tensor(layer.b).quant.scale;
  }
  op.out_zero = tensor(layer.out).quant.zero;
  op.out_inverse = 1.0F / tensor(layer.out).quant.scale;
  op.clamp_low = layer.clamp.low;
  op.clamp_high = layer.clamp.high;
  for (const ImageRows& part : split_by_image(work_, out.h)) {
    const std::uint64_t row = std::uint64_t{part.image} * out.h + part.begin;
    const std::uint64_t b_row =
        (shape.n == 1 ? 0 : std::uint64_t{part.image} * shape.h) + (shape.h == 1 ? 0 : part.begin);
    op.a_offset = address(layer.a, row);
    op.b_offset = constant ? operands_.tile_address + b_row * b_row_bytes : address(layer.b, b_row);
    op.out_offset = address(layer.out, row);
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
  op.elements = op.in_pitch = op.out_pitch = u32(tensor(layer.out).shape.row_bytes());
  operations.emplace_back(op);
}

void Emitter::operator()(const net::Pool& layer) {
  const net::Tensor& in = tensor(layer.in);
  const net::Tensor& out = tensor(layer.out);
  for (const ImageRows& part : split_by_image(work_, out.shape.h)) {
    const WindowRows rows =
        window_rows(part, in.shape.h, layer.kernel_h, layer.stride_h, 1, layer.pad_top);
    isa::Pool op;
    op.in_offset = address(layer.in, std::uint64_t{part.image} * in.shape.h + rows.begin);
    op.out_offset = address(layer.out, std::uint64_t{part.image} * out.shape.h + part.begin);
    op.in_h = rows.end - rows.begin;
    op.in_w = in.shape.w;
    op.channels = in.shape.c;
    op.in_row = u32(in.shape.row_bytes());
    op.out_h = part.end - part.begin;
    op.out_w = out.shape.w;
    op.out_row = u32(out.shape.row_bytes());
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
    operations.emplace_back(op);
  }
}

void Emitter::operator()(const net::Softmax& layer) {
  const net::Tensor& out = tensor(layer.out);
  isa::Softmax op;
  op.in_offset = address(layer.in, work_.begin);
  op.out_offset = address(layer.out, work_.begin);
  op.rows = u32(work_.size() * out.shape.w);
  op.elements = op.in_pitch = op.out_pitch = out.shape.c;
  op.out_zero = out.quant.zero;
  op.in_scale = tensor(layer.in).quant.scale;
  op.out_inverse = 1.0F / out.quant.scale;
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
  op.inner = op.in_pitch = op.out_pitch = out.shape.c;
  op.affine_period = 1;
  op.gains = 2;
  op.in_zero = in.quant.zero;
  op.out_zero = out.quant.zero;
  op.in_scale = in.quant.scale;
  op.epsilon = layer.epsilon;
  op.out_inverse = 1.0F / out.quant.scale;
  operations.emplace_back(op);
}

void Emitter::operator()(const net::Permute& layer) {
  const auto out_row = static_cast<std::int64_t>(tensor(layer.out).shape.row_bytes());
  const auto step = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  for (const net::PermutePart& whole : layer.parts) {
    const auto in_row = static_cast<std::int64_t>(tensor(whole.in).shape.row_bytes());
    const auto begin = static_cast<std::int64_t>(work_.begin) * out_row;
    const auto end = static_cast<std::int64_t>(work_.end) * out_row;
    clip_permute(whole, begin, end, [&](const net::PermutePart& part) {
      isa::Permute op;
      op.in_offset = address(whole.in, static_cast<std::uint64_t>(part.in_start / in_row)) +
                     static_cast<std::uint64_t>(part.in_start % in_row);
      op.out_offset =
          address(layer.out, work_.begin) + static_cast<std::uint64_t>(part.out_start - begin);
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

std::uint64_t row_address(const net::Net& network, const ShardPlan& plan, net::TensorId tensor,
                          std::uint32_t cluster, std::uint64_t row) {
  const Window& window = plan.windows.at(tensor);
  const RowRange& rows = window.rows.at(cluster);
  STEPPE_CHECK(row >= rows.begin && row < rows.end, "row {} of '{}' is not in cluster {}", row,
               network.tensor(tensor).name, cluster);
  return address::sram_of(cluster) + window.offset +
         (row - rows.begin) * network.tensor(tensor).shape.row_bytes();
}

std::vector<isa::Operation> layer_operations(const net::Net& network, const ShardPlan& plan,
                                             const net::Layer& layer, std::uint32_t cluster,
                                             const Operands& operands) {
  Emitter emitter(network, plan, cluster, plan.work(network, layer, cluster), operands);
  std::visit(emitter, layer.op);
  return std::move(emitter.operations);
}

}  // namespace steppe::schedule
