// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/models/vector/bench.h"

using namespace steppe;
using test::VectorBench;

namespace {

constexpr std::uint64_t start = 20;  // start_cycles

/// Cycles of the instruction before an instant SRAM.
std::uint64_t cycles_of(const isa::Operation& operation) {
  VectorBench bench(Mode::timing);
  bench.build();
  VectorBench::Result result;
  test::simulate([&] { result = bench.execute(operation); });
  CHECK_FALSE(result.fault);
  CHECK(bench.stat("vector.cycles") * 1000 == static_cast<double>(result.ps));
  CHECK(bench.stat("vector.instructions") == 1);
  return result.ps / 1000;
}

template <typename Op>
Op rows(std::uint32_t count, std::uint32_t elements) {
  Op op;
  op.in_base = op.out_base = 1;
  op.rows = count;
  op.elements = op.in_pitch = op.out_pitch = elements;
  op.out_offset = 1'000'000;
  return op;
}

isa::Eltwise eltwise(std::uint32_t function) {
  isa::Eltwise op;
  op.a_base = op.b_base = op.out_base = 1;
  op.rows = 10;
  op.elements = op.a_pitch = op.b_pitch = op.b_period = op.out_pitch = 448;
  op.function = function;
  op.clamp_high = 127;
  return op;
}

isa::Pool pool(std::uint32_t function) {
  isa::Pool op;
  op.in_base = op.out_base = 1;
  op.in_h = op.in_w = 14;
  op.channels = 64;
  op.in_row = 14 * 64;
  op.out_h = op.out_w = 7;
  op.out_row = 7 * 64;
  op.kernel_h = op.kernel_w = op.stride_h = op.stride_w = 2;
  op.function = function;
  return op;
}

isa::Permute permute() {
  isa::Permute op;
  op.in_base = op.out_base = 1;
  op.size0 = op.size1 = op.size2 = 1;
  op.size3 = 100;
  op.size4 = 64;
  op.in_step3 = 64;
  op.in_step4 = 1;
  op.out_step3 = 1;
  op.out_step4 = 100;
  return op;
}

}  // namespace

// Of 448 lanes, 32 of them for exponentials, divisions and roots.

TEST_CASE("vector timing: eltwise passes the lanes three times") {
  CHECK(cycles_of(eltwise(0)) == start + 30);  // 3 * 4480 / 448
}
TEST_CASE("vector timing: a division takes the special lanes") {
  CHECK(cycles_of(eltwise(3)) == start + 140);  // 4480 / 32
}
TEST_CASE("vector timing: lut passes once") {
  auto op = rows<isa::Lut>(1, 1000);
  op.table_base = 1;
  CHECK(cycles_of(op) == start + 3);  // 1000 / 448 rounds up
}
TEST_CASE("vector timing: a maximum takes an operation for each element of a window") {
  CHECK(cycles_of(pool(0)) == start + 28);  // 7 * 7 * 64 * 4 / 448
}
TEST_CASE("vector timing: an average divides each result") {
  CHECK(cycles_of(pool(1)) == start + 98);  // 7 * 7 * 64 / 32
}
TEST_CASE("vector timing: a window larger than the input counts what can lie inside") {
  isa::Pool op = pool(0);
  op.out_h = op.out_w = 1;
  op.kernel_h = op.kernel_w = 1000;
  CHECK(cycles_of(op) == start + 28);  // 64 * 14 * 14 / 448
}
TEST_CASE("vector timing: softmax takes an exponential and a division an element") {
  CHECK(cycles_of(rows<isa::Softmax>(8, 128)) == start + 64);  // 2 * 1024 / 32; lanes: 9.1
}
TEST_CASE("vector timing: layernorm takes seven operations an element") {
  auto op = rows<isa::LayerNorm>(16, 448);
  op.affine_base = 1;
  CHECK(cycles_of(op) == start + 112);  // 7 * 16 * 448 / 448; special: 1
}
TEST_CASE("vector timing: permute moves 64 bytes a cycle") {
  CHECK(cycles_of(permute()) == start + 100);
}

TEST_CASE("vector timing: parameters reach it") {
  VectorBench bench(Mode::timing);
  bench.set("vector.lanes", "100");
  bench.set("vector.special_lanes", "1");
  bench.set("vector.permute_bytes", "640");
  bench.set("vector.start_cycles", "1");
  bench.build();
  test::simulate([&] {
    CHECK(bench.execute(eltwise(0)).ps == (1 + 135) * 1000);  // 13440 / 100 rounds up
    CHECK(bench.execute(eltwise(3)).ps == (1 + 4480) * 1000);
    CHECK(bench.execute(permute()).ps == (1 + 10) * 1000);
  });
}

TEST_CASE("vector timing: a slow SRAM decides") {
  VectorBench bench(Mode::timing);
  bench.set("sram.bandwidth", "1 GB/s");
  bench.set("sram.latency", "5 ns");
  bench.build();
  test::simulate([&] {
    // Two operands of 4480 B read, as much written, at 1 ns a byte, and the latency.
    CHECK(bench.execute(eltwise(0)).ps == 3 * 4'480'000 + 5'000);
    // 50 cycles of the lanes, the rest is the SRAM's.
    CHECK(bench.stat("vector.sram_bound") == 13'445'000 - 50'000);
  });
}

TEST_CASE("vector timing: operands that repeat are read once") {
  VectorBench bench(Mode::timing);
  bench.set("sram.bandwidth", "1 GB/s");
  bench.build();
  test::simulate([&] {
    isa::Eltwise op = eltwise(0);
    op.b_pitch = 0;
    CHECK(bench.execute(op).ps == (2 * 4480 + 448) * 1000);
    op.b_period = 1;
    op.b_type = 1;
    CHECK(bench.execute(op).ps == (2 * 4480 + 4) * 1000);
  });
}

TEST_CASE(
    "vector timing: functional and timing runs take the same time, the latter touches nothing") {
  VectorBench functional(Mode::functional);
  VectorBench timing(Mode::timing);
  functional.set("sram.bandwidth", "20 GB/s");
  timing.set("sram.bandwidth", "20 GB/s");
  functional.build("0");
  timing.build("1");
  test::Random random(12);
  std::uint32_t wrong = 0;
  test::simulate([&] {
    for (int i = 0; i < 600; ++i) {
      const test::VectorCase c = test::random_vector_case(random);
      functional.load(c);
      timing.load(c);
      const auto a = functional.execute(c.operation);
      const auto b = timing.execute(c.operation);
      if (a.fault || b.fault || a.ps != b.ps || a.ps == 0) ++wrong;
      if (std::memcmp(timing.memory(), c.memory.data(), c.memory.size()) != 0) ++wrong;
    }
  });
  CHECK(wrong == 0);
}
