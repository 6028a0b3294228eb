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
  stream.wait({1});
  stream.wait({2, 3});
  stream.add(isa::Lut{}, 9);
  stream.signal({4});
  stream.signal({5, 2});
  const auto all = decode_all(stream.encode());
  REQUIRE(all.size() == 1);
  CHECK(all[0].header.tag == 9);
  CHECK(all[0].header.wait0 == 1);
  CHECK(all[0].header.wait0_count == 1);
  CHECK(all[0].header.wait1 == 2);
  CHECK(all[0].header.wait1_count == 3);
  CHECK(all[0].header.signal0 == 4);
  CHECK(all[0].header.signal1 == 5);
  CHECK(all[0].header.signal1_count == 2);
}

TEST_CASE("more waits go before the operation, more signals behind it") {
  Stream stream;
  for (std::uint32_t i = 1; i <= 5; ++i) stream.wait({i});
  stream.add(isa::Lut{}, 1);
  for (std::uint32_t i = 11; i <= 13; ++i) stream.signal({i});
  const auto all = decode_all(stream.encode());
  REQUIRE(all.size() == 4);
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

TEST_CASE("a signal behind a wait is given only after it") {
  Stream stream;
  stream.add(isa::Lut{}, 1);
  stream.wait({7});
  stream.signal({8});
  const auto all = decode_all(stream.encode());
  REQUIRE(all.size() == 2);
  CHECK(all[0].header.signal0 == isa::no_semaphore);
  CHECK(all[1].header.wait0 == 7);
  CHECK(all[1].header.signal0 == 8);
}
