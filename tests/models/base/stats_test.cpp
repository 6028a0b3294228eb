// SPDX-License-Identifier: Apache-2.0
#include "models/base/stats.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "models/base/error.h"
#include "models/base/scope.h"

using namespace steppe;

TEST_CASE("a snapshot is sorted and carries unit and doc") {
  Counter busy;
  Counter total;
  StatRegistry stats;
  stats.add("b.total", "ps", "all time", total);
  stats.add("a.busy", "ps", "time at work", busy);
  stats.add("c.use", "", "share",
            [&] { return static_cast<double>(busy.value) / static_cast<double>(total.value); });
  busy += 30;
  ++total;
  total += 119;
  const auto snapshot = stats.snapshot();
  CHECK(snapshot.dump() == R"({"a.busy":{"value":30,"unit":"ps","doc":"time at work"},)"
                           R"("b.total":{"value":120,"unit":"ps","doc":"all time"},)"
                           R"("c.use":{"value":0.25,"unit":"","doc":"share"}})");
  CHECK(stats.value("c.use") == 0.25);
  CHECK(stats.value("b.total") == 120);
}

TEST_CASE("counters keep 64 bits") {
  Counter big;
  StatRegistry stats;
  stats.add("x", "ps", "", big);
  big += ~std::uint64_t{0};
  CHECK(stats.snapshot()["x"]["value"] == ~std::uint64_t{0});
}

TEST_CASE("reset sets counters to zero, and formulas follow") {
  Counter bytes;
  StatRegistry stats;
  stats.add("bytes", "B", "", bytes);
  stats.add("double", "B", "", [&] { return 2.0 * static_cast<double>(bytes.value); });
  bytes += 7;
  CHECK(stats.value("double") == 14);
  stats.reset();
  CHECK(bytes.value == 0);
  CHECK(stats.value("double") == 0);
}

TEST_CASE("reset tells those who asked for it, after the counters are zero") {
  Counter bytes;
  StatRegistry stats;
  stats.add("bytes", "B", "", bytes);
  std::vector<std::uint64_t> seen;
  stats.on_reset([&] { seen.push_back(bytes.value); });
  bytes += 7;
  stats.reset();
  CHECK(seen == std::vector<std::uint64_t>{0});
}

TEST_CASE("a path is registered once and asked for as it is") {
  Counter counter;
  StatRegistry stats;
  stats.add("x", "", "", counter);
  CHECK_THROWS_AS(stats.add("x", "", "", counter), InternalError);
  CHECK_THROWS_AS(stats.add("x", "", "", [] { return 0.0; }), InternalError);
  CHECK_THROWS_AS((void)stats.value("y"), InternalError);
}

TEST_CASE("scopes name statistics by their path") {
  Config config;
  SimContext context{config};
  Counter counter;
  const Scope scope = Scope(context, "").child("card").child("chip", 2);
  scope.stat("reads", "", "reads", counter);
  counter += 3;
  CHECK(scope.path() == "card.chip2");
  CHECK(context.stats.value("card.chip2.reads") == 3);
}

TEST_CASE("errors carry their exit codes") {
  CHECK(ConfigError("x").exit_code() == 2);
  CHECK(PackageError("x").exit_code() == 3);
  CHECK(ModelError("x").exit_code() == 3);
  CHECK(MachineError("x").exit_code() == 4);
  CHECK(std::string(ConfigError("{} of {}", 1, "two").what()) == "1 of two");
}

TEST_CASE("a broken invariant says where and what") {
  const int found = 3;
  try {
    STEPPE_CHECK(found == 4, "found {}", found);
    FAIL("not noticed");
  } catch (const InternalError& error) {
    const std::string what = error.what();
    CHECK(what.find("stats_test.cpp:") != std::string::npos);
    CHECK(what.find("found == 4") != std::string::npos);
    CHECK(what.ends_with("found 3"));
  }
}
