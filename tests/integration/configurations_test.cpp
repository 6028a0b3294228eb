// SPDX-License-Identifier: Apache-2.0
//
// Cards of any shape: each either runs the shipped model with the right values, and is not slowed
// down by more of anything, or is refused with the reason. STEPPE_CONFIGURATIONS draws another
// number of them.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>

#include "tests/integration/program.h"

using namespace steppe::test;

namespace {

using Random = std::mt19937;
using Settings = std::map<std::string, std::string>;

std::uint32_t draw(Random& random, std::uint32_t low, std::uint32_t high) {
  return low + static_cast<std::uint32_t>(random() % (high - low + 1));
}

/// A number from low to high, each order of magnitude as likely as the next.
double draw_log(Random& random, double low, double high) {
  const double share = static_cast<double>(random()) / static_cast<double>(Random::max());
  return low * std::pow(high / low, share);
}

std::string whole(double number) { return std::to_string(std::llround(number)); }

/// Half of the parameters drawn from what an architect might ask for, the others left alone.
Settings draw_settings(Random& random) {
  Settings settings;
  const auto set = [&](const std::string& path, const std::string& value) {
    if (random() % 2 == 0) settings[path] = value;
  };
  const std::uint32_t clusters = random() % 3 == 0 ? draw(random, 1, 64) : draw(random, 1, 6);
  settings["card.chip.clusters"] = std::to_string(clusters);
  set("card.chips", std::to_string(draw(random, 1, 4)));
  set("card.direct_links", random() % 2 == 0 ? "true" : "false");
  const std::string cluster = "card.chip.cluster.";
  set(cluster + "tensor.engines", std::to_string(draw(random, 1, 32)));
  set(cluster + "tensor.lanes", std::to_string(draw(random, 1, 40)));
  set(cluster + "tensor.columns", std::to_string(draw(random, 1, 64)));
  set(cluster + "tensor.l1_bytes", whole(draw_log(random, 256, 1e6)));
  set(cluster + "tensor.clock", whole(draw_log(random, 1e7, 3e9)));
  set(cluster + "tensor.lane_queue", std::to_string(draw(random, 1, 9)));
  set(cluster + "sram.size", whole(draw_log(random, 5'000, 2e7)));
  set(cluster + "sram.bandwidth", whole(draw_log(random, 1e8, 1e13)));
  set(cluster + "vector.lanes", std::to_string(draw(random, 1, 1000)));
  set(cluster + "load.burst_bytes", whole(draw_log(random, 64, 1e5)));
  set(cluster + "store.outstanding", std::to_string(draw(random, 1, 20)));
  set("card.chip.dram.bandwidth", whole(draw_log(random, 1e8, 1e12)));
  set("card.chip.dram.fidelity", random() % 3 == 0 ? "ideal" : "banked");
  set("card.chip.dram.channels", std::to_string(draw(random, 1, 16)));
  set("card.chip.dram.banks", std::to_string(draw(random, 1, 16)));
  set("card.chip.dram.ecc", random() % 2 == 0 ? "none" : "inline");
  set("card.chip.noc.fidelity", random() % 2 == 0 ? "ideal" : "routed");
  set("card.chip.noc.topology", std::array{"crossbar", "ring", "mesh"}.at(draw(random, 0, 2)));
  set(cluster + "sram.banks", std::to_string(draw(random, 1, 64)));
  set(cluster + "sram.ports", std::to_string(draw(random, 1, 4)));
  set("card.chip.noc.port_bandwidth", whole(draw_log(random, 1e8, 1e12)));
  set("card.chip.pcie.lanes", std::to_string(1U << draw(random, 0, 4)));
  set("card.pcie.generation", std::to_string(draw(random, 1, 5)));
  // Clusters that differ from each other.
  const std::string other = "card.chip.cluster" + std::to_string(draw(random, 0, clusters - 1));
  set(other + ".tensor.engines", std::to_string(draw(random, 1, 32)));
  set(other + ".tensor.lanes", std::to_string(draw(random, 1, 40)));
  set(other + ".sram.size", whole(draw_log(random, 5'000, 2e7)));
  return settings;
}

std::string arguments(const Settings& settings) {
  std::string text;
  for (const auto& [path, value] : settings) text += " --set " + path + "=" + value;
  return text;
}

/// Simulated seconds of a timing run.
double timed(const Scratch& scratch, const Settings& settings) {
  const Outcome run = run_steppe("run " + scratch / "p --mode timing --samples 4 --out " +
                                 scratch / "timing" + arguments(settings));
  INFO(run.output);
  CHECK(run.exit_code == 0);
  return read_json(scratch / "timing/summary.json")["simulated_seconds"].get<double>();
}

/// What may only make a run faster, and its value in the preset.
const std::map<std::string, double> resources{{"card.chip.dram.bandwidth", 82e9},
                                              {"card.chip.noc.port_bandwidth", 204.8e9},
                                              {"card.chip.cluster.sram.bandwidth", 2.925e12},
                                              {"card.chip.cluster.tensor.engines", 8},
                                              {"card.chip.cluster.vector.lanes", 448}};

Settings with_more(Settings settings, const std::string& path) {
  const auto set = settings.find(path);
  const double value = set == settings.end() ? resources.at(path) : std::stod(set->second);
  settings[path] = whole(2 * value);
  return settings;
}

}  // namespace

TEST_CASE("any configuration runs the shipped model, or is refused with the reason") {
  const char* wanted = std::getenv("STEPPE_CONFIGURATIONS");
  const int count = wanted == nullptr ? 8 : std::atoi(wanted);
  Random random(7);
  const char* partitions[] = {"pipeline", "tensor", "auto"};
  int ran = 0;
  for (int i = 0; i < count; ++i) {
    Scratch scratch;
    const Settings settings = draw_settings(random);
    CAPTURE(arguments(settings));
    const Outcome compile = run_steppe(
        "compile " + digits("digits.onnx") + " -o " +
        scratch / "p --target s30 --calibrate image=" + digits("calibration.npy") +
        " --reference " + scratch / "reference --input image=" + digits("calibration.npy") +
        " --partition " + partitions[i % 3] + arguments(settings));
    INFO(compile.output);
    if (compile.exit_code != 0) {
      CHECK((compile.exit_code == 2 || compile.exit_code == 3));
      CHECK(compile.output.starts_with("steppe: error: "));
      continue;
    }
    ++ran;
    const Outcome run =
        run_steppe("run " + scratch / "p --input image=" + digits("calibration.npy") +
                   " --golden logits=" + scratch / "reference/logits.npy --out " + scratch / "out" +
                   arguments(settings));
    INFO(run.output);
    REQUIRE(run.exit_code == 0);
    const double seconds = timed(scratch, settings);
    for (const auto& [path, value] : resources) {
      CAPTURE(path);
      CHECK(timed(scratch, with_more(settings, path)) <= 1.02 * seconds);
    }
  }
  CHECK(ran > count / 3);
}
