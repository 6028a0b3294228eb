// SPDX-License-Identifier: Apache-2.0
#include "models/base/param.h"

#include <doctest/doctest.h>

using namespace steppe;

namespace {

/// A parameter "m.p" of the given kind, set to `text`.
template <typename T>
T value_of(const std::string& text, const char* unit, Range<T> range) {
  Config config;
  config.set("m.p", text, "f.yaml:7");
  SimContext context{config};
  return Param<T>(Scope(context, "m"), "p", range.min, unit, "doc", range).get();
}

double rate(const std::string& text) { return value_of<double>(text, "B/s", {0, 1e15}); }
std::uint32_t count(const std::string& text) {
  return value_of<std::uint32_t>(text, "", {1, 4096});
}

}  // namespace

TEST_CASE("numbers take the multiples of their unit") {
  CHECK(rate("12") == 12);
  CHECK(rate("12 B/s") == 12);
  CHECK(rate("12 GB/s") == 12e9);
  CHECK(rate("12GB/s") == 12e9);
  CHECK(rate("0.5 TB/s") == 0.5e12);
  CHECK(rate("1e3 MB/s") == 1e9);
  CHECK(value_of<double>("900 MHz", "Hz", {0, 1e12}) == 900e6);
  CHECK(value_of<double>("2.5 ns", "s", {0, 1}) == doctest::Approx(2.5e-9));
  CHECK(value_of<std::uint64_t>("20 MiB", "B", {0, 1ULL << 40}) == 20U << 20);
  CHECK(value_of<std::uint64_t>("20 GB", "B", {0, 1ULL << 40}) == 20'000'000'000U);
  CHECK(value_of<std::int32_t>("-5", "", {-10, 10}) == -5);
}

TEST_CASE("half a number is no number") {
  for (const char* text :
       {"abc", "", " ", "12abc", "1.2.3", "0x10", "1,5", "nan", "inf", "1e999", "--1", "+1"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(count(text), ConfigError);
  }
}

TEST_CASE("a whole number has no fraction") {
  CHECK(count("4e2") == 400);
  CHECK_THROWS_WITH_AS(count("1.5"), "f.yaml:7: m.p: '1.5' is not a whole number", ConfigError);
  CHECK_THROWS_AS(value_of<std::uint64_t>("1e30", "", {0, 1ULL << 62}), ConfigError);
}

TEST_CASE("a unit that does not fit is named, and the right one") {
  CHECK_THROWS_WITH_AS(rate("12 GHz"), doctest::Contains("expected B/s"), ConfigError);
  CHECK_THROWS_WITH_AS(rate("12 GiB"), doctest::Contains("'GiB'"), ConfigError);
  CHECK_THROWS_WITH_AS(rate("12 gb/s"), doctest::Contains("'gb/s'"), ConfigError);
  CHECK_THROWS_WITH_AS(count("3 B"), doctest::Contains("a plain number is right"), ConfigError);
}

TEST_CASE("the range is kept, its ends included") {
  CHECK(count("1") == 1);
  CHECK(count("4096") == 4096);
  CHECK_THROWS_WITH_AS(count("4097"), doctest::Contains("out of range, 1 to 4096"), ConfigError);
  CHECK_THROWS_AS(count("0"), ConfigError);
  CHECK_THROWS_AS(count("-1"), ConfigError);
}

TEST_CASE("switches are true or false") {
  const auto get = [](const char* text) {
    Config config;
    config.set("m.p", text, "o");
    SimContext context{config};
    return Param<bool>(Scope(context, "m"), "p", false, "doc").get();
  };
  CHECK(get("true"));
  CHECK(!get("false"));
  for (const char* text : {"1", "yes", "True", ""}) {
    CAPTURE(text);
    CHECK_THROWS_AS(get(text), ConfigError);
  }
}

TEST_CASE("choices are of their list") {
  const auto get = [](const char* text) {
    Config config;
    config.set("m.p", text, "o");
    SimContext context{config};
    return Param<std::string>(Scope(context, "m"), "p", "ideal", "doc", {"ideal", "banked"}).get();
  };
  CHECK(get("banked") == "banked");
  CHECK_THROWS_WITH_AS(get("bankde"),
                       "o: m.p: 'bankde' is not one of ideal, banked; did you mean 'banked'?",
                       ConfigError);
  CHECK_THROWS_AS(get(""), ConfigError);
}

TEST_CASE("every parameter is listed with its value and where it came from") {
  Config config;
  config.set("chip.clock", "800 MHz", "s4.yaml:9", "source: x");
  SimContext context{config};
  const Scope scope = Scope(context, "").child("chip", 0);
  const Param<double> clock(scope, "clock", 900e6, "Hz", "clock of the chip", {1e6, 1e10});
  const Param<std::uint32_t> lanes(scope, "lanes", 16, "", "lanes", {1, 64});
  CHECK(static_cast<double>(clock) == 800e6);
  REQUIRE(context.params.size() == 2);
  const ParamInfo& first = context.params[0];
  CHECK(first.path == "chip0.clock");
  CHECK(detail::parse_number(first.value, "Hz", "") == 800e6);
  CHECK(first.unit == "Hz");
  CHECK(first.doc == "clock of the chip");
  CHECK(first.origin == "s4.yaml:9");
  CHECK(first.note == "source: x");
  CHECK(context.params[1].value == "16");
  CHECK(context.params[1].origin == "default");
  CHECK(context.params[1].range == "1 to 64");
  CHECK_NOTHROW(config.check_all_used({}));
}
