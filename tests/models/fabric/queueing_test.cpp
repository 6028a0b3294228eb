// SPDX-License-Identifier: Apache-2.0
//
// Waiting times against queueing theory, on the timeline that every port, link and bus uses.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "models/fabric/occupancy.h"
#include "tests/models/fabric/bench.h"

using namespace steppe;

namespace {

constexpr std::uint64_t service = 10'000;  // ps

}  // namespace

TEST_CASE("queueing: regular arrivals below the rate wait for nobody") {
  test::Bench bench;
  Occupancy server(bench.scope, "server.");
  for (std::uint64_t n = 0; n < 1000; ++n) {
    CHECK(server.fill(n * 10'001, n * 10'001, service, 1).end == n * 10'001 + service);
  }
  CHECK(bench.stat("server.waiting") == 0);
}

TEST_CASE("queueing: batches of b wait (b - 1) / 2 services on average") {
  test::Bench bench;
  Occupancy server(bench.scope, "server.");
  const std::uint64_t batch = 5;
  for (std::uint64_t n = 0; n < 100; ++n) {
    for (std::uint64_t i = 0; i < batch; ++i) server.fill(n * 100'000, n * 100'000, service, 1);
  }
  CHECK(bench.stat("server.waiting") == 100 * service * (batch * (batch - 1) / 2));
}

TEST_CASE("queueing: random arrivals wait as Pollaczek and Khinchine say") {
  // M/D/1: mean wait = rho / (2 (1 - rho)) services. 400,000 arrivals: within 5 %.
  for (const double rho : {0.3, 0.5, 0.7, 0.8}) {
    test::Bench bench;
    Occupancy server(bench.scope, "server.");
    std::mt19937_64 random(7);
    double now = 0;
    constexpr int arrivals = 400'000;
    for (int n = 0; n < arrivals; ++n) {
      const double u = static_cast<double>(random() >> 11) * 0x1p-53;
      now += -std::log1p(-u) * service / rho;
      const auto at = static_cast<std::uint64_t>(now);
      server.fill(at, at, service, 1);
    }
    const double wait = bench.stat("server.waiting") / arrivals / service;
    CHECK(wait == doctest::Approx(rho / (2 * (1 - rho))).epsilon(0.05));
    CHECK(bench.stat("server.busy") / now == doctest::Approx(rho).epsilon(0.01));
  }
}

TEST_CASE("queueing: two and four in a closed loop share evenly, whatever one of them asks ahead") {
  for (const std::size_t initiators : {2U, 4U}) {
    test::Bench bench;
    Occupancy server(bench.scope, "server.");
    std::vector<std::uint64_t> done(initiators, 0);
    std::vector<int> served(initiators, 0);
    for (int n = 0; n < 10'000; ++n) {
      const auto who = static_cast<std::size_t>(std::ranges::min_element(done) - done.begin());
      done[who] = server.fill(done[who], done[who], service, 1).end;
      ++served[who];
    }
    for (const int one : served) CHECK(std::abs(one - 10'000 / static_cast<int>(initiators)) <= 1);
    CHECK(std::ranges::max(done) == 10'000 * service);  // no bandwidth lost
    // Each waits for all the others: the response time is theirs and its own service.
    CHECK(bench.stat("server.waiting") / 10'000 ==
          doctest::Approx(service * (initiators - 1.0)).epsilon(0.001));
  }
}

TEST_CASE("queueing: what takes gaps in pieces starves behind nobody") {
  test::Bench bench;
  Occupancy server(bench.scope, "server.");
  // Small ones hold every second 10 ns for the next 10 us; 100 ns of another fit between them.
  for (std::uint64_t n = 0; n < 500; ++n) server.fill(0, n * 20'000, service, 1);
  CHECK(server.fill(0, 0, 100'000, 10).end == 200'000);
}
