// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/models/tensor/bench.h"

using namespace steppe;
using test::TensorBench;

namespace {

/// Puts the case at the start of the slice.
void load(TensorBench& bench, const test::ConvCase& c) {
  std::memcpy(bench.memory(), c.memory.data(), c.memory.size());
}

// 3x3 256 to 256 on 14x14 at 16x: 2056 cycles, 604160 B read, 50176 B written (see cost_test.cpp).
isa::Conv known_conv() {
  test::Random random(1);
  return test::in_slice(test::place(random, test::same_conv(14, 14, 256, 256, 3, 4), 0).conv);
}

std::uint64_t known_conv_ps(TensorBench& bench) {
  bench.build();
  TensorBench::Result result;
  test::simulate([&] { result = bench.execute(known_conv()); });
  CHECK_FALSE(result.fault);
  return result.ps;
}

}  // namespace

TEST_CASE("tensor unit: the array's cycles decide before a fast SRAM") {
  TensorBench bench;
  CHECK(known_conv_ps(bench) == 2'056'000);
  CHECK(bench.stat("tensor.instructions") == 1);
  CHECK(bench.stat("tensor.cycles") == 2056);
  CHECK(bench.stat("tensor.sram_bound") == 0);
  CHECK(bench.stat("tensor.dense_macs") == 115'605'504);
  CHECK(bench.stat("tensor.effective_macs") == 7'225'344);
  // 7225344 of 2056 * 8 * 16 * 32
  CHECK(bench.stat("tensor.array_utilisation") == doctest::Approx(7'225'344.0 / 8'421'376.0));
}

TEST_CASE("tensor unit: the same in a timing run") {
  TensorBench bench(Mode::timing);
  CHECK(known_conv_ps(bench) == 2'056'000);
}

TEST_CASE("tensor unit: cycles that are no whole picoseconds round up") {
  TensorBench bench(Mode::timing);
  bench.set("tensor.clock", "900 MHz");
  CHECK(known_conv_ps(bench) == 2'284'445);  // 2056 / 0.9 = 2284.44... ns
}

TEST_CASE("tensor unit: a slow SRAM decides") {
  TensorBench bench(Mode::timing);
  bench.set("sram.bandwidth", "100 GB/s");
  bench.set("sram.latency", "5 ns");
  // (604160 + 50176) B at 10 ps each, and 5 ns.
  CHECK(known_conv_ps(bench) == 6'543'360 + 5'000);
  CHECK(bench.stat("tensor.sram_bound") == 6'548'360 - 2'056'000);
  CHECK(bench.stat("sram.bytes") == 604'160 + 50'176);
}

TEST_CASE("tensor unit: parameters of the array reach its timing") {
  TensorBench bench(Mode::timing);
  bench.set("tensor.engines", "4");
  bench.set("tensor.start_cycles", "0");
  bench.set("tensor.drain_cycles", "1");
  CHECK(known_conv_ps(bench) == (28 * 72 * 2 + 1) * 1000);
}

TEST_CASE("tensor unit: values are those of the reference, in place of the results alone") {
  TensorBench bench;
  bench.build();
  test::Random random(11);
  std::uint32_t wrong = 0;
  test::simulate([&] {
    for (int i = 0; i < 50; ++i) {
      const test::ConvCase c = test::random_case(random);
      load(bench, c);
      const auto result = bench.execute(test::in_slice(c.conv));
      const auto expected = test::reference(c);
      if (result.fault || std::memcmp(bench.memory(), expected.data(), expected.size()) != 0)
        ++wrong;
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE(
    "tensor unit: functional and timing runs take the same time, the latter touches nothing") {
  TensorBench functional(Mode::functional);
  TensorBench timing(Mode::timing);
  functional.set("sram.bandwidth", "1 GB/s");
  timing.set("sram.bandwidth", "1 GB/s");
  functional.build("0");
  timing.build("1");
  test::Random random(12);
  std::uint32_t wrong = 0;
  test::simulate([&] {
    for (int i = 0; i < 100; ++i) {
      const test::ConvCase c = test::random_case(random);
      load(functional, c);
      load(timing, c);
      const auto a = functional.execute(test::in_slice(c.conv));
      const auto b = timing.execute(test::in_slice(c.conv));
      if (a.fault || b.fault || a.ps != b.ps || a.ps == 0) ++wrong;
      if (std::memcmp(timing.memory(), c.memory.data(), c.memory.size()) != 0) ++wrong;
    }
  });
  CHECK(wrong == 0);
}
