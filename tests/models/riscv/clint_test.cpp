// SPDX-License-Identifier: Apache-2.0
#include "models/riscv/clint.h"

#include <doctest/doctest.h>

#include <initializer_list>

using steppe::riscv::Clint;

namespace {

constexpr std::uint32_t cmp_low = 0x4000, cmp_high = 0x4004, time_low = 0xbff8, time_high = 0xbffc;

std::uint32_t read(const Clint& clint, std::uint32_t offset, std::uint64_t now) {
  std::uint32_t value = 0;
  CHECK(clint.read(offset, value, now));
  return value;
}

}  // namespace

TEST_CASE("mtime counts ticks of time") {
  const Clint clint(100'000);
  CHECK(read(clint, time_low, 99'999) == 0);
  CHECK(read(clint, time_low, 100'000) == 1);
  const std::uint64_t wraps = (std::uint64_t{1} << 32) * 100'000;
  CHECK(read(clint, time_low, wraps + 300'000) == 3);
  CHECK(read(clint, time_high, wraps + 300'000) == 1);
}

TEST_CASE("the timer rises when mtime reaches mtimecmp, and falls with a later mtimecmp") {
  Clint clint(100'000);
  CHECK(clint.timer_at(0) == Clint::never);  // mtimecmp is all ones at reset
  CHECK(clint.write(cmp_high, 0, 0));
  CHECK(clint.write(cmp_low, 7, 0));
  CHECK_FALSE(clint.timer(699'999));
  CHECK(clint.timer_at(0) == 700'000);
  CHECK(clint.timer_at(650'001) == 700'000);
  CHECK(clint.timer(700'000));
  CHECK(clint.timer_at(800'000) == 800'000);
  CHECK(clint.write(cmp_low, 9, 800'000));
  CHECK_FALSE(clint.timer(800'000));
  CHECK(read(clint, cmp_low, 0) == 9);
  CHECK(read(clint, cmp_high, 0) == 0);
}

TEST_CASE("writes to mtime move it, in halves") {
  Clint clint(100);
  CHECK(clint.write(time_low, 1000, 5000));  // 50 ticks so far
  CHECK(read(clint, time_low, 5000) == 1000);
  CHECK(read(clint, time_low, 5100) == 1001);
  CHECK(clint.write(time_high, 3, 5100));
  CHECK(read(clint, time_high, 5200) == 3);
  CHECK(read(clint, time_low, 5200) == 1002);
  CHECK(clint.write(cmp_high, 3, 5200));
  CHECK(clint.write(cmp_low, 1010, 5200));
  CHECK(clint.timer_at(5200) == 6000);
}

TEST_CASE("msip has one bit, other offsets have no register") {
  Clint clint(100);
  CHECK(clint.write(0, 0xffff'ffff, 0));
  CHECK(read(clint, 0, 0) == 1);
  CHECK(clint.software());
  CHECK(clint.write(0, 2, 0));
  CHECK_FALSE(clint.software());
  std::uint32_t value = 0;
  for (const std::uint32_t offset : {4U, 0x3ffcU, 0x4008U, 0xbff4U, 0x4001U}) {
    CHECK_FALSE(clint.read(offset, value, 0));
    CHECK_FALSE(clint.write(offset, 0, 0));
  }
}
