// SPDX-License-Identifier: Apache-2.0
#include "models/base/config.h"

#include <doctest/doctest.h>

#include "models/base/error.h"

using namespace steppe;

namespace {

std::string found(const Config& config, const std::string& path) {
  const Config::Value* value = config.find(path);
  return value == nullptr ? "" : value->text;
}

}  // namespace

TEST_CASE("a key without indices holds for all instances") {
  Config config;
  config.set("card.chip.dram.bandwidth", "1", "a");
  CHECK(found(config, "card.chip0.dram.bandwidth") == "1");
  CHECK(found(config, "card.chip12.dram.bandwidth") == "1");
  CHECK(found(config, "card.chip.dram.bandwidth") == "1");
  CHECK(found(config, "card.chip0.dram.latency").empty());
  CHECK(found(config, "chip0.dram.bandwidth").empty());
}

TEST_CASE("a key with more indices wins, whatever the order") {
  Config config;
  config.set("card.chip1.cluster2.x", "both", "a");
  config.set("card.chip1.cluster.x", "chip", "b");
  config.set("card.chip.cluster.x", "none", "c");
  CHECK(found(config, "card.chip1.cluster2.x") == "both");
  CHECK(found(config, "card.chip1.cluster0.x") == "chip");
  CHECK(found(config, "card.chip0.cluster2.x") == "none");
}

TEST_CASE("an index is matched whole") {
  Config config;
  config.set("chip1.x", "one", "a");
  CHECK(found(config, "chip1.x") == "one");
  CHECK(found(config, "chip11.x").empty());
}

TEST_CASE("digits of the parameter's own name are no index") {
  Config config;
  config.set("chip.l2", "a", "a");
  config.set("chip.l", "b", "a");
  CHECK(found(config, "chip0.l2") == "a");
  CHECK(found(config, "chip0.l1").empty());
}

TEST_CASE("the later value of a key wins and brings its origin") {
  Config config;
  config.set("chip.x", "1", "s30.yaml:3", "assumed");
  config.set("chip.x", "2", "--set");
  const Config::Value* value = config.find("chip0.x");
  REQUIRE(value != nullptr);
  CHECK(value->text == "2");
  CHECK(value->origin == "--set");
  CHECK(value->note.empty());
}

TEST_CASE("a key that nothing asked for is an error with origin and nearest name") {
  const std::vector<std::string> known{"card.chip0.dram.bandwidth", "card.chip1.dram.bandwidth",
                                       "card.chips"};
  Config config;
  config.set("card.chips", "3", "s30.yaml:1");
  CHECK(found(config, "card.chips") == "3");
  CHECK_NOTHROW(config.check_all_used(known));
  config.set("card.chip.dram.bandwith", "1", "s30.yaml:12");
  CHECK_THROWS_WITH_AS(config.check_all_used(known),
                       "s30.yaml:12: unknown parameter 'card.chip.dram.bandwith'; did you mean "
                       "'card.chip.dram.bandwidth'?",
                       ConfigError);
  Config other;
  other.set("zzz", "1", "--set");
  CHECK_THROWS_WITH_AS(other.check_all_used(known),
                       "--set: unknown parameter 'zzz'; `steppe params` lists all", ConfigError);
}

TEST_CASE("a general key that a special one hides is used") {
  Config config;
  config.set("chip.x", "1", "a");
  config.set("chip0.x", "2", "a");
  CHECK(found(config, "chip0.x") == "2");
  CHECK_NOTHROW(config.check_all_used({"chip0.x"}));
}

TEST_CASE("an index of an instance that is not there is an error") {
  Config config;
  config.set("chip7.x", "1", "a");
  CHECK(found(config, "chip0.x").empty());
  CHECK_THROWS_WITH_AS(config.check_all_used({"chip0.x"}), doctest::Contains("chip7.x"),
                       ConfigError);
}

TEST_CASE("the nearest name is near, or none") {
  const std::vector<std::string> names{"bandwidth", "latency", "clock"};
  CHECK(nearest_name("bandwith", names) == "bandwidth");
  CHECK(nearest_name("lock", names) == "clock");
  CHECK(nearest_name("clock", names) == "clock");
  CHECK(nearest_name("temperature", names).empty());
  CHECK(nearest_name("x", {}).empty());
  // A swap of neighbours is one mistake.
  CHECK(nearest_name("s03", {"s4", "s10", "s30"}) == "s30");
}

TEST_CASE("indices are stripped from all components but the last") {
  CHECK(without_indices("card.chip1.cluster23.l2") == "card.chip.cluster.l2");
  CHECK(without_indices("x1") == "x1");
  CHECK(without_indices("1.x") == "1.x");  // a component is not all index
  CHECK(without_indices("").empty());
}
