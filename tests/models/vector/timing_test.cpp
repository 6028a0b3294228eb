// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "models/isa/functions.h"
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

isa::Map map(std::uint32_t function) {
  isa::Map op;
  op.a_base = op.b_base = op.c_base = op.out_base = 1;
  op.size0 = op.size1 = 1;
  op.size2 = 10;
  op.size3 = op.a_step2 = op.b_step2 = op.out_step2 = 448;
  op.a_step3 = op.b_step3 = op.out_step3 = 1;
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

TEST_CASE("vector timing: map passes the lanes three times") {
  CHECK(cycles_of(map(0)) == start + 30);  // 3 * 4480 / 448
}
TEST_CASE("vector timing: a division takes the special lanes") {
  CHECK(cycles_of(map(3)) == start + 140);  // 4480 / 32
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
TEST_CASE("vector timing: softmax takes an exponential an element and a reciprocal a row") {
  CHECK(cycles_of(rows<isa::Softmax>(8, 128)) == start + 33);  // (1024 + 8) / 32 up; lanes: 11.4
}
TEST_CASE("vector timing: norm takes seven operations an element") {
  isa::Norm op;
  op.in_base = op.out_base = op.affine_base = 1;
  op.rows = 16;
  op.outer = op.affine_period = 1;
  op.inner = op.in_pitch = op.out_pitch = 448;
  op.gains = 2;
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
    CHECK(bench.execute(map(0)).ps == (1 + 135) * 1000);  // 13440 / 100 rounds up
    CHECK(bench.execute(map(3)).ps == (1 + 4480) * 1000);
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
    CHECK(bench.execute(map(0)).ps == 3 * 4'480'000 + 5'000);
    // 50 cycles of the lanes, the rest is the SRAM's.
    CHECK(bench.stat("vector.sram_bound") == 13'445'000 - 50'000);
  });
}

TEST_CASE("vector timing: operands that repeat are read once") {
  VectorBench bench(Mode::timing);
  bench.set("sram.bandwidth", "1 GB/s");
  bench.build();
  test::simulate([&] {
    isa::Map op = map(0);
    op.b_step2 = 0;
    CHECK(bench.execute(op).ps == (2 * 4480 + 448) * 1000);
    op.b_step3 = 0;
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

TEST_CASE("vector timing: the README's example") {
  VectorBench bench(Mode::timing);
  bench.set("sram.bandwidth", "64 GB/s");  // 64 B a cycle of 1 ns
  bench.build();
  isa::Map op = map(48);  // gelu_tanh
  op.out_type = 2;
  op.out_step2 = 896;
  op.out_step3 = 2;
  op.out_offset = 100'000;
  test::simulate([&] {
    CHECK(bench.execute(op).ps == 210'000);     // (4480 + 8960) / 64
    CHECK(bench.stat("vector.cycles") == 160);  // 20 + 4480 / 32
    CHECK(bench.stat("vector.sram_bound") == 50'000);
  });
}

TEST_CASE("vector timing: the README lists the functions and their costs") {
  std::ifstream file(STEPPE_SOURCE_DIR "/models/vector/README.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const auto& row : vector_functions::rows) {
    const std::string line = fmt::format("\n| {} | {} | {} | {} | {} |\n", row.name, row.code,
                                         row.operands, row.lane_ops, row.special_ops);
    CAPTURE(row.name);
    CHECK(page.find(line) != std::string::npos);
  }
}

TEST_CASE("vector timing: each function's cost") {
  VectorBench bench(Mode::timing);
  bench.set("vector.lanes", "1");
  bench.set("vector.start_cycles", "0");
  bench.build();
  test::simulate([&] {
    CHECK(bench.execute(map(17)).ps == 4 * 4'480'000);  // muladd: 2 and 2
    CHECK(bench.execute(map(32)).ps == 2 * 4'480'000);  // copy: 2
  });
}

TEST_CASE("vector timing: what reduce, resize, gather, scatter and topk take") {
  VectorBench bench(Mode::timing);
  bench.build();
  test::simulate([&] {
    isa::Reduce reduce;
    reduce.in_base = reduce.out_base = 1;
    reduce.outer = 1;
    reduce.rows = 10;
    reduce.elements = reduce.in_pitch = 448;
    reduce.in_step = reduce.out_pitch = 1;
    CHECK(bench.execute(reduce).ps == (20 + 20) * 1000);  // 2 * 4480 / 448
    reduce.function = 6;
    CHECK(bench.execute(reduce).ps == (20 + 30) * 1000);  // squared: 3
    isa::Resize resize;
    resize.in_base = resize.out_base = 1;
    resize.in_h = resize.whole_h = resize.in_w = 4;
    resize.channels = 64;
    resize.in_row = 256;
    resize.out_h = resize.out_w = 8;
    resize.out_row = 512;
    resize.step_h = resize.step_w = 0.5F;
    CHECK(bench.execute(resize).ps == (20 + 64) * 1000);  // 8 * 8 * 64 / 64
    resize.linear = 1;
    CHECK(bench.execute(resize).ps == (20 + 92) * 1000);  // 10 * 4096 / 448 = 91.4
    isa::Gather gather;
    gather.in_base = gather.indices_base = gather.out_base = 1;
    gather.rows = gather.in_rows = 10;
    gather.row_bytes = gather.in_pitch = gather.out_pitch = 64;
    CHECK(bench.execute(gather).ps == (20 + 10) * 1000);
    isa::Scatter scatter;
    scatter.in_base = scatter.indices_base = scatter.out_base = 1;
    scatter.rows = scatter.out_rows = 10;
    scatter.elements = 16;
    scatter.in_pitch = scatter.out_pitch = 64;
    scatter.type = 1;
    scatter.add = 1;
    CHECK(bench.execute(scatter).ps == (20 + 10) * 1000);  // 640 B / 64; lanes: 160 / 448
    auto topk = rows<isa::TopK>(1, 1000);
    topk.indices_base = 1;
    topk.k = 5;
    CHECK(bench.execute(topk).ps == (20 + 12) * 1000);  // 5 * 1000 / 448 = 11.2
    topk.k = 500;
    CHECK(bench.execute(topk).ps == (20 + 123) * 1000);  // 10 * 11 / 2 * 1000 / 448 = 122.8
  });
}
