// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <functional>
#include <limits>

#include "models/base/error.h"
#include "tests/workloads/package/fixture.h"
#include "workloads/package/format.h"

using namespace steppe;
using namespace steppe::test;
using package::Package;

namespace {

constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();

struct Mistake {
  const char* field;  ///< what the message begins with, behind the file's name
  std::function<void(Package&)> make;
};

void check_all(const std::vector<Mistake>& mistakes) {
  REQUIRE_NOTHROW(package::validate(small_package(), "p.shards"));
  for (const Mistake& mistake : mistakes) {
    CAPTURE(mistake.field);
    Package package = small_package();
    mistake.make(package);
    const std::string begin = std::string("p.shards: ") + mistake.field + ": ";
    CHECK_THROWS_WITH_AS(package::validate(package, "p.shards"), doctest::Contains(begin.c_str()),
                         PackageError);
  }
}

}  // namespace

TEST_CASE("mistakes of the head are named") {
  check_all({
      {"target.platform", [](Package& p) { p.target.platform.clear(); }},
      {"target.isa_version", [](Package& p) { p.target.isa_version += 1; }},
      {"target.chips", [](Package& p) { p.target.chips = 0; }},
      {"target.chips", [](Package& p) { p.target.chips = 256; }},
      {"target.clusters", [](Package& p) { p.target.clusters = 0; }},
      {"target.clusters", [](Package& p) { p.target.clusters = 241; }},
      {"target.sram_bytes", [](Package& p) { p.target.sram_bytes = huge; }},
      {"target.dram_bytes", [](Package& p) { p.target.dram_bytes = huge; }},
      {"batch", [](Package& p) { p.batch = 0; }},
      {"replicas", [](Package& p) { p.replicas = 0; }},
      {"replicas", [](Package& p) { p.replicas = p.target.chips / 2 + 1; }},  // of two chips
      {"replicas", [](Package& p) { p.shards.resize(1), p.channels.clear(), p.replicas = 200; }},
      {"replicas",
       [](Package& p) {  // a chip between the shards'
         p.target.chips = 6;
         p.channels.clear();
         p.shards.back().chip = p.shards.front().chip + 2;
         p.replicas = 2;
       }},
      {"effective_macs", [](Package& p) { p.effective_macs = p.dense_macs + 1; }},
      {"outputs", [](Package& p) { p.outputs.clear(); }},
      {"shards", [](Package& p) { p.shards.clear(); }},
      {"debug", [](Package& p) { p.debug.resize(65536); }},
  });
}

TEST_CASE("mistakes of host shards are named") {
  using package::HostPhase;
  static const std::vector<std::uint8_t> bytes{1, 2, 3};
  const auto add = [](Package& p) {
    p.host = {{HostPhase::before, bytes}, {HostPhase::after, bytes}};
  };
  Package good = small_package();
  add(good);
  CHECK_NOTHROW(package::validate(good, "p.shards"));
  good.shards.clear();  // the host may do everything
  good.inputs.clear();
  good.outputs.clear();
  good.channels.clear();
  CHECK_NOTHROW(package::validate(good, "p.shards"));
  check_all({
      {"host",
       [](Package& p) {
         p.host = {{HostPhase::before, bytes}};
       }},
      {"host[0].phase",
       [&](Package& p) {
         add(p);
         p.host[0].phase = HostPhase::after;
       }},
      {"host[1].phase",
       [&](Package& p) {
         add(p);
         p.host[1].phase = HostPhase::before;
       }},
      {"host[1].bytes",
       [&](Package& p) {
         add(p);
         p.host[1].graph = {};
       }},
      {"shards",
       [&](Package& p) {
         add(p);
         p.shards.clear();
       }},
      {"outputs",
       [&](Package& p) {
         add(p);
         p.outputs.clear();
       }},
  });
}

TEST_CASE("mistakes of ports are named") {
  check_all({
      {"input_block_bytes", [](Package& p) { p.input_block_bytes = huge; }},
      {"output_block_bytes", [](Package& p) { p.output_block_bytes = huge; }},
      {"inputs[0].name", [](Package& p) { p.inputs[0].name.clear(); }},
      {"outputs[1].name", [](Package& p) { p.outputs[1].name = p.outputs[0].name; }},
      {"inputs[0].bytes", [](Package& p) { p.inputs[0].bytes = 0; }},
      {"inputs[0].dims", [](Package& p) { p.inputs[0].bytes = 119; }},
      {"inputs[0].dims", [](Package& p) { p.inputs[0].dims[1] = 0; }},
      // (2^63 + 1) * 120 is 120 modulo 2^64.
      {"inputs[0].dims",
       [](Package& p) {
         p.inputs[0].dims = {0x8000000000000001, 120, 1, 1};
       }},
      {"inputs[0].to_card",
       [](Package& p) {
         p.inputs[0].to_card = {0, 1, 2};
       }},
      {"inputs[0].to_card",
       [](Package& p) {
         p.inputs[0].to_card = {0, 1, 2, 2};
       }},
      {"inputs[0].to_card",
       [](Package& p) {
         p.inputs[0].to_card = {0, 1, 2, 4};
       }},
      {"inputs[0].scale", [](Package& p) { p.inputs[0].scale = 0; }},
      {"inputs[0].scale", [](Package& p) { p.inputs[0].scale = -1; }},
      {"inputs[0].scale",
       [](Package& p) { p.inputs[0].scale = std::numeric_limits<float>::quiet_NaN(); }},
      {"inputs[0].scale",
       [](Package& p) { p.inputs[0].scale = std::numeric_limits<float>::infinity(); }},
      {"inputs[0].zero", [](Package& p) { p.inputs[0].zero = 128; }},
      {"inputs[0].zero", [](Package& p) { p.inputs[0].zero = -129; }},
      {"inputs[0].offset", [](Package& p) { p.inputs[0].offset = 137; }},
      {"inputs[0].offset", [](Package& p) { p.inputs[0].offset = huge - 10; }},
      {"outputs[1].offset", [](Package& p) { p.outputs[1].offset = 7; }},
  });
}

TEST_CASE("mistakes of weight patterns are named") {
  check_all({
      {"shards[1].patterns[0].channels", [](Package& p) { p.shards[1].patterns[0].channels = 0; }},
      {"shards[1].patterns[0].blocks", [](Package& p) { p.shards[1].patterns[0].blocks = 0; }},
      {"shards[1].patterns[0].density", [](Package& p) { p.shards[1].patterns[0].density = 0; }},
      {"shards[1].patterns[0].density", [](Package& p) { p.shards[1].patterns[0].density = 1.5; }},
      {"shards[1].patterns[0].density",
       [](Package& p) {
         p.shards[1].patterns[0].density = std::numeric_limits<double>::quiet_NaN();
       }},
      {"shards[1].patterns[0].counts", [](Package& p) { p.shards[1].patterns[0].counts.clear(); }},
      {"shards[1].patterns[0].counts",
       [](Package& p) { p.shards[1].patterns[0].counts.push_back(1); }},
      {"shards[1].patterns[0].counts", [](Package& p) { p.shards[1].patterns[0].counts[2] = 33; }},
      {"shards[1].patterns[0].blocks",
       [](Package& p) {
         p.timing_only = true;
         p.shards[1].patterns[0] = {.channels = 1U << 20, .blocks = 1U << 20};
       }},
  });
}

TEST_CASE("mistakes of segments are named") {
  check_all({
      {"shards[0].segments[0].name", [](Package& p) { p.shards[0].segments[0].name.clear(); }},
      {"shards[0].segments[1].name",
       [](Package& p) { p.shards[0].segments[1].name = p.shards[0].segments[0].name; }},
      {"shards[0].segments[0].bytes", [](Package& p) { p.shards[0].segments[0].bytes = 0; }},
      {"shards[0].segments[0].bytes", [](Package& p) { p.shards[0].segments[0].bytes = 99; }},
      {"shards[1].segments[1].dram_offset",
       [](Package& p) { p.shards[1].segments[1].dram_offset += 8; }},
      {"shards[1].segments[1].dram_offset",
       [](Package& p) { p.shards[1].segments[1].dram_offset = p.target.dram_bytes - 48; }},
      {"shards[1].segments[1].dram_offset",
       [](Package& p) { p.shards[1].segments[1].dram_offset = huge - 15; }},
      {"shards[1].segments[1].dram_offset",
       [](Package& p) { p.shards[1].segments[0].dram_offset = 8112; }},
      {"shards[0].segments[0].data", [](Package& p) { p.shards[0].segments[0].data = {}; }},
      {"shards[0].segments[1].data",
       [](Package& p) {
         p.timing_only = true;
         p.shards[0].segments[1].data = {};
       }},
  });
}

TEST_CASE("mistakes of shards, programs and channels are named") {
  using isa::QueueKind;
  check_all({
      {"shards[1].chip", [](Package& p) { p.shards[1].chip = 3; }},
      {"shards[1].chip", [](Package& p) { p.shards[1].chip = 0; }},
      {"shards[0].run.streams", [](Package& p) { p.shards[0].run.streams.clear(); }},
      {"shards[0].run.streams[1].cluster",
       [](Package& p) { p.shards[0].run.streams[1].cluster = 2; }},
      {"shards[0].run.streams[2].cluster",
       [](Package& p) { p.shards[0].run.streams[2].cluster = 1; }},
      {"shards[0].run.streams[1].queue",
       [](Package& p) { p.shards[0].run.streams[1].cluster = 0; }},
      {"shards[0].init.streams[0].dram_offset",
       [](Package& p) { p.shards[0].init.streams[0].dram_offset += 4; }},
      {"shards[0].init.streams[0].bytes",
       [](Package& p) { p.shards[0].init.streams[0].bytes = 0; }},
      {"shards[0].init.streams[0].bytes",
       [](Package& p) { p.shards[0].init.streams[0].bytes = 20; }},
      {"shards[0].run.streams[2].dram_offset",
       [](Package& p) { p.shards[0].run.streams[2].bytes = 48; }},
      {"shards[0].run.streams[2].dram_offset",
       [](Package& p) { p.shards[0].run.streams[2].bytes = huge - 15; }},
      // Streams in a segment of weights.
      {"shards[0].run.streams[0].dram_offset",
       [](Package& p) { p.shards[0].run.streams[0].dram_offset = 0; }},
      {"channels[0].tensor", [](Package& p) { p.channels[0].tensor.clear(); }},
      {"channels[0].bytes", [](Package& p) { p.channels[0].bytes = 0; }},
      {"channels[0].from_chip", [](Package& p) { p.channels[0].from_chip = 1; }},
      {"channels[0].to_chip", [](Package& p) { p.channels[0].to_chip = 3; }},
      {"channels[0].to_chip", [](Package& p) { p.channels[0].to_chip = 0; }},
      {"channels[1].tensor", [](Package& p) { p.channels.push_back(p.channels[0]); }},
  });
}
