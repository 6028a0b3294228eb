// SPDX-License-Identifier: Apache-2.0
#include "tests/models/vector/vector_case.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace steppe::test {
namespace {

/// Gives operands their places one behind the other, with gaps.
class Layout {
 public:
  explicit Layout(Random& random) : random_(random), end_(some()) {}

  std::uint32_t some() { return static_cast<std::uint32_t>(random_() % 5); }

  template <typename Base, typename Offset>
  void take(Base& base, Offset& offset, std::uint64_t bytes) {
    base = 1;
    offset = end_;
    end_ += bytes + some();
  }
  /// The memory, full of random bytes.
  std::vector<std::uint8_t> memory() {
    std::vector<std::uint8_t> bytes(end_);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random_());
    return bytes;
  }

 private:
  Random& random_;
  std::uint64_t end_;
};

std::int32_t any_int8(Random& random) { return static_cast<std::int8_t>(random()); }

/// A scale from 2^-10 to almost 2.
float scale(Random& random) {
  return static_cast<float>(draw(random, 64, 127)) / 64.0F /
         static_cast<float>(1U << draw(random, 0, 10));
}

std::uint32_t item_bytes(std::uint32_t type) { return type == 0 ? 1 : type == 2 ? 2 : 4; }

/// Makes numbers from -8 to 8 of an operand, which is full of random bits; now and then leaves it
/// so: any bits are a number, or none.
void fill(Random& random, std::uint32_t type, VectorCase& c, std::uint64_t offset,
          std::uint64_t bytes) {
  if ((type != 1 && type != 2) || random() % 4 == 0) return;
  const std::uint32_t item = item_bytes(type);
  for (std::uint64_t at = 0; at + item <= bytes; at += item) {
    const float value =
        static_cast<float>(static_cast<std::int32_t>(random() % 16001) - 8000) / 1000;
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    if (type == 2) bits >>= 16;
    std::memcpy(c.memory.data() + offset + at, &bits, item);
  }
}

/// Type, zero point and scale of the operands `in` and `out`.
template <typename Op>
void draw_types(Random& random, Op& op) {
  op.in_type = draw(random, 0, 3);
  op.in_zero = any_int8(random);
  op.in_scale = op.in_type == 3 ? scale(random) * 0x1p-28F : scale(random);
  op.out_type = draw(random, 0, 3);
  op.out_zero = any_int8(random);
  op.out_inverse = 1.0F / scale(random);
}

template <typename Op>
VectorCase filled(Random& random, Layout& layout, const Op& op, std::uint64_t in_bytes) {
  VectorCase c{op, layout.memory()};
  fill(random, op.in_type, c, op.in_offset, in_bytes);
  return c;
}

/// int32 indices, most of them below `size`.
void fill_indices(Random& random, VectorCase& c, std::uint64_t offset, std::uint32_t count,
                  std::uint32_t size) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::int32_t index = static_cast<std::int32_t>(draw(random, 0, size + 1)) - 1;
    std::memcpy(c.memory.data() + offset + std::uint64_t{i} * 4, &index, 4);
  }
}

}  // namespace

VectorCase random_map(Random& random) {
  constexpr std::uint32_t functions[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                                         13, 16, 17, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41,
                                         42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53};
  Layout layout(random);
  isa::Map op;
  const std::uint32_t most[] = {2, 3, 4, random() % 2 == 0 ? 300U : 5U};
  std::uint32_t* const sizes[] = {&op.size0, &op.size1, &op.size2, &op.size3};
  for (std::size_t i = 0; i < 4; ++i) *sizes[i] = draw(random, 1, most[i]);
  op.function = functions[random() % std::size(functions)];
  struct Place {
    std::uint64_t offset, bytes;
  };
  Place places[3];
  const auto place = [&](auto& base, auto& offset, std::uint32_t type, bool result,
                         const std::array<std::int32_t*, 4>& steps) {
    // Dense, with gaps, backwards (never the result), or repeating (never the result).
    std::int64_t extent = item_bytes(type);
    std::int64_t low = 0;
    const bool dense = random() % 2 == 0;
    for (std::size_t axis = 4; axis-- > 0;) {
      const std::int64_t step = extent + (dense ? 0 : layout.some());
      const std::int64_t reach = step * (*sizes[axis] - 1);
      *steps[axis] = static_cast<std::int32_t>(step);
      if (!result && random() % 4 == 0) {
        *steps[axis] = 0;
      } else {
        if (!result && random() % 8 == 0) {
          *steps[axis] = static_cast<std::int32_t>(-step);
          low += reach;
        }
        extent += reach;
      }
    }
    layout.take(base, offset, static_cast<std::uint64_t>(extent));
    const Place at{offset, static_cast<std::uint64_t>(extent)};
    offset += static_cast<std::uint64_t>(low);
    return at;
  };
  std::uint32_t* const types[] = {&op.a_type, &op.b_type, &op.c_type};
  std::int32_t* const zeros[] = {&op.a_zero, &op.b_zero, &op.c_zero};
  float* const scales[] = {&op.a_scale, &op.b_scale, &op.c_scale};
  for (std::size_t o = 0; o < 3; ++o) {
    *types[o] = random() % 2 == 0 ? 0 : draw(random, 1, 3);
    *zeros[o] = any_int8(random);
    *scales[o] = *types[o] == 3 ? scale(random) * 0x1p-28F : scale(random);
  }
  op.out_type = random() % 2 == 0 ? 0 : draw(random, 1, 3);
  op.out_zero = any_int8(random);
  op.out_inverse = 1.0F / scale(random);
  const std::int32_t low = any_int8(random);
  const std::int32_t high = any_int8(random);
  op.clamp_low = random() % 2 == 0 ? -128 : std::min(low, high);
  op.clamp_high = random() % 2 == 0 ? 127 : std::max(low, high);
  op.lowest = random() % 2 == 0 ? -std::numeric_limits<float>::infinity() : -2.5F;
  op.highest = random() % 2 == 0 ? std::numeric_limits<float>::infinity() : 3.5F;
  places[0] = place(op.a_base, op.a_offset, op.a_type, false,
                    {&op.a_step0, &op.a_step1, &op.a_step2, &op.a_step3});
  places[1] = place(op.b_base, op.b_offset, op.b_type, false,
                    {&op.b_step0, &op.b_step1, &op.b_step2, &op.b_step3});
  places[2] = place(op.c_base, op.c_offset, op.c_type, false,
                    {&op.c_step0, &op.c_step1, &op.c_step2, &op.c_step3});
  place(op.out_base, op.out_offset, op.out_type, true,
        {&op.out_step0, &op.out_step1, &op.out_step2, &op.out_step3});
  VectorCase c{op, layout.memory()};
  for (std::size_t o = 0; o < 3; ++o) fill(random, *types[o], c, places[o].offset, places[o].bytes);
  return c;
}

VectorCase random_lut(Random& random) {
  Layout layout(random);
  isa::Lut op;
  op.rows = draw(random, 1, 4);
  op.elements = draw(random, 1, 150);
  op.in_pitch = op.elements + layout.some();
  op.out_pitch = op.elements + layout.some();
  layout.take(op.in_base, op.in_offset, std::uint64_t{op.rows} * op.in_pitch);
  layout.take(op.out_base, op.out_offset, std::uint64_t{op.rows} * op.out_pitch);
  layout.take(op.table_base, op.table_offset, 256);
  return {op, layout.memory()};
}

VectorCase random_pool(Random& random) {
  Layout layout(random);
  isa::Pool op;
  op.in_h = draw(random, 1, 8);
  op.in_w = draw(random, 1, 8);
  op.channels = draw(random, 1, 70);
  op.out_h = draw(random, 1, 5);
  op.out_w = draw(random, 1, 5);
  op.kernel_h = draw(random, 1, 4);
  op.kernel_w = draw(random, 1, 4);
  op.stride_h = draw(random, 1, 3);
  op.stride_w = draw(random, 1, 3);
  op.pad_top = static_cast<std::int32_t>(draw(random, 0, 6)) - 3;
  op.pad_left = draw(random, 0, 3);
  op.function = draw(random, 0, 1);
  op.count_padding = draw(random, 0, 1);
  op.in_zero = any_int8(random);
  op.out_zero = any_int8(random);
  op.multiplier = scale(random);
  op.type = draw(random, 0, 2);
  const std::uint32_t item = item_bytes(op.type);
  op.in_row = op.in_w * op.channels * item + layout.some();
  op.out_row = op.out_w * op.channels * item + layout.some();
  layout.take(op.in_base, op.in_offset, std::uint64_t{op.in_h} * op.in_row);
  layout.take(op.out_base, op.out_offset, std::uint64_t{op.out_h} * op.out_row);
  VectorCase c{op, layout.memory()};
  fill(random, op.type, c, op.in_offset, std::uint64_t{op.in_h} * op.in_row);
  return c;
}

VectorCase random_softmax(Random& random) {
  Layout layout(random);
  isa::Softmax op;
  draw_types(random, op);
  op.rows = draw(random, 1, 4);
  op.elements = draw(random, 1, 150);
  op.in_pitch = op.elements * item_bytes(op.in_type) + layout.some();
  op.out_pitch = op.elements * item_bytes(op.out_type) + layout.some();
  op.log = draw(random, 0, 1);
  op.mask_first = static_cast<std::int32_t>(draw(random, 0, 160)) - 5;
  op.mask_step = static_cast<std::int32_t>(draw(random, 0, 4)) - 2;
  op.mask_period = draw(random, 0, 3);
  layout.take(op.in_base, op.in_offset, std::uint64_t{op.rows} * op.in_pitch);
  layout.take(op.out_base, op.out_offset, std::uint64_t{op.rows} * op.out_pitch);
  return filled(random, layout, op, std::uint64_t{op.rows} * op.in_pitch);
}

VectorCase random_norm(Random& random) {
  Layout layout(random);
  isa::Norm op;
  draw_types(random, op);
  op.rows = draw(random, 1, 4);
  op.outer = draw(random, 1, 3);
  op.inner = draw(random, 1, random() % 4 == 0 ? 300 : 20);
  // Pieces of a row behind one another, or rows within the pitch of the pieces.
  const bool groups = random() % 2 == 0;
  const auto pitches = [&](std::uint32_t type, std::uint32_t& row, std::uint32_t& piece) {
    const std::uint32_t bytes = op.inner * item_bytes(type) + layout.some();
    row = groups ? bytes : bytes * op.outer + layout.some();
    piece = groups ? bytes * op.rows + layout.some() : bytes;
    return std::uint64_t{row} * op.rows + std::uint64_t{piece} * op.outer;
  };
  const std::uint64_t in_bytes = pitches(op.in_type, op.in_pitch, op.in_outer);
  const std::uint64_t out_bytes = pitches(op.out_type, op.out_pitch, op.out_outer);
  op.gains = draw(random, 0, 2);
  op.kind = draw(random, 0, 1);
  op.affine_period = draw(random, 1, 5);
  op.affine_pitch = op.inner * 8 + layout.some() * 4;
  op.epsilon = 1e-5F;
  layout.take(op.in_base, op.in_offset, in_bytes);
  layout.take(op.out_base, op.out_offset, out_bytes);
  const std::uint64_t affine_bytes = std::uint64_t{op.affine_pitch} * 5;
  layout.take(op.affine_base, op.affine_offset, affine_bytes);
  VectorCase c = filled(random, layout, op, in_bytes);
  fill(random, 1, c, op.affine_offset, affine_bytes);
  return c;
}

VectorCase random_permute(Random& random) {
  // Destination axes lie in a random order without overlap; the source's steps are random, of
  // either sign, or repeat an element.
  Layout layout(random);
  isa::Permute op;
  std::uint32_t* const sizes[] = {&op.size0, &op.size1, &op.size2, &op.size3, &op.size4};
  std::int32_t* const in[] = {&op.in_step0, &op.in_step1, &op.in_step2, &op.in_step3, &op.in_step4};
  std::int32_t* const out[] = {&op.out_step0, &op.out_step1, &op.out_step2, &op.out_step3,
                               &op.out_step4};
  std::array<std::size_t, 5> order{0, 1, 2, 3, 4};
  if (random() % 2 == 0) std::ranges::shuffle(order, random);
  op.item = draw(random, 0, 2);
  const std::int64_t item = std::int64_t{1} << op.item;
  std::int64_t out_bytes = item;
  std::int64_t in_low = 0;
  std::int64_t in_high = 0;
  for (std::size_t i = 5; i-- > 0;) {
    const std::size_t axis = order[i];
    *sizes[axis] = draw(random, 1, 5);
    *out[axis] = static_cast<std::int32_t>(out_bytes);
    out_bytes *= *sizes[axis];
    *in[axis] = axis == 4 && random() % 2 == 0 ? static_cast<std::int32_t>(item)
                                               : static_cast<std::int32_t>(random() % 41) - 20;
    const std::int64_t reach = std::int64_t{*in[axis]} * (*sizes[axis] - 1);
    (reach < 0 ? in_low : in_high) += reach;
  }
  layout.take(op.in_base, op.in_offset, static_cast<std::uint64_t>(in_high - in_low + item));
  op.in_offset += static_cast<std::uint64_t>(-in_low);
  layout.take(op.out_base, op.out_offset, static_cast<std::uint64_t>(out_bytes));
  return {op, layout.memory()};
}

VectorCase random_reduce(Random& random) {
  Layout layout(random);
  isa::Reduce op;
  draw_types(random, op);
  op.function = draw(random, 0, 8);
  if (op.function >= 7) op.out_type = 3;
  op.outer = draw(random, 1, 3);
  op.rows = draw(random, 1, 4);
  op.elements = draw(random, 1, random() % 4 == 0 ? 300 : 20);
  const auto item = static_cast<std::int32_t>(item_bytes(op.in_type));
  const auto out_item = static_cast<std::int32_t>(item_bytes(op.out_type));
  const auto rows = static_cast<std::int32_t>(op.rows);
  const auto elements = static_cast<std::int32_t>(op.elements);
  const bool across = random() % 2 == 0;  // elements further apart than rows
  op.in_step = across ? rows * item : item;
  op.in_pitch = across ? item : elements * item;
  op.in_outer = rows * elements * item;
  op.out_pitch = out_item + static_cast<std::int32_t>(layout.some());
  op.out_outer = op.out_pitch * rows;
  const std::uint64_t bytes = std::uint64_t{op.outer} * static_cast<std::uint32_t>(op.in_outer);
  layout.take(op.in_base, op.in_offset, bytes);
  layout.take(op.out_base, op.out_offset,
              std::uint64_t{op.outer} * static_cast<std::uint32_t>(op.out_outer));
  return filled(random, layout, op, bytes);
}

VectorCase random_resize(Random& random) {
  Layout layout(random);
  isa::Resize op;
  op.type = draw(random, 0, 2);
  op.whole_h = draw(random, 1, 8);
  op.in_h = draw(random, 1, op.whole_h);
  op.in_first = draw(random, 0, op.whole_h - op.in_h);
  op.in_w = draw(random, 1, 8);
  op.channels = draw(random, 1, random() % 4 == 0 ? 200 : 9);
  op.out_h = draw(random, 1, 8);
  op.out_w = draw(random, 1, 8);
  op.out_first = draw(random, 0, 4);
  const auto step = [&](std::uint32_t in, std::uint32_t out) {
    if (random() % 2 == 0) return static_cast<float>(in) / static_cast<float>(out);
    return out == 1 ? 0.0F : static_cast<float>(in - 1) / static_cast<float>(out - 1);
  };
  op.step_h = step(op.whole_h, op.out_h);
  op.step_w = step(op.in_w, op.out_w);
  op.half_pixel = draw(random, 0, 1);
  op.linear = draw(random, 0, 1);
  op.rounding = draw(random, 0, 3);
  const std::uint32_t pixel = op.channels * item_bytes(op.type);
  op.in_row = op.in_w * pixel + layout.some();
  op.out_row = op.out_w * pixel + layout.some();
  layout.take(op.in_base, op.in_offset, std::uint64_t{op.in_h} * op.in_row);
  layout.take(op.out_base, op.out_offset, std::uint64_t{op.out_h} * op.out_row);
  VectorCase c{op, layout.memory()};
  fill(random, op.type, c, op.in_offset, std::uint64_t{op.in_h} * op.in_row);
  return c;
}

VectorCase random_gather(Random& random) {
  Layout layout(random);
  isa::Gather op;
  op.rows = draw(random, 1, 9);
  op.row_bytes = draw(random, 1, 40);
  op.in_rows = draw(random, 1, 9);
  op.in_pitch = op.row_bytes + layout.some();
  op.out_pitch = op.row_bytes + layout.some();
  layout.take(op.in_base, op.in_offset, std::uint64_t{op.in_rows} * op.in_pitch);
  layout.take(op.indices_base, op.indices_offset, std::uint64_t{op.rows} * 4);
  layout.take(op.out_base, op.out_offset, std::uint64_t{op.rows} * op.out_pitch);
  VectorCase c{op, layout.memory()};
  fill_indices(random, c, op.indices_offset, op.rows, op.in_rows);
  return c;
}

VectorCase random_scatter(Random& random) {
  Layout layout(random);
  isa::Scatter op;
  op.rows = draw(random, 1, 9);
  op.elements = draw(random, 1, 40);
  op.out_rows = draw(random, 1, 9);
  op.type = draw(random, 0, 3);
  op.add = op.type == 0 ? 0 : draw(random, 0, 1);
  op.in_pitch = op.elements * item_bytes(op.type) + layout.some();
  op.out_pitch = op.elements * item_bytes(op.type) + layout.some();
  layout.take(op.in_base, op.in_offset, std::uint64_t{op.rows} * op.in_pitch);
  layout.take(op.indices_base, op.indices_offset, std::uint64_t{op.rows} * 4);
  layout.take(op.out_base, op.out_offset, std::uint64_t{op.out_rows} * op.out_pitch);
  VectorCase c{op, layout.memory()};
  fill(random, op.type, c, op.in_offset, std::uint64_t{op.rows} * op.in_pitch);
  fill(random, op.type, c, op.out_offset, std::uint64_t{op.out_rows} * op.out_pitch);
  fill_indices(random, c, op.indices_offset, op.rows, op.out_rows);
  return c;
}

VectorCase random_topk(Random& random) {
  Layout layout(random);
  isa::TopK op;
  op.rows = draw(random, 1, 3);
  op.elements = draw(random, 1, random() % 4 == 0 ? 300 : 20);
  op.k = draw(random, 1, std::min(op.elements, 12U));
  op.smallest = draw(random, 0, 1);
  op.type = draw(random, 0, 3);
  op.in_pitch = op.elements * item_bytes(op.type) + layout.some();
  op.out_pitch = op.k * item_bytes(op.type) + layout.some();
  op.index_pitch = op.k * 4 + layout.some();
  layout.take(op.in_base, op.in_offset, std::uint64_t{op.rows} * op.in_pitch);
  layout.take(op.out_base, op.out_offset, std::uint64_t{op.rows} * op.out_pitch);
  layout.take(op.indices_base, op.indices_offset, std::uint64_t{op.rows} * op.index_pitch);
  VectorCase c{op, layout.memory()};
  fill(random, op.type, c, op.in_offset, std::uint64_t{op.rows} * op.in_pitch);
  return c;
}

VectorCase random_vector_case(Random& random) {
  constexpr std::array makers{random_map,    random_lut,     random_pool,   random_softmax,
                              random_norm,   random_permute, random_reduce, random_resize,
                              random_gather, random_scatter, random_topk};
  return makers[random() % makers.size()](random);
}

}  // namespace steppe::test
