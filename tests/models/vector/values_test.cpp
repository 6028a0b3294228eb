// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>

#include "models/vector/vector_kernels.h"
#include "tests/models/vector/bench.h"

using namespace steppe;
using test::VectorBench;

namespace {

using Bytes8 = std::vector<std::int8_t>;

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

TEST_CASE("vector values: drawn eltwise") { CHECK(wrong_of(test::random_eltwise, 1, 3000) == 0); }
TEST_CASE("vector values: drawn lut") { CHECK(wrong_of(test::random_lut, 2, 500) == 0); }
TEST_CASE("vector values: drawn pool") { CHECK(wrong_of(test::random_pool, 3, 2000) == 0); }
TEST_CASE("vector values: drawn softmax") { CHECK(wrong_of(test::random_softmax, 4, 2000) == 0); }
TEST_CASE("vector values: drawn layernorm") {
  CHECK(wrong_of(test::random_layer_norm, 5, 2000) == 0);
}
TEST_CASE("vector values: drawn permute") { CHECK(wrong_of(test::random_permute, 6, 3000) == 0); }

TEST_CASE("vector values: eltwise by hand") {
  isa::Eltwise op;
  op.rows = 1;
  op.elements = 4;
  op.b_period = 2;
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
    vector_kernels::run(op, a.data(), reinterpret_cast<const std::uint8_t*>(b), out.data());
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
  isa::Eltwise op;
  op.rows = 1;
  op.elements = 3;
  op.b_period = 3;
  op.function = 3;
  op.a_scale = op.b_scale = op.out_inverse = 1.0F;
  op.clamp_low = -100;
  op.clamp_high = 100;
  const Bytes8 a{1, -1, 0};
  const std::uint8_t b[] = {0, 0, 0};
  Bytes8 out(3);
  vector_kernels::run(op, a.data(), b, out.data());
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
    vector_kernels::run(op, in.data(), out.data());
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
  vector_kernels::run(op, in.data(), out.data());
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
  vector_kernels::run(op, in.data(), out.data());
  CHECK(out == Bytes8{35, 15, 5});
}

// The kernel once looked up the distance of an element that a result had replaced: outside its
// table.
TEST_CASE("vector values: softmax over its own input, at an offset, stays within its table") {
  isa::Softmax op;
  op.rows = 1;
  op.elements = 3;
  op.in_scale = 1.0F;
  op.out_inverse = 1.0F;
  op.out_zero = 127;
  // The first result, 127, falls on the second element; 127 lies 129 above the largest, -2, and
  // there is no power of that distance: 0 / sum. It falls on the third, which sees the same.
  Bytes8 memory{-2, -128, -128, 0};
  vector_kernels::run(op, memory.data(), memory.data() + 1);
  CHECK(memory == Bytes8{-2, 127, 127, 127});
}

TEST_CASE("vector values: layernorm by hand") {
  isa::LayerNorm op;
  op.rows = 1;
  op.elements = 4;
  op.in_zero = 3;
  op.in_scale = 2.0F;
  op.epsilon = 0.0F;
  op.out_inverse = 10.0F;
  const Bytes8 in{2, 4, 2, 4};  // -2, 2, -2, 2: mean 0, variance 4
  const float affine[] = {1, 1, 2, 0.5F, 0, 1, 0, 0};
  Bytes8 out(4);
  vector_kernels::run(op, in.data(), reinterpret_cast<const std::uint8_t*>(affine), out.data());
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
  vector_kernels::run(op, in.data(), out.data());
  CHECK(out == Bytes8{1, 4, 2, 5, 3, 6});
}
