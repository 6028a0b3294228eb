// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/models/dma/bench.h"

using namespace steppe;
using test::DmaBench;

namespace {

constexpr std::uint64_t nowhere = 0x0f'0000'0000;

/// Runs one operation and gives its fault.
Fault fault_of(Mode mode, const isa::Operation& operation) {
  DmaBench bench(mode);
  bench.build();
  return bench.run({operation}).fault;
}
void check_bad_address(Mode mode, const isa::Copy& copy, std::uint64_t address) {
  const Fault fault = fault_of(mode, copy);
  CHECK(fault.code == FaultCode::bad_address);
  CHECK(fault.address == address);
}
constexpr Bytes slice = 21'495'808;

}  // namespace

TEST_CASE("dma faults: a source that is not there") {
  check_bad_address(Mode::functional, DmaBench::copy(nowhere, address::sram, 64), nowhere + 63);
}
TEST_CASE("dma faults: a source that is not there, timing run") {
  check_bad_address(Mode::timing, DmaBench::copy(nowhere, address::sram, 64), nowhere + 63);
}
TEST_CASE("dma faults: a destination that is not there") {
  check_bad_address(Mode::timing, DmaBench::copy(address::dram, nowhere, 64), nowhere + 63);
}
TEST_CASE("dma faults: the last row leaves the memory") {
  check_bad_address(Mode::timing,
                    DmaBench::copy(address::dram, address::sram + slice - 4096, 64, 65, 64, 64),
                    address::sram + slice + 63);
}
TEST_CASE("dma faults: a notification to nowhere") {
  const Fault fault = fault_of(Mode::functional, DmaBench::notify(nowhere, 1));
  CHECK(fault.code == FaultCode::bad_address);
  CHECK(fault.address == nowhere);
}
TEST_CASE("dma faults: no rows") {
  CHECK(fault_of(Mode::timing, DmaBench::copy(address::dram, address::sram, 64, 0)).code ==
        FaultCode::bad_operand);
}
TEST_CASE("dma faults: no bytes in a row") {
  CHECK(fault_of(Mode::timing, DmaBench::copy(address::dram, address::sram, 0)).code ==
        FaultCode::bad_operand);
}
TEST_CASE("dma faults: an instruction of another unit") {
  CHECK(fault_of(Mode::timing, isa::Softmax{}).code == FaultCode::bad_instruction);
}

// Bursts of gathered rows once reached past the memory where the rows lie on top of each other.
TEST_CASE("dma faults: none for one row at the end of a memory, repeated") {
  const isa::Copy copy = DmaBench::copy(address::sram + slice - 64, address::dram, 64, 16, 0, 64);
  CHECK_FALSE(fault_of(Mode::timing, copy));
}
