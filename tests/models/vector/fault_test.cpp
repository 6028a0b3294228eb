// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/models/vector/bench.h"
#include "tests/support/mutate.h"

using namespace steppe;
using test::VectorBench;

namespace {

constexpr Bytes slice_bytes = 4096;
constexpr std::uint64_t slice = address::sram_of(VectorBench::cluster);

isa::Eltwise eltwise() {
  isa::Eltwise op;
  op.a_base = op.b_base = op.out_base = 1;
  op.rows = 4;
  op.elements = op.a_pitch = op.b_pitch = op.b_period = op.out_pitch = 10;
  op.clamp_high = 127;
  return op;
}
template <typename Op>
Op rows() {
  Op op;
  op.in_base = op.out_base = 1;
  op.rows = 4;
  op.elements = op.in_pitch = op.out_pitch = 10;
  return op;
}
isa::Lut lut() {
  auto op = rows<isa::Lut>();
  op.table_base = 1;
  return op;
}
isa::LayerNorm layer_norm() {
  auto op = rows<isa::LayerNorm>();
  op.affine_base = 1;
  return op;
}
isa::Pool pool() {
  isa::Pool op;
  op.in_base = op.out_base = 1;
  op.in_h = op.in_w = op.out_h = op.out_w = op.channels = 2;
  op.kernel_h = op.kernel_w = op.stride_h = op.stride_w = 1;
  op.in_row = op.out_row = 4;
  return op;
}
isa::Permute permute() {
  isa::Permute op;
  op.in_base = op.out_base = 1;
  op.size0 = op.size1 = op.size2 = op.size3 = 1;
  op.size4 = 10;
  op.in_step4 = op.out_step4 = 1;
  return op;
}

/// The sound operation with one change.
template <typename Op, typename Change>
isa::Operation with(Op op, Change change) {
  change(op);
  return op;
}

/// Checks that each operation faults with `code`, at once.
void check_all(FaultCode code, const std::vector<isa::Operation>& operations) {
  VectorBench bench;
  bench.set("sram.size", std::to_string(slice_bytes));
  bench.build();
  test::simulate([&] {
    for (std::size_t i = 0; i < operations.size(); ++i) {
      CAPTURE(i);
      const auto result = bench.execute(operations[i]);
      CHECK(result.fault.code == code);
      if (code != FaultCode::none) CHECK(result.ps == 0);
      if (code == FaultCode::bad_address) {
        const bool outside =
            result.fault.address < slice || result.fault.address > slice + slice_bytes - 257 * 8;
        CHECK(outside);
      }
    }
  });
}

}  // namespace

TEST_CASE("vector faults: sound operations have none") {
  check_all(FaultCode::none,
            {eltwise(), lut(), rows<isa::Softmax>(), layer_norm(), pool(), permute()});
}

TEST_CASE("vector faults: fields that contradict each other") {
  using isa::Eltwise;
  using isa::Pool;
  check_all(FaultCode::bad_operand,
            {
                with(eltwise(), [](Eltwise& op) { op.rows = 0; }),
                with(eltwise(), [](Eltwise& op) { op.elements = 0; }),
                with(eltwise(), [](Eltwise& op) { op.b_period = 0; }),
                with(eltwise(), [](Eltwise& op) { op.function = 6; }),
                with(eltwise(), [](Eltwise& op) { op.b_type = 2; }),
                with(eltwise(), [](Eltwise& op) { op.clamp_high = op.clamp_low - 1; }),
                with(eltwise(), [](Eltwise& op) { op.out_pitch = 9; }),
                with(lut(), [](isa::Lut& op) { op.rows = 0; }),
                with(lut(), [](isa::Lut& op) { op.elements = 0; }),
                with(lut(), [](isa::Lut& op) { op.out_pitch = 9; }),
                with(rows<isa::Softmax>(), [](isa::Softmax& op) { op.rows = 0; }),
                with(rows<isa::Softmax>(), [](isa::Softmax& op) { op.elements = 0; }),
                with(rows<isa::Softmax>(), [](isa::Softmax& op) { op.out_pitch = 9; }),
                with(layer_norm(), [](isa::LayerNorm& op) { op.rows = 0; }),
                with(layer_norm(), [](isa::LayerNorm& op) { op.elements = 0; }),
                with(layer_norm(), [](isa::LayerNorm& op) { op.out_pitch = 9; }),
                with(pool(), [](Pool& op) { op.in_h = 0; }),
                with(pool(), [](Pool& op) { op.in_w = 0; }),
                with(pool(), [](Pool& op) { op.channels = 0; }),
                with(pool(), [](Pool& op) { op.out_h = 0; }),
                with(pool(), [](Pool& op) { op.out_w = 0; }),
                with(pool(), [](Pool& op) { op.kernel_h = 0; }),
                with(pool(), [](Pool& op) { op.kernel_w = 0; }),
                with(pool(), [](Pool& op) { op.function = 2; }),
                with(pool(), [](Pool& op) { op.out_row = 3; }),
                with(permute(), [](isa::Permute& op) { op.size0 = 0; }),
                with(permute(), [](isa::Permute& op) { op.size4 = 0; }),
                // More bytes than the slice holds, all to one place.
                with(permute(), [](isa::Permute& op) { op.size0 = 410; }),
            });
}

TEST_CASE("vector faults: rows too long for the exact sums of a layernorm") {
  VectorBench bench(Mode::timing);
  bench.set("sram.size", "256 MiB");
  bench.build();
  test::simulate([&] {
    isa::LayerNorm op = layer_norm();
    op.rows = 1;
    op.elements = 1U << 23;
    CHECK_FALSE(bench.execute(op).fault);
    ++op.elements;
    CHECK(bench.execute(op).fault.code == FaultCode::bad_operand);
  });
}

TEST_CASE("vector faults: operands that leave the slice by one byte") {
  // Each operand's last byte is the first behind the slice.
  check_all(
      FaultCode::bad_address,
      {
          with(eltwise(), [](isa::Eltwise& op) { op.a_offset = slice_bytes - 39; }),
          with(eltwise(), [](isa::Eltwise& op) { op.b_offset = slice_bytes - 39; }),
          with(eltwise(), [](isa::Eltwise& op) { op.b_type = 1, op.b_offset = slice_bytes - 69; }),
          with(eltwise(), [](isa::Eltwise& op) { op.out_offset = slice_bytes - 39; }),
          with(lut(), [](isa::Lut& op) { op.in_offset = slice_bytes - 39; }),
          with(lut(), [](isa::Lut& op) { op.table_offset = slice_bytes - 255; }),
          with(lut(), [](isa::Lut& op) { op.out_offset = slice_bytes - 39; }),
          with(rows<isa::Softmax>(), [](isa::Softmax& op) { op.in_offset = slice_bytes - 39; }),
          with(rows<isa::Softmax>(), [](isa::Softmax& op) { op.out_offset = slice_bytes - 39; }),
          with(layer_norm(), [](isa::LayerNorm& op) { op.in_offset = slice_bytes - 39; }),
          with(layer_norm(), [](isa::LayerNorm& op) { op.affine_offset = slice_bytes - 79; }),
          with(layer_norm(), [](isa::LayerNorm& op) { op.out_offset = slice_bytes - 39; }),
          with(pool(), [](isa::Pool& op) { op.in_offset = slice_bytes - 7; }),
          with(pool(), [](isa::Pool& op) { op.out_offset = slice_bytes - 7; }),
          with(permute(), [](isa::Permute& op) { op.in_offset = slice_bytes - 9; }),
          with(permute(), [](isa::Permute& op) { op.out_offset = slice_bytes - 9; }),
          // Steps back over the start.
          with(permute(), [](isa::Permute& op) { op.in_step4 = -1; }),
          with(permute(), [](isa::Permute& op) { op.out_offset = 8, op.out_step4 = -1; }),
          // Another cluster's slice.
          with(lut(), [](isa::Lut& op) { op.in_base = 0, op.in_offset = address::sram_of(0); }),
      });
}

TEST_CASE("vector faults: the same operands one byte earlier are sound") {
  check_all(
      FaultCode::none,
      {
          with(eltwise(), [](isa::Eltwise& op) { op.a_offset = slice_bytes - 40; }),
          with(eltwise(), [](isa::Eltwise& op) { op.b_type = 1, op.b_offset = slice_bytes - 70; }),
          with(lut(), [](isa::Lut& op) { op.table_offset = slice_bytes - 256; }),
          with(layer_norm(), [](isa::LayerNorm& op) { op.affine_offset = slice_bytes - 80; }),
          with(pool(), [](isa::Pool& op) { op.in_offset = slice_bytes - 8; }),
          with(permute(), [](isa::Permute& op) { op.in_offset = slice_bytes - 10; }),
          with(permute(), [](isa::Permute& op) { op.out_offset = 9, op.out_step4 = -1; }),
      });
}

TEST_CASE("vector faults: an instruction of another unit") {
  check_all(FaultCode::bad_instruction, {isa::Conv{}, isa::Copy{}, isa::Operation{}});
}

TEST_CASE("vector faults: whatever the fields hold, both modes agree and the host survives") {
  VectorBench functional(Mode::functional);
  VectorBench timing(Mode::timing);
  for (VectorBench* bench : {&functional, &timing}) bench->set("sram.size", "16384");
  functional.build("0");
  timing.build("1");
  test::Random random(21);
  std::uint32_t wrong = 0;
  std::uint32_t executed = 0;
  test::simulate([&] {
    for (std::size_t i = 0; i < functional.sram->size(); ++i) {
      functional.memory()[i] = static_cast<std::uint8_t>(random());
    }
    for (int i = 0; i < 6000; ++i) {
      const isa::Operation changed =
          test::mutate(random, test::random_vector_case(random).operation,
                       static_cast<int>(test::draw(random, 0, 2)));
      const auto a = functional.execute(changed);
      const auto b = timing.execute(changed);
      if (a.fault.code != b.fault.code || a.fault.address != b.fault.address || a.ps != b.ps)
        ++wrong;
      if (!a.fault) ++executed;
    }
  });
  CHECK(wrong == 0);
  CHECK(executed > 1500);  // the check means little where all are refused
  CHECK(executed < 6000);
}
