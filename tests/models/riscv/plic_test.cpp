// SPDX-License-Identifier: Apache-2.0
#include "models/riscv/plic.h"

#include <doctest/doctest.h>

#include <initializer_list>

using steppe::riscv::Plic;

namespace {

constexpr std::uint32_t pending = 0x1000, enable = 0x2000, threshold = 0x20'0000, claim = 0x20'0004;

std::uint32_t read(Plic& plic, std::uint32_t offset) {
  std::uint32_t value = 0;
  CHECK(plic.read(offset, value));
  return value;
}

}  // namespace

TEST_CASE("plic: at reset the first source interrupts, as a plain line") {
  Plic plic;
  CHECK_FALSE(plic.interrupt());
  plic.set_line(1, true);
  CHECK(plic.interrupt());
  plic.set_line(1, false);
  CHECK_FALSE(plic.interrupt());
  plic.set_line(2, true);
  CHECK_FALSE(plic.interrupt());
  CHECK(read(plic, pending) == 1U << 2);
}

TEST_CASE("plic: the highest priority is claimed first, of equals the lowest number") {
  Plic plic;
  CHECK(plic.write(enable, ~0U));
  CHECK(read(plic, enable) == ~1U);
  CHECK(plic.write(4 * 3, 2));
  CHECK(plic.write(4 * 7, 5));
  CHECK(plic.write(4 * 31, 5));
  for (const unsigned source : {3U, 7U, 9U, 31U}) plic.set_line(source, true);  // 9 has priority 0
  for (const unsigned expected : {7U, 31U, 3U, 0U}) CHECK(read(plic, claim) == expected);
  CHECK_FALSE(plic.interrupt());
  CHECK(read(plic, pending) == 1U << 9);
}

TEST_CASE("plic: a claimed source is silent until it is completed") {
  Plic plic;
  plic.set_line(1, true);
  CHECK(read(plic, claim) == 1);
  CHECK_FALSE(plic.interrupt());
  CHECK(read(plic, claim) == 0);
  CHECK(plic.write(claim, 2));  // another one's completion
  CHECK(plic.write(claim, 77));
  CHECK_FALSE(plic.interrupt());
  CHECK(plic.write(claim, 1));
  CHECK(plic.interrupt());  // the line is still high
  CHECK(read(plic, claim) == 1);
  plic.set_line(1, false);
  CHECK(plic.write(claim, 1));
  CHECK_FALSE(plic.interrupt());
}

TEST_CASE("plic: threshold and enable bits hold interrupts back") {
  Plic plic;
  plic.set_line(1, true);
  CHECK(plic.write(threshold, 1));
  CHECK_FALSE(plic.interrupt());
  CHECK(plic.write(4, 2));
  CHECK(plic.interrupt());
  CHECK(plic.write(enable, 0));
  CHECK_FALSE(plic.interrupt());
  CHECK(read(plic, claim) == 0);
  CHECK(plic.write(threshold, ~0U));
  CHECK(read(plic, threshold) == 7);
  CHECK(plic.write(4, ~0U));
  CHECK(read(plic, 4) == 7);
  CHECK(plic.write(enable, 2));
  CHECK_FALSE(plic.interrupt());
  CHECK(read(plic, claim) == 1);  // a claim does not ask for the threshold
}

TEST_CASE("plic: source 0 does not exist, other offsets have no register") {
  Plic plic;
  CHECK(plic.write(0, 7));
  CHECK(read(plic, 0) == 0);
  CHECK(plic.write(pending, ~0U));
  CHECK(read(plic, pending) == 0);
  std::uint32_t value = 0;
  for (const std::uint32_t offset : {0x80U, 0x1004U, 0x2004U, 0x20'0008U, 2U, 0x3f'fffcU}) {
    CHECK_FALSE(plic.read(offset, value));
    CHECK_FALSE(plic.write(offset, 0));
  }
}
