// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "models/vector/vector_kernels.h"
#include "tests/models/vector/bench.h"

using namespace steppe;
using test::VectorBench;

namespace {

using Bytes8 = std::vector<std::int8_t>;

template <typename T>
std::uint8_t* raw(T* values) {
  return reinterpret_cast<std::uint8_t*>(values);
}
template <typename T>
const std::uint8_t* raw(const T* values) {
  return reinterpret_cast<const std::uint8_t*>(values);
}
template <typename T>
const std::uint8_t* raw(const std::vector<T>& values) {
  return raw(values.data());
}
template <typename T>
std::uint8_t* raw(std::vector<T>& values) {
  return raw(values.data());
}

/// How many of `count` drawn instructions leave anything but what the reference leaves.
std::uint32_t wrong_of(test::VectorCase (*make)(test::Random&), std::uint32_t seed, int count) {
  VectorBench bench;
  bench.build();
  test::Random random(seed);
  std::uint32_t wrong = 0;
  test::simulate([&] {
    for (int i = 0; i < count; ++i) {
      const test::VectorCase c = make(random);
      bench.load(c);
      const auto result = bench.execute(c.operation);
      const std::vector<std::uint8_t> expected = test::reference(c);
      if (result.fault || std::memcmp(bench.memory(), expected.data(), expected.size()) != 0)
        ++wrong;
    }
  });
  return wrong;
}

}  // namespace

TEST_CASE("vector values: drawn map") { CHECK(wrong_of(test::random_map, 1, 12000) == 0); }
TEST_CASE("vector values: drawn lut") { CHECK(wrong_of(test::random_lut, 2, 500) == 0); }
TEST_CASE("vector values: drawn pool") { CHECK(wrong_of(test::random_pool, 3, 3000) == 0); }
TEST_CASE("vector values: drawn softmax") { CHECK(wrong_of(test::random_softmax, 4, 3000) == 0); }
TEST_CASE("vector values: drawn norm") { CHECK(wrong_of(test::random_norm, 5, 3000) == 0); }
TEST_CASE("vector values: drawn permute") { CHECK(wrong_of(test::random_permute, 6, 3000) == 0); }
TEST_CASE("vector values: drawn reduce") { CHECK(wrong_of(test::random_reduce, 7, 4000) == 0); }
TEST_CASE("vector values: drawn resize") { CHECK(wrong_of(test::random_resize, 8, 3000) == 0); }
TEST_CASE("vector values: drawn gather") { CHECK(wrong_of(test::random_gather, 9, 1000) == 0); }
TEST_CASE("vector values: drawn scatter") { CHECK(wrong_of(test::random_scatter, 10, 2000) == 0); }
TEST_CASE("vector values: drawn topk") { CHECK(wrong_of(test::random_topk, 11, 1500) == 0); }

TEST_CASE("vector values: map by hand") {
  isa::Map op;
  op.size0 = op.size1 = 1;
  op.size2 = op.size3 = 2;
  op.a_step2 = op.out_step2 = 2;
  op.a_step3 = op.out_step3 = 1;
  op.b_step3 = 4;  // the first two again and again
  op.a_zero = 2;
  op.a_scale = 0.5F;
  op.b_type = 1;
  op.out_inverse = 1.0F;
  op.out_zero = 1;
  op.clamp_low = -128;
  op.clamp_high = 6;
  const Bytes8 a{2, 4, 12, -2};  // 0, 1, 5, -2
  const float b[] = {0.5F, 10.0F};
  const auto run = [&](std::uint32_t function) {
    op.function = function;
    Bytes8 out(4);
    vector_kernels::run(op, raw(a), raw(b), nullptr, raw(out));
    return out;
  };
  CHECK(run(0) == Bytes8{1, 6, 6, 6});     // 0.5 -> 0; 11; 5.5 -> 6, all + 1, at most 6; 8
  CHECK(run(1) == Bytes8{1, -8, 5, -11});  // -0.5 -> -0; -9; 4.5 -> 4; -12
  CHECK(run(2) == Bytes8{1, 6, 3, -19});   // 0; 10; 2.5 -> 2; -20
  CHECK(run(3) == Bytes8{1, 1, 6, 1});     // 0; 0.1; 10; -0.2
  CHECK(run(4) == Bytes8{1, 6, 6, 6});     // 0.5; 10; 5; 10
  CHECK(run(5) == Bytes8{1, 2, 1, -1});    // 0; 1; 0.5; -2
}

TEST_CASE("vector values: division by zero") {
  isa::Map op;
  op.size0 = op.size1 = op.size2 = 1;
  op.size3 = 3;
  op.a_step3 = op.b_step3 = op.out_step3 = 1;
  op.function = 3;
  op.a_scale = op.b_scale = op.out_inverse = 1.0F;
  op.clamp_low = -100;
  op.clamp_high = 100;
  const Bytes8 a{1, -1, 0};
  const std::uint8_t b[] = {0, 0, 0};
  Bytes8 out(3);
  vector_kernels::run(op, raw(a), b, nullptr, raw(out));
  CHECK(out == Bytes8{100, -100, -100});  // infinities saturate, NaN stores as low
}

TEST_CASE("vector values: pool by hand") {
  isa::Pool op;
  op.in_h = op.in_w = op.channels = op.out_h = 1;
  op.in_row = 1;
  op.out_w = op.out_row = 3;
  op.kernel_h = 1;
  op.kernel_w = 2;
  op.stride_h = op.stride_w = 1;
  op.pad_left = 1;
  op.in_zero = 1;
  op.multiplier = 1.0F;
  op.out_zero = 10;
  const Bytes8 in{6};
  const auto run = [&](std::uint32_t function, std::uint32_t count_padding) {
    op.function = function;
    op.count_padding = count_padding;
    Bytes8 out(3);
    vector_kernels::run(op, raw(in), raw(out));
    return out;
  };
  // Windows over (padding, 6), (6, padding), and nothing of the input.
  CHECK(run(0, 0) == Bytes8{6, 6, -128});
  CHECK(run(1, 0) == Bytes8{15, 15, -128});  // 5 / 1; 0 / 0 is NaN
  CHECK(run(1, 1) == Bytes8{12, 12, 10});    // 5 / 2 = 2.5 -> 2; 0 / 2
}

TEST_CASE("vector values: sums of a pool wrap") {
  // 65535 rows on one another of 1024 pixels of 127 with zero point -128: a sum of 255 * 67107840 =
  // 17112499200, less 4 * 2^32: -67369984. Divided by 67107840: -1.0039.
  isa::Pool op;
  op.in_h = op.kernel_h = 65535;
  op.in_w = op.kernel_w = 1024;
  op.channels = op.out_h = op.out_w = op.out_row = 1;
  op.stride_h = op.stride_w = 1;
  op.function = 1;
  op.in_zero = -128;
  op.multiplier = 100.0F;
  const Bytes8 in(1024, 127);
  Bytes8 out(1);
  vector_kernels::run(op, raw(in), raw(out));
  CHECK(out[0] == -100);
}

TEST_CASE("vector values: softmax by hand") {
  isa::Softmax op;
  op.rows = 1;
  op.elements = 3;
  op.in_scale = 0.6931472F;  // about ln 2: each step halves
  op.out_inverse = 70.0F;
  op.out_zero = -5;
  const Bytes8 in{5, 4, 3};  // 4/7, 2/7, 1/7
  Bytes8 out(3);
  vector_kernels::run(op, raw(in), raw(out));
  CHECK(out == Bytes8{35, 15, 5});
}

// A kernel once looked up the distance of an element that a result had replaced: outside its table.
TEST_CASE("vector values: softmax over its own input, at an offset, stays within its table") {
  isa::Softmax op;
  op.rows = 1;
  op.elements = 3;
  op.in_scale = 1.0F;
  op.out_inverse = 1.0F;
  op.out_zero = 127;
  Bytes8 memory{-2, -128, -128, 0};
  vector_kernels::run(op, raw(memory), raw(memory) + 1);
  CHECK(memory == Bytes8{-2, 127, 127, 127});
}

TEST_CASE("vector values: norm by hand") {
  isa::Norm op;
  op.rows = op.outer = op.affine_period = 1;
  op.inner = 4;
  op.gains = 2;
  op.in_zero = 3;
  op.in_scale = 2.0F;
  op.epsilon = 0.0F;
  op.out_inverse = 10.0F;
  const Bytes8 in{2, 4, 2, 4};  // -2, 2, -2, 2: mean 0, variance 4
  const float affine[] = {1, 1, 2, 0.5F, 0, 1, 0, 0};
  Bytes8 out(4);
  vector_kernels::run(op, raw(in), raw(affine), raw(out));
  CHECK(out == Bytes8{-10, 20, -20, 5});
}

TEST_CASE("vector values: permute transposes by hand") {
  isa::Permute op;  // 2 x 3 to 3 x 2
  op.size0 = op.size1 = op.size2 = 1;
  op.size3 = 3;
  op.size4 = 2;
  op.in_step3 = 1;
  op.in_step4 = 3;
  op.out_step3 = 2;
  op.out_step4 = 1;
  const Bytes8 in{1, 2, 3, 4, 5, 6};
  Bytes8 out(6);
  vector_kernels::run(op, raw(in), raw(out));
  CHECK(out == Bytes8{1, 4, 2, 5, 3, 6});
}

TEST_CASE("vector values: rotary embedding is two muladd of strided halves") {
  // One head of 4: pairs (x0, x2), (x1, x3), fp32: y0 = x0 cos - x2 sin, y2 = x2 cos + x0 sin.
  const float x[] = {1, 2, 3, 4};
  const float cosine[] = {0.5F, 0.25F};
  const float sine[] = {2, 4};
  float y[4] = {};
  isa::Map op;
  op.size0 = op.size1 = op.size2 = 1;
  op.size3 = 2;
  op.a_step3 = op.b_step3 = op.c_step3 = op.out_step3 = 4;
  op.a_type = op.b_type = op.c_type = op.out_type = 1;
  op.lowest = -1e9F;
  op.highest = 1e9F;
  const auto run = [&](std::uint32_t function, const float* a, const float* b, const float* c,
                       float* out) {
    op.function = function;
    vector_kernels::run(op, raw(a), raw(b), raw(c), raw(out));
  };
  float part[2] = {};
  run(2, x + 2, sine, nullptr, part);     // mul
  run(33, part, nullptr, nullptr, part);  // neg
  run(17, x, cosine, part, y);            // muladd
  run(2, x, sine, nullptr, part);
  run(17, x + 2, cosine, part, y + 2);
  CHECK(y[0] == 0.5F - 6);
  CHECK(y[1] == 0.5F - 16);
  CHECK(y[2] == 1.5F + 2);
  CHECK(y[3] == 1.0F + 8);
}

TEST_CASE("vector values: a causal mask") {
  isa::Softmax op;  // two heads of two positions: row r sees 1 + r mod 2 elements
  op.rows = 4;
  op.elements = op.in_pitch = op.out_pitch = 2;
  op.in_scale = 1;
  op.out_inverse = 100;
  op.mask_first = op.mask_step = 1;
  op.mask_period = 2;
  const Bytes8 in{3, 3, 3, 3, 7, 9, 7, 7};
  Bytes8 out(8);
  vector_kernels::run(op, raw(in), raw(out));
  CHECK(out == Bytes8{100, 0, 50, 50, 100, 0, 50, 50});
}

TEST_CASE("vector values: group norm of one image, channels behind pixels") {
  isa::Norm op;  // 2 pixels of 4 channels in 2 groups
  op.rows = op.outer = op.inner = 2;
  op.in_pitch = op.out_pitch = 2;
  op.in_outer = op.out_outer = 4;
  op.in_scale = 1;
  op.out_inverse = 10;
  const Bytes8 in{1, 3, 0, 8, 3, 1, 8, 0};  // group 0: mean 2, deviation 1; group 1: 4, 4
  Bytes8 out(8);
  vector_kernels::run(op, raw(in), nullptr, raw(out));
  CHECK(out == Bytes8{-10, 10, -10, 10, 10, -10, 10, -10});
}

TEST_CASE("vector values: reduce by hand") {
  isa::Reduce op;
  op.outer = op.rows = 1;
  op.elements = 4;
  op.in_step = 1;
  op.in_zero = 1;
  op.in_scale = 0.5F;
  op.out_type = 1;
  const Bytes8 in{3, -1, 7, 7};  // 1, -1, 3, 3
  const auto run = [&](std::uint32_t function) {
    op.function = function;
    float out = 0;
    vector_kernels::run(op, raw(in), raw(&out));
    return out;
  };
  CHECK(run(0) == 6);
  CHECK(run(1) == 1.5F);
  CHECK(run(2) == 3);
  CHECK(run(3) == -1);
  CHECK(run(4) == -9);
  CHECK(run(5) == 20);
  CHECK(run(6) == std::sqrt(20.0F));
  const auto index = [&](std::uint32_t function) {
    op.function = function;
    op.out_type = 3;
    std::int32_t out = -1;
    vector_kernels::run(op, raw(in), raw(&out));
    return out;
  };
  CHECK(index(7) == 2);  // the first of two
  CHECK(index(8) == 1);
}

TEST_CASE("vector values: resize by hand") {
  isa::Resize op;
  op.in_h = op.whole_h = op.out_h = op.channels = 1;
  op.in_w = 2;
  op.out_w = 4;
  op.in_row = 2;
  op.out_row = 4;
  op.step_h = 1;
  op.step_w = 0.5F;
  const Bytes8 in{0, 40};
  const auto run = [&] {
    Bytes8 out(4);
    vector_kernels::run(op, raw(in), raw(out));
    return out;
  };
  op.half_pixel = op.linear = 1;
  CHECK(run() == Bytes8{0, 10, 30, 40});  // at -0.25, 0.25, 0.75, 1.25
  op.half_pixel = 0;
  CHECK(run() == Bytes8{0, 20, 40, 40});  // at 0, 0.5, 1, 1.5
  op.linear = 0;
  CHECK(run() == Bytes8{0, 0, 40, 40});  // half down: 0, 0, 1, 1
  op.rounding = 1;
  CHECK(run() == Bytes8{0, 40, 40, 40});
  op.rounding = 2;
  CHECK(run() == Bytes8{0, 0, 40, 40});
  op.rounding = 3;
  CHECK(run() == Bytes8{0, 40, 40, 40});
}

TEST_CASE("vector values: indices outside are counted, in functional runs") {
  VectorBench bench;
  bench.build();
  test::simulate([&] {
    isa::Gather op;
    op.in_base = op.indices_base = op.out_base = 1;
    op.rows = 3;
    op.in_rows = 2;
    op.row_bytes = op.in_pitch = op.out_pitch = 2;
    op.indices_offset = 16;
    op.out_offset = 32;
    const std::uint8_t table[] = {1, 2, 3, 4};
    const std::int32_t indices[] = {1, 2, -1};
    std::memcpy(bench.memory(), table, 4);
    std::memcpy(bench.memory() + 16, indices, 12);
    std::memset(bench.memory() + 32, 9, 6);
    CHECK_FALSE(bench.execute(op).fault);
    const std::uint8_t expected[] = {3, 4, 0, 0, 0, 0};
    CHECK(std::memcmp(bench.memory() + 32, expected, 6) == 0);
    CHECK(bench.stat("vector.missed_indices") == 2);
  });
}

TEST_CASE("vector values: topk puts NaN last, equals by index") {
  isa::TopK op;
  op.rows = 1;
  op.elements = 5;
  op.k = 5;
  op.type = 1;
  const float in[] = {2, std::nanf(""), 5, 2, -1};
  float out[5];
  std::int32_t indices[5];
  vector_kernels::run(op, raw(in), raw(out), raw(indices));
  CHECK(std::vector<std::int32_t>(indices, indices + 5) ==
        std::vector<std::int32_t>{2, 0, 3, 4, 1});
  op.smallest = 1;
  vector_kernels::run(op, raw(in), raw(out), raw(indices));
  CHECK(std::vector<std::int32_t>(indices, indices + 5) ==
        std::vector<std::int32_t>{4, 0, 3, 2, 1});
}

TEST_CASE("vector values: edges of map's types") {
  isa::Map op;
  op.size0 = op.size1 = op.size2 = 1;
  op.size3 = 5;
  op.a_step3 = op.b_step3 = op.out_step3 = 4;
  op.a_type = op.b_type = 1;
  const float nan = std::nanf("");
  const float a[] = {-0x1p31F, 0x1p31F, 2147483520.0F, nan, -1.5F};
  std::int32_t whole[5];
  op.function = 32;  // copy, to int32
  op.out_type = 3;
  op.out_inverse = 1;
  vector_kernels::run(op, raw(a), nullptr, nullptr, raw(whole));
  constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min();
  CHECK(std::vector<std::int32_t>(whole, whole + 5) ==
        std::vector<std::int32_t>{least, 2147483647, 2147483520, least, -2});
  // max is a < b ? b : a: a stays where they are equal or one is NaN; a bound does not stop NaN.
  const float x[] = {-0.0F, 0.0F, nan, 1, 9};
  const float y[] = {0.0F, -0.0F, 1, nan, 2};
  float out[5];
  op.function = 4;
  op.out_type = 1;
  op.lowest = -1;
  op.highest = 8;
  vector_kernels::run(op, raw(x), raw(y), nullptr, raw(out));
  CHECK((out[0] == 0 && std::signbit(out[0])));
  CHECK((out[1] == 0 && !std::signbit(out[1])));
  std::uint32_t bits = 0;
  std::memcpy(&bits, &out[2], 4);
  CHECK(bits == 0x7fc00000U);
  CHECK(out[3] == 1);
  CHECK(out[4] == 8);
}
