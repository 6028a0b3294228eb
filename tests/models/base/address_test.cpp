// SPDX-License-Identifier: Apache-2.0
#include "models/base/address.h"

#include <doctest/doctest.h>

#include "models/base/units.h"

using namespace steppe;

TEST_CASE("addresses name their chip and place") {
  CHECK(address::on_chip(0, address::dram) == 0x0110'0000'0000);
  CHECK(address::on_chip(2, 0x40) == 0x0300'0000'0040);
  CHECK(address::local(0x0310'0000'0040) == address::dram + 0x40);
  CHECK(address::chip_of(0x0310'0000'0040, 1) == 2);
  CHECK(address::chip_of(address::dram, 1) == 1);  // no chip named: one's own
  CHECK(address::is_host(address::host_bit | 5));
  CHECK(!address::is_host(address::on_chip(3, address::dram)));
}

TEST_CASE("the slices of the clusters follow each other") {
  CHECK(address::sram_of(0) == 0x01'0000'0000);
  CHECK(address::sram_of(3) == 0x01'3000'0000);
}

TEST_CASE("quotients and sizes round up") {
  CHECK(ceil_div(0, 4) == 0);
  CHECK(ceil_div(8, 4) == 2);
  CHECK(ceil_div(9, 4) == 3);
  CHECK(align_up<Bytes>(0, 4096) == 0);
  CHECK(align_up<Bytes>(1, 4096) == 4096);
  CHECK(align_up<Bytes>(4096, 4096) == 4096);
  CHECK(Cycles{3} + Cycles{4} * 2 == Cycles{11});
}
