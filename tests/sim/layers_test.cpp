// SPDX-License-Identifier: Apache-2.0
#include "sim/report/layers.h"

#include <doctest/doctest.h>

using namespace steppe;
using namespace steppe::sim;

namespace {

schedule::Report two_chips() {
  schedule::Report report;
  for (const char* name : {"a", "b", "c", "a@1", "never"}) {
    report.network.layers.push_back({.name = name, .nodes = {}, .op = net::Permute{}});
  }
  report.layers = {
      {0, 20e-9, 0, 0}, {0, 1e-9, 5e-9, 30e-9}, {0, 4e-9, 0, 0}, {1, 10e-9, 0, 0}, {1, 1, 1, 1}};
  return report;
}

}  // namespace

TEST_CASE("cycles of a chip's layers add up, hidden layers take none") {
  LayerTimeline timeline;
  const auto track = timeline.add_track("card.chip0.cluster0.tensor.queue");
  const auto other = timeline.add_track("card.chip0.cluster0.vector.queue");
  timeline.slice(track, "copy a", 0, 90'000);         // loading, before the run
  timeline.slice(track, "conv a", 100'000, 140'000);  // from 100 to 160 ns
  timeline.slice(other, "conv a", 110'000, 160'000);
  timeline.slice(other, "map b", 120'000, 200'000);
  timeline.slice(track, "conv c", 150'000, 160'000);  // ends with a
  timeline.slice(track, "sync", 200'000, 250'000);    // of no layer
  timeline.slice(track, "conv a@1", 130'000, 150'000);
  const auto layers = layer_times(two_chips(), timeline, 100'000, 1e9);
  REQUIRE(layers.size() == 4);
  CHECK(layers[0].name == "a");
  CHECK(layers[0].cycles == doctest::Approx(50));  // the vector queue's; the tensor queue's are 40
  CHECK(layers[0].exposed == doctest::Approx(60));
  CHECK(layers[0].bound() == doctest::Approx(20));
  CHECK(layers[0].reached() == doctest::Approx(20.0 / 50));
  CHECK(layers[0].utilisation() == doctest::Approx(20.0 / 50));
  CHECK(layers[1].name == "c");
  CHECK(layers[1].cycles == doctest::Approx(10));
  CHECK(layers[1].exposed == 0);
  CHECK(layers[2].name == "b");
  CHECK(layers[2].cycles == doctest::Approx(80));
  CHECK(layers[2].exposed == doctest::Approx(40));
  CHECK(std::string(layers[2].resource()) == "DRAM");
  CHECK(layers[2].utilisation() == doctest::Approx(1.0 / 80));
  CHECK(layers[3].chip == 1);
  CHECK(layers[3].cycles == doctest::Approx(20));
  const std::string table = format_table(layers);
  // Of chip 0: 100 cycles; DRAM needs 30 of them, the engines 25.
  CHECK(table.find("       100        100         30 DRAM") != std::string::npos);
}
