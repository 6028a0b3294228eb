// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/stream.h"

#include <doctest/doctest.h>

using namespace steppe;
using namespace steppe::schedule;

namespace {

std::vector<isa::Instruction> decode_all(const std::vector<std::uint8_t>& bytes) {
  std::vector<isa::Instruction> all;
  for (std::span<const std::uint8_t> rest = bytes; !rest.empty();) {
    const isa::Decoded decoded = isa::decode(rest);
    REQUIRE(decoded.status == isa::DecodeStatus::ok);
    all.push_back(decoded.instruction);
    rest = rest.subspan(decoded.bytes);
  }
  return all;
}

}  // namespace

TEST_CASE("two waits and two signals fit one instruction") {
  Stream stream;
  const std::uint32_t lut = stream.add(isa::Lut{}, 9);
  stream.wait(lut, {1});
  stream.wait(lut, {2, 3});
  stream.signal(lut, {4});
  stream.signal(lut, {5, 2});
  const auto all = decode_all(stream.encode());
  REQUIRE(all.size() == 2);
  CHECK(all[0].header.tag == 9);
  CHECK(all[0].header.wait0 == 1);
  CHECK(all[0].header.wait0_count == 1);
  CHECK(all[0].header.wait1 == 2);
  CHECK(all[0].header.wait1_count == 3);
  CHECK(all[0].header.signal0 == 4);
  CHECK(all[0].header.signal1 == 5);
  CHECK(all[0].header.signal1_count == 2);
  CHECK(std::holds_alternative<isa::End>(all[1].operation));
}

TEST_CASE("more waits go before the operation, more signals behind it") {
  Stream stream;
  const std::uint32_t lut = stream.add(isa::Lut{}, 1);
  for (std::uint32_t i = 1; i <= 5; ++i) stream.wait(lut, {i});
  for (std::uint32_t i = 11; i <= 13; ++i) stream.signal(lut, {i});
  const auto all = decode_all(stream.encode());
  REQUIRE(all.size() == 5);
  CHECK(std::holds_alternative<isa::Sync>(all[0].operation));
  CHECK(all[0].header.wait0 == 1);
  CHECK(all[0].header.wait1 == 2);
  CHECK(std::holds_alternative<isa::Sync>(all[1].operation));
  CHECK(all[1].header.wait0 == 3);
  CHECK(all[1].header.wait1 == 4);
  CHECK(std::holds_alternative<isa::Lut>(all[2].operation));
  CHECK(all[2].header.wait0 == 5);
  CHECK(all[2].header.wait1 == isa::no_semaphore);
  CHECK(all[2].header.signal1 == 12);
  CHECK(std::holds_alternative<isa::Sync>(all[3].operation));
  CHECK(all[3].header.signal0 == 13);
}

TEST_CASE("an operation may be given signals when others stand behind it") {
  Stream stream;
  const std::uint32_t first = stream.add(isa::Lut{}, 1);
  const std::uint32_t second = stream.add(isa::Lut{}, 2);
  CHECK(first == 0);
  CHECK(second == 1);
  stream.signal(first, {8});
  stream.wait(second, {7});
  const auto all = decode_all(stream.encode());
  REQUIRE(all.size() == 3);
  CHECK(all[0].header.signal0 == 8);
  CHECK(all[1].header.wait0 == 7);
  CHECK(all[1].header.signal0 == isa::no_semaphore);
}
