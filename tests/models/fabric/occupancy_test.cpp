// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/occupancy.h"

#include <doctest/doctest.h>

#include "tests/models/fabric/bench.h"

using namespace steppe;

TEST_CASE("occupancy: one after the other, and the counters") {
  test::Bench bench;
  Occupancy port(bench.scope, "port.");
  CHECK(port.reserve(0, 100, 50, 64) == 150);
  CHECK(port.reserve(0, 100, 50, 64) == 200);  // waits 50
  CHECK(port.reserve(0, 120, 10, 16) == 210);  // waits 80
  CHECK(bench.stat("port.bytes") == 144);
  CHECK(bench.stat("port.transactions") == 3);
  CHECK(bench.stat("port.busy") == 110);
  CHECK(bench.stat("port.waiting") == 130);
}

TEST_CASE("occupancy: a reservation for later leaves the time before it free") {
  test::Bench bench;
  Occupancy port(bench.scope, "port.");
  CHECK(port.reserve(0, 1000, 100, 1) == 1100);
  CHECK(port.reserve(0, 0, 1000, 1) == 1000);  // just fits
  CHECK(port.reserve(0, 0, 1, 1) == 1101);     // nothing left before
}

TEST_CASE("occupancy: a gap too short is passed over and stays free") {
  test::Bench bench;
  Occupancy port(bench.scope, "port.");
  CHECK(port.reserve(0, 0, 100, 1) == 100);
  CHECK(port.reserve(0, 150, 100, 1) == 250);
  CHECK(port.reserve(0, 90, 60, 1) == 310);  // 100..150 holds 50 alone
  CHECK(port.reserve(0, 90, 50, 1) == 150);
}

TEST_CASE("occupancy: a probe takes no time and moves nobody") {
  test::Bench bench;
  Occupancy port(bench.scope, "port.");
  CHECK(port.reserve(0, 50, 0, 0) == 50);
  CHECK(port.reserve(0, 0, 100, 64) == 100);
  CHECK(bench.stat("port.waiting") == 0);
  CHECK(bench.stat("port.transactions") == 1);
}

TEST_CASE("occupancy: transfer time rounds up to whole picoseconds") {
  CHECK(transfer_ps(4096, 204.8e9) == 20000);
  CHECK(transfer_ps(1, 204.8e9) == 5);  // 4.88
  CHECK(transfer_ps(0, 204.8e9) == 0);
}
