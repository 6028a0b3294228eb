// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <vector>

#include "tests/models/tensor/bench.h"
#include "tests/support/mutate.h"

using namespace steppe;
using test::TensorBench;

namespace {

constexpr std::uint64_t slice = address::sram_of(TensorBench::cluster);

isa::Conv sound() {
  test::Random random(1);
  isa::Conv conv = test::same_conv(4, 6, 40, 8, 3, 2);
  conv.has_residual = conv.has_lut = conv.has_partial = 1;
  return test::in_slice(test::place(random, conv, 0).conv);
}

struct Wrong {
  const char* what;
  void (*change)(isa::Conv&);
};

constexpr Wrong wrong_operands[] = {
    {"no input rows", [](isa::Conv& c) { c.in_h = 0; }},
    {"no input pixels", [](isa::Conv& c) { c.in_w = 0; }},
    {"no input channels", [](isa::Conv& c) { c.in_c = 0; }},
    {"no output rows", [](isa::Conv& c) { c.out_h = 0; }},
    {"no output pixels", [](isa::Conv& c) { c.out_w = 0; }},
    {"no output channels", [](isa::Conv& c) { c.out_c = 0; }},
    {"no kernel rows", [](isa::Conv& c) { c.kernel_h = 0; }},
    {"no kernel columns", [](isa::Conv& c) { c.kernel_w = 0; }},
    {"no groups", [](isa::Conv& c) { c.groups = 0; }},
    {"channels that groups do not divide", [](isa::Conv& c) { c.groups = 3; }},
    {"an unknown encoding", [](isa::Conv& c) { c.encoding = 3; }},
    {"no weights kept", [](isa::Conv& c) { c.kept = 0; }},
    {"more weights kept than a block has", [](isa::Conv& c) { c.kept = 33; }},
    {"bounds in the wrong order", [](isa::Conv& c) { c.clamp_low = c.clamp_high + 1; }},
    {"weight records in each other", [](isa::Conv& c) { c.weight_pitch = 16; }},
    {"output pixels in each other", [](isa::Conv& c) { c.out_pixel = 7; }},
    {"output rows in each other", [](isa::Conv& c) { c.out_row = 6 * 8 - 1; }},
    {"more weights than the engines count",
     [](isa::Conv& c) { c.kernel_h = c.kernel_w = 255, c.in_c = 17; }},
};

/// Each operand moved so that its last byte is the first behind the slice of 4096 bytes.
constexpr Wrong wrong_places[] = {
    {"input", [](isa::Conv& c) { c.in_offset = 4096 - 4 * 6 * 40 + 1; }},
    {"weights", [](isa::Conv& c) { c.weights_offset = 4096 - 8 * 160 + 1; }},
    {"pairs", [](isa::Conv& c) { c.scales_offset = 4096 - 8 * 8 + 1; }},
    {"output", [](isa::Conv& c) { c.out_offset = 4096 - 4 * 6 * 8 + 1; }},
    {"residual", [](isa::Conv& c) { c.residual_offset = 4096 - 4 * 6 * 8 + 1; }},
    {"table", [](isa::Conv& c) { c.lut_offset = 4096 - 256 + 1; }},
    {"partial sums", [](isa::Conv& c) { c.partial_offset = 4096 - 4 * 6 * 8 * 4 + 1; }},
};

}  // namespace

TEST_CASE("tensor faults: fields that contradict each other") {
  TensorBench bench;
  bench.build();
  test::simulate([&] {
    CHECK_FALSE(bench.execute(sound()).fault);
    for (const Wrong& wrong : wrong_operands) {
      CAPTURE(wrong.what);
      isa::Conv conv = sound();
      wrong.change(conv);
      const auto result = bench.execute(conv);
      CHECK(result.fault.code == FaultCode::bad_operand);
      CHECK(result.ps == 0);
    }
  });
  CHECK(bench.stat("tensor.instructions") == 1);
}

TEST_CASE("tensor faults: operands that leave the slice by one byte") {
  TensorBench bench;
  bench.set("sram.size", "4096");
  bench.build();
  test::simulate([&] {
    // K = 360: 12 blocks of 8 values, 96 values and 60 B of indices; a pitch of 160.
    CHECK(sound().weight_pitch == 160);
    CHECK_FALSE(bench.execute(sound()).fault);
    for (const Wrong& wrong : wrong_places) {
      CAPTURE(wrong.what);
      isa::Conv conv = sound();
      wrong.change(conv);
      const auto result = bench.execute(conv);
      // The last record needs 156 of its 160 B, so that the weights still fit.
      if (std::string(wrong.what) == "weights") {
        CHECK_FALSE(result.fault);
        conv.weights_offset += 4;
        CHECK(bench.execute(conv).fault.code == FaultCode::bad_address);
        continue;
      }
      CHECK(result.fault.code == FaultCode::bad_address);
      CHECK(result.fault.address > slice);
      CHECK(result.fault.address < slice + 4096);
    }
  });
}

TEST_CASE(
    "tensor faults: residual, table and partial sums may be anywhere where they are not used") {
  TensorBench bench;
  bench.set("sram.size", "4096");
  bench.build();
  test::simulate([&] {
    isa::Conv conv = sound();
    conv.has_residual = conv.has_lut = conv.has_partial = 0;
    conv.residual_offset = conv.lut_offset = conv.partial_offset = 1'000'000;
    CHECK_FALSE(bench.execute(conv).fault);
  });
}

TEST_CASE("tensor faults: another cluster's slice is out of reach") {
  TensorBench bench;
  bench.build();
  test::simulate([&] {
    bench.base[2] = address::sram_of(0);
    isa::Conv conv = sound();
    conv.in_base = 2;
    const auto result = bench.execute(conv);
    CHECK(result.fault.code == FaultCode::bad_address);
    CHECK(result.fault.address == address::sram_of(0) + conv.in_offset);
  });
}

TEST_CASE("tensor faults: an instruction of another unit") {
  TensorBench bench;
  bench.build();
  test::simulate([&] {
    CHECK(bench.execute(isa::Softmax{}).fault.code == FaultCode::bad_instruction);
    CHECK(bench.execute(isa::Operation{}).fault.code == FaultCode::bad_instruction);
  });
}

TEST_CASE("tensor faults: whatever the fields hold, both modes agree and the host survives") {
  TensorBench functional(Mode::functional);
  TensorBench timing(Mode::timing);
  for (TensorBench* bench : {&functional, &timing}) bench->set("sram.size", "32768");
  functional.build("0");
  timing.build("1");
  test::Random random(21);
  std::uint32_t wrong = 0;
  std::uint32_t executed = 0;
  test::simulate([&] {
    for (std::size_t i = 0; i < functional.sram->size(); ++i) {
      functional.memory()[i] = static_cast<std::uint8_t>(random());
    }
    for (int i = 0; i < 4000; ++i) {
      const isa::Conv conv = test::in_slice(test::random_case(random).conv);
      const isa::Operation changed =
          test::mutate(random, conv, static_cast<int>(test::draw(random, 0, 2)));
      const auto a = functional.execute(changed);
      const auto b = timing.execute(changed);
      if (a.fault.code != b.fault.code || a.fault.address != b.fault.address || a.ps != b.ps)
        ++wrong;
      if (!a.fault) ++executed;
    }
  });
  CHECK(wrong == 0);
  CHECK(executed > 1000);  // the check means little where all are refused
  CHECK(executed < 4000);
}
