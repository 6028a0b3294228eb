// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/models/vector/bench.h"
#include "tests/support/mutate.h"

using namespace steppe;
using test::VectorBench;

namespace {

constexpr Bytes slice_bytes = 4096;
constexpr std::uint64_t slice = address::sram_of(VectorBench::cluster);

isa::Map map() {
  isa::Map op;
  op.a_base = op.b_base = op.c_base = op.out_base = 1;
  op.size0 = op.size1 = 1;
  op.size2 = 4;
  op.size3 = op.a_step2 = op.b_step2 = op.c_step2 = op.out_step2 = 10;
  op.a_step3 = op.b_step3 = op.c_step3 = op.out_step3 = 1;
  op.function = 17;  // has three operands
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
isa::Norm norm() {
  isa::Norm op;
  op.in_base = op.out_base = op.affine_base = 1;
  op.rows = 4;
  op.outer = op.affine_period = 1;
  op.inner = op.in_pitch = op.out_pitch = 10;
  op.gains = 2;
  return op;
}
isa::Reduce reduce() {
  isa::Reduce op;
  op.in_base = op.out_base = 1;
  op.outer = 1;
  op.rows = 4;
  op.elements = op.in_pitch = 10;
  op.in_step = op.out_pitch = 1;
  return op;
}
isa::Resize resize() {
  isa::Resize op;
  op.in_base = op.out_base = 1;
  op.in_h = op.whole_h = op.in_w = op.out_h = op.out_w = op.channels = 2;
  op.in_row = op.out_row = 4;
  op.step_h = op.step_w = 1;
  return op;
}
isa::Gather gather() {
  isa::Gather op;
  op.in_base = op.indices_base = op.out_base = 1;
  op.rows = op.in_rows = 4;
  op.row_bytes = op.in_pitch = op.out_pitch = 10;
  return op;
}
isa::Scatter scatter() {
  isa::Scatter op;
  op.in_base = op.indices_base = op.out_base = 1;
  op.rows = op.out_rows = 4;
  op.elements = op.in_pitch = op.out_pitch = 10;
  return op;
}
isa::TopK topk() {
  auto op = rows<isa::TopK>();
  op.indices_base = 1;
  op.k = 2;
  op.index_pitch = 8;
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
  check_all(FaultCode::none, {map(), lut(), rows<isa::Softmax>(), norm(), pool(), permute(),
                              reduce(), resize(), gather(), scatter(), topk()});
}

TEST_CASE("vector faults: fields that contradict each other") {
  using isa::Map;
  using isa::Norm;
  using isa::Pool;
  using isa::Reduce;
  using isa::Resize;
  using isa::TopK;
  check_all(FaultCode::bad_operand,
            {
                with(map(), [](Map& op) { op.size0 = 0; }),
                with(map(), [](Map& op) { op.size3 = 0; }),
                with(map(), [](Map& op) { op.function = 14; }),
                with(map(), [](Map& op) { op.function = 63; }),
                with(map(), [](Map& op) { op.clamp_high = op.clamp_low - 1; }),
                with(map(), [](Map& op) { op.out_type = 1, op.lowest = 2, op.highest = 1; }),
                // More results than the slice holds, all to one place.
                with(map(), [](Map& op) { op.size0 = 103; }),
                with(lut(), [](isa::Lut& op) { op.rows = 0; }),
                with(lut(), [](isa::Lut& op) { op.elements = 0; }),
                with(lut(), [](isa::Lut& op) { op.out_pitch = 9; }),
                with(rows<isa::Softmax>(), [](isa::Softmax& op) { op.rows = 0; }),
                with(rows<isa::Softmax>(), [](isa::Softmax& op) { op.elements = 0; }),
                with(rows<isa::Softmax>(), [](isa::Softmax& op) { op.out_pitch = 9; }),
                with(norm(), [](Norm& op) { op.rows = 0; }),
                with(norm(), [](Norm& op) { op.outer = 0; }),
                with(norm(), [](Norm& op) { op.inner = 0; }),
                with(norm(), [](Norm& op) { op.gains = 3; }),
                with(norm(), [](Norm& op) { op.affine_period = 0; }),
                with(norm(), [](Norm& op) { op.outer = 2, op.out_outer = 9; }),
                with(reduce(), [](Reduce& op) { op.outer = 0; }),
                with(reduce(), [](Reduce& op) { op.rows = 0; }),
                with(reduce(), [](Reduce& op) { op.elements = 0; }),
                with(reduce(), [](Reduce& op) { op.function = 9; }),
                with(reduce(), [](Reduce& op) { op.function = 7; }),  // into int8
                with(reduce(), [](Reduce& op) { op.in_step = 0; }),
                with(resize(), [](Resize& op) { op.in_h = 0; }),
                with(resize(), [](Resize& op) { op.in_w = 0; }),
                with(resize(), [](Resize& op) { op.out_h = 0; }),
                with(resize(), [](Resize& op) { op.out_w = 0; }),
                with(resize(), [](Resize& op) { op.channels = 0; }),
                with(resize(), [](Resize& op) { op.whole_h = 0; }),
                with(resize(), [](Resize& op) { op.type = 3; }),
                with(resize(), [](Resize& op) { op.out_row = 3; }),
                with(gather(), [](isa::Gather& op) { op.rows = 0; }),
                with(gather(), [](isa::Gather& op) { op.row_bytes = 0; }),
                with(gather(), [](isa::Gather& op) { op.in_rows = 0; }),
                with(gather(), [](isa::Gather& op) { op.out_pitch = 9; }),
                with(scatter(), [](isa::Scatter& op) { op.rows = 0; }),
                with(scatter(), [](isa::Scatter& op) { op.elements = 0; }),
                with(scatter(), [](isa::Scatter& op) { op.out_rows = 0; }),
                with(scatter(), [](isa::Scatter& op) { op.add = 1; }),  // int8
                with(scatter(), [](isa::Scatter& op) { op.out_pitch = 9; }),
                with(topk(), [](TopK& op) { op.rows = 0; }),
                with(topk(), [](TopK& op) { op.k = 0; }),
                with(topk(), [](TopK& op) { op.k = 11; }),
                with(topk(), [](TopK& op) { op.out_pitch = 1; }),
                with(topk(), [](TopK& op) { op.index_pitch = 7; }),
                with(pool(), [](Pool& op) { op.type = 3; }),
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
                with(permute(), [](isa::Permute& op) { op.item = 3; }),
                // More bytes than the slice holds, all to one place.
                with(permute(), [](isa::Permute& op) { op.size0 = 410; }),
            });
}

TEST_CASE("vector faults: rows too long for the exact sums of a norm") {
  VectorBench bench(Mode::timing);
  bench.set("sram.size", "256 MiB");
  bench.build();
  test::simulate([&] {
    isa::Norm op = norm();
    op.rows = 1;
    op.inner = 1U << 23;
    CHECK_FALSE(bench.execute(op).fault);
    ++op.inner;
    CHECK(bench.execute(op).fault.code == FaultCode::bad_operand);
  });
}

TEST_CASE("vector faults: operands that leave the slice by one byte") {
  // Each operand's last byte is the first behind the slice.
  check_all(
      FaultCode::bad_address,
      {
          with(map(), [](isa::Map& op) { op.a_offset = slice_bytes - 39; }),
          with(map(), [](isa::Map& op) { op.b_offset = slice_bytes - 39; }),
          with(map(), [](isa::Map& op) { op.b_type = 1, op.b_offset = slice_bytes - 42; }),
          with(map(), [](isa::Map& op) { op.c_offset = slice_bytes - 39; }),
          with(map(), [](isa::Map& op) { op.out_offset = slice_bytes - 39; }),
          with(map(), [](isa::Map& op) { op.out_offset = 8, op.out_step3 = -1; }),
          with(reduce(), [](isa::Reduce& op) { op.in_offset = slice_bytes - 39; }),
          with(reduce(), [](isa::Reduce& op) { op.out_offset = slice_bytes - 3; }),
          with(resize(), [](isa::Resize& op) { op.in_offset = slice_bytes - 7; }),
          with(resize(), [](isa::Resize& op) { op.out_offset = slice_bytes - 7; }),
          with(gather(), [](isa::Gather& op) { op.in_offset = slice_bytes - 39; }),
          with(gather(), [](isa::Gather& op) { op.indices_offset = slice_bytes - 15; }),
          with(gather(), [](isa::Gather& op) { op.out_offset = slice_bytes - 39; }),
          with(scatter(), [](isa::Scatter& op) { op.in_offset = slice_bytes - 39; }),
          with(scatter(), [](isa::Scatter& op) { op.indices_offset = slice_bytes - 15; }),
          with(scatter(), [](isa::Scatter& op) { op.out_offset = slice_bytes - 39; }),
          with(topk(), [](isa::TopK& op) { op.in_offset = slice_bytes - 39; }),
          with(topk(), [](isa::TopK& op) { op.out_offset = slice_bytes - 31; }),
          with(topk(), [](isa::TopK& op) { op.indices_offset = slice_bytes - 31; }),
          with(lut(), [](isa::Lut& op) { op.in_offset = slice_bytes - 39; }),
          with(lut(), [](isa::Lut& op) { op.table_offset = slice_bytes - 255; }),
          with(lut(), [](isa::Lut& op) { op.out_offset = slice_bytes - 39; }),
          with(rows<isa::Softmax>(), [](isa::Softmax& op) { op.in_offset = slice_bytes - 39; }),
          with(rows<isa::Softmax>(), [](isa::Softmax& op) { op.out_offset = slice_bytes - 39; }),
          with(norm(), [](isa::Norm& op) { op.in_offset = slice_bytes - 39; }),
          with(norm(), [](isa::Norm& op) { op.affine_offset = slice_bytes - 79; }),
          with(norm(), [](isa::Norm& op) { op.out_offset = slice_bytes - 39; }),
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
  check_all(FaultCode::none,
            {
                with(map(), [](isa::Map& op) { op.a_offset = slice_bytes - 40; }),
                with(map(), [](isa::Map& op) { op.b_type = 1, op.b_offset = slice_bytes - 43; }),
                with(lut(), [](isa::Lut& op) { op.table_offset = slice_bytes - 256; }),
                with(norm(), [](isa::Norm& op) { op.affine_offset = slice_bytes - 80; }),
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
