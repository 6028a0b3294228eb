// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "models/base/error.h"
#include "tests/platform/test_host.h"

using namespace steppe;
using namespace steppe::test;

namespace {

std::vector<std::string> parameter_paths(const SimContext& context) {
  std::vector<std::string> paths;
  for (const ParamInfo& info : context.params) paths.push_back(info.path);
  return paths;
}

/// Builds the card of a preset; every key of it is used, and says where its value is from.
void check_preset(const std::string& name, std::uint32_t chips, bool direct_links) {
  CardBench bench(name);
  for (const auto& [key, value] : bench.config.values()) {
    INFO(key);
    const bool sourced = value.note.starts_with("source: ") || value.note.starts_with("assumed: ");
    CHECK(sourced);
    CHECK(value.note.size() > 12);
  }
  bench.build();
  CHECK_NOTHROW(bench.config.check_all_used(parameter_paths(bench.context)));
  const ServerDescription card = bench.server->description();
  CHECK(card.chips == chips);
  CHECK(card.direct_links == direct_links);
  CHECK(card.clusters == 4);
  // 943.6 sparse int8 TOPS a chip: 32 engines of 512 MACs at 900 MHz, 2 operations each, 32 times.
  const double tops =
      2e-12 * 32 * card.clusters * card.engines * card.lanes * card.columns * card.clock_hz;
  CHECK(tops == doctest::Approx(943.7).epsilon(0.0005));
  CHECK(card.dram_bandwidth == 82e9);
  CHECK(card.dram_bytes == 20'000'000'000);
  CHECK(card.sram_bytes * card.clusters == Bytes{82} << 20);
  CHECK(card.noc_port_bandwidth == 204.8e9);
  // PCIe 3 x16: 16 x 8 Gb/s x 128/130 / 8 = 15.754 GB/s; of 280 bytes 256 are payload: 14.404 GB/s.
  CHECK(card.pcie_bandwidth == doctest::Approx(14.404e9).epsilon(0.0001));
  CHECK(card.host_bandwidth == doctest::Approx((chips == 1 ? 1 : 2) * 14.404e9).epsilon(0.0001));
}

void check_error(const std::string& name, const std::string& expected) {
  Config config;
  try {
    load_preset(name, config);
  } catch (const ConfigError& error) {
    CHECK(std::string(error.what()) == expected);
    return;
  }
  FAIL("no error for " << name);
}

/// A file that goes with the object.
struct TemporaryFile {
  std::string path;
  explicit TemporaryFile(const std::string& text) {
    char name[] = "/tmp/steppe-preset-XXXXXX";
    const int file = mkstemp(name);
    REQUIRE(file >= 0);
    close(file);
    path = name;
    std::ofstream(path) << text;
  }
  ~TemporaryFile() { std::remove(path.c_str()); }
};

}  // namespace

TEST_CASE("preset antoum") { check_preset("antoum", 1, false); }
TEST_CASE("preset s4") { check_preset("s4", 1, false); }
TEST_CASE("preset s10") { check_preset("s10", 2, false); }
TEST_CASE("preset s30") { check_preset("s30", 3, false); }
TEST_CASE("preset s30l") { check_preset("s30l", 3, true); }
TEST_CASE("preset s40") { check_preset("s40", 4, false); }

TEST_CASE("the presets are these, and each has its test above") {
  CHECK(preset_names() == std::vector<std::string>{"antoum", "s4", "s10", "s30", "s30l", "s40"});
}

TEST_CASE("the base chip states every parameter of a chip") {
  CardBench bench("antoum");
  bench.build();
  for (const ParamInfo& info : bench.context.params) {
    if (info.path.find(".chip0.") == std::string::npos) continue;
    INFO(info.path);
    CHECK(info.origin.starts_with("antoum.yaml:"));
  }
}

TEST_CASE("an unknown key names its place and the nearest parameter") {
  CardBench bench("s30");
  bench.config.set("card.chip.cluster.tensor.lane", "8", "--set");
  bench.build();
  try {
    bench.config.check_all_used(parameter_paths(bench.context));
    FAIL("no error");
  } catch (const ConfigError& error) {
    CHECK(std::string(error.what())
              .find("--set: unknown parameter 'card.chip.cluster.tensor.lane'; did you "
                    "mean 'card.chip.cluster.tensor.lanes'?") == 0);
  }
}

TEST_CASE("a misspelt preset names the nearest") {
  check_error(
      "s03",
      "there is no preset 's03'; did you mean 's30'?; presets are antoum, s4, s10, s30, s30l, s40");
}

TEST_CASE("a file builds on a preset and overrides it, with its line") {
  const TemporaryFile file(
      "base: s4\n"
      "card:\n"
      "  chip:\n"
      "    dram:\n"
      "      bandwidth: 72 GB/s\n"
      "    pcie:\n"
      "      latency: {value: 300 ns, assumed: slow}\n");
  Config config;
  load_preset(file.path, config);
  const Config::Value* bandwidth = config.find("card.chip0.dram.bandwidth");
  REQUIRE(bandwidth != nullptr);
  CHECK(bandwidth->text == "72 GB/s");
  CHECK(bandwidth->origin == file.path + ":5");
  const Config::Value* latency = config.find("card.chip0.pcie.latency");
  REQUIRE(latency != nullptr);
  CHECK(latency->text == "300 ns");
  CHECK(latency->note == "assumed: slow");
  CHECK(config.find("card.chip0.dram.capacity")->origin.starts_with("antoum.yaml:"));
}

TEST_CASE("what is wrong with a file is said with its line") {
  check_error("/nowhere/x.yaml", "/nowhere/x.yaml: the configuration file cannot be read");
  const TemporaryFile bad("card:\n  chips: [1\n");
  Config config;
  CHECK_THROWS_WITH_AS(load_preset(bad.path, config),
                       doctest::Contains((bad.path + ":3: not YAML").c_str()), ConfigError);
  const TemporaryFile list("card:\n  chips: [1, 2]\n");
  check_error(list.path, list.path + ":2: 'card.chips' is neither a value nor a map");
  const TemporaryFile twice("card:\n  chips: 1\n  chips: 2\n");
  check_error(twice.path, twice.path + ":3: 'chips' stands twice in one map");
  const TemporaryFile beside("card:\n  chips: {value: 1, because: x}\n");
  check_error(
      beside.path,
      beside.path + ":2: 'because' beside a value; only `source` and `assumed` may stand there");
  const TemporaryFile circle("");
  std::ofstream(circle.path) << "base: " << circle.path << "\n";
  check_error(circle.path, circle.path + ": presets build on each other in a circle");
}
