// SPDX-License-Identifier: Apache-2.0
#include "tests/models/vector/vector_case.h"

#include <algorithm>
#include <array>
#include <cstring>

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

/// fp32 numbers from -8 to 8.
void fill_floats(Random& random, std::uint8_t* to, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const float value =
        static_cast<float>(static_cast<std::int32_t>(random() % 16001) - 8000) / 1000;
    std::memcpy(to + std::size_t{i} * 4, &value, 4);
  }
}

template <typename Op>
void draw_rows(Random& random, Layout& layout, Op& op) {
  op.rows = draw(random, 1, 5);
  op.elements = draw(random, 1, 200);
  op.in_pitch = random() % 8 == 0 ? 0 : op.elements + layout.some();
  op.out_pitch = op.elements + layout.some();
  layout.take(op.in_base, op.in_offset, std::uint64_t{op.rows} * op.in_pitch + op.elements);
  layout.take(op.out_base, op.out_offset, std::uint64_t{op.rows} * op.out_pitch);
}

}  // namespace

VectorCase random_eltwise(Random& random) {
  Layout layout(random);
  isa::Eltwise op;
  op.function = draw(random, 0, 5);
  op.b_type = draw(random, 0, 1);
  op.rows = draw(random, 1, 5);
  op.elements = draw(random, 1, 200);
  op.b_period = random() % 2 == 0 ? op.elements : draw(random, 1, op.elements + 3);
  const std::uint32_t item = op.b_type == 1 ? 4 : 1;
  const std::uint32_t b_bytes = std::min(op.b_period, op.elements) * item;
  op.a_pitch = op.elements + layout.some();
  op.b_pitch = random() % 3 == 0 ? 0 : b_bytes + layout.some();
  op.out_pitch = op.elements + layout.some();
  op.a_zero = any_int8(random);
  op.b_zero = any_int8(random);
  op.out_zero = any_int8(random);
  const std::int32_t low = any_int8(random);
  const std::int32_t high = any_int8(random);
  op.clamp_low = random() % 2 == 0 ? -128 : std::min(low, high);
  op.clamp_high = random() % 2 == 0 ? 127 : std::max(low, high);
  op.a_scale = scale(random);
  op.b_scale = scale(random);
  op.out_inverse = 1.0F / scale(random);
  layout.take(op.a_base, op.a_offset, std::uint64_t{op.rows} * op.a_pitch);
  layout.take(op.b_base, op.b_offset, std::uint64_t{op.rows} * op.b_pitch + b_bytes);
  layout.take(op.out_base, op.out_offset, std::uint64_t{op.rows} * op.out_pitch);
  VectorCase c{op, layout.memory()};
  // Pitches that are no multiple of 4 mix the numbers up: any bits are a number, too.
  if (op.b_type == 1) {
    fill_floats(random, c.memory.data() + op.b_offset, (op.rows * op.b_pitch + b_bytes) / 4);
  }
  return c;
}

VectorCase random_lut(Random& random) {
  Layout layout(random);
  isa::Lut op;
  draw_rows(random, layout, op);
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
  op.in_row = op.in_w * op.channels + layout.some();
  op.out_row = op.out_w * op.channels + layout.some();
  layout.take(op.in_base, op.in_offset, std::uint64_t{op.in_h} * op.in_row);
  layout.take(op.out_base, op.out_offset, std::uint64_t{op.out_h} * op.out_row);
  return {op, layout.memory()};
}

VectorCase random_softmax(Random& random) {
  Layout layout(random);
  isa::Softmax op;
  draw_rows(random, layout, op);
  op.out_zero = any_int8(random);
  op.in_scale = scale(random);
  op.out_inverse = 1.0F / scale(random);
  return {op, layout.memory()};
}

VectorCase random_layer_norm(Random& random) {
  Layout layout(random);
  isa::LayerNorm op;
  draw_rows(random, layout, op);
  op.in_zero = any_int8(random);
  op.out_zero = any_int8(random);
  op.in_scale = scale(random);
  op.epsilon = 1e-5F;
  op.out_inverse = 1.0F / scale(random);
  layout.take(op.affine_base, op.affine_offset, std::uint64_t{op.elements} * 8);
  VectorCase c{op, layout.memory()};
  fill_floats(random, c.memory.data() + op.affine_offset, op.elements * 2);
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
  std::int64_t out_bytes = 1;
  std::int64_t in_low = 0;
  std::int64_t in_high = 0;
  for (std::size_t i = 5; i-- > 0;) {
    const std::size_t axis = order[i];
    *sizes[axis] = draw(random, 1, 5);
    *out[axis] = static_cast<std::int32_t>(out_bytes);
    out_bytes *= *sizes[axis];
    *in[axis] = axis == 4 && random() % 2 == 0 ? 1 : static_cast<std::int32_t>(random() % 41) - 20;
    const std::int64_t reach = std::int64_t{*in[axis]} * (*sizes[axis] - 1);
    (reach < 0 ? in_low : in_high) += reach;
  }
  layout.take(op.in_base, op.in_offset, static_cast<std::uint64_t>(in_high - in_low + 1));
  op.in_offset += static_cast<std::uint64_t>(-in_low);
  layout.take(op.out_base, op.out_offset, static_cast<std::uint64_t>(out_bytes));
  return {op, layout.memory()};
}

VectorCase random_vector_case(Random& random) {
  switch (random() % 6) {
    case 0:
      return random_eltwise(random);
    case 1:
      return random_lut(random);
    case 2:
      return random_pool(random);
    case 3:
      return random_softmax(random);
    case 4:
      return random_layer_norm(random);
    default:
      return random_permute(random);
  }
}

}  // namespace steppe::test
