// SPDX-License-Identifier: Apache-2.0
#include "sim/stream_check.h"

#include <doctest/doctest.h>

#include "models/base/error.h"
#include "models/isa/assembly.h"

using namespace steppe;

namespace {

/// A package of one chip whose run program has one load and one store stream.
struct Streams {
  package::Package package;
  std::vector<std::uint8_t> bytes;

  Streams(const std::string& load, const std::string& store) {
    package.target = {
        .platform = "test", .chips = 1, .clusters = 1, .sram_bytes = 4096, .dram_bytes = 8192};
    package.input_block_bytes = 64;
    package.debug = {{"layer", {}}};
    const std::vector<std::uint8_t> first = isa::assemble(load, "load");
    const std::vector<std::uint8_t> second = isa::assemble(store, "store");
    bytes = first;
    bytes.insert(bytes.end(), second.begin(), second.end());
    package::Shard shard;
    shard.segments.push_back({.kind = package::SegmentKind::stream,
                              .name = "s",
                              .dram_offset = 4096,
                              .bytes = bytes.size(),
                              .data = bytes});
    shard.run.streams = {{isa::QueueKind::load, 0, 4096, first.size()},
                         {isa::QueueKind::store, 0, 4096 + first.size(), second.size()}};
    package.shards.push_back(shard);
  }

  /// The error's text; empty where the streams are good.
  std::string judge() const {
    try {
      sim::check_streams(package);
      return {};
    } catch (const PackageError& error) {
      return error.what();
    }
  }
};

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("good streams pass: copies within memory, tokens given and taken, loops counted") {
  CHECK(Streams("loop count=3\ncopy src=b0+0x1000000000 dst=b0+0x100000000 row_bytes=64 rows=1 "
                "src_pitch=64 dst_pitch=64 signal 5 tag 1\nendloop\nend\n",
                "sync wait 5*3\nend\n")
            .judge()
            .empty());
}

TEST_CASE("each fault is told with its place") {
  const std::string end = "end\n";
  CHECK(holds(Streams("sync\n", end).judge(), "cluster 0, load, offset 16: the stream ends"));
  CHECK(holds(Streams("sync signal 3\nend\n", end).judge(),
              "semaphore 3: a run gives 1 tokens more"));
  CHECK(holds(Streams("sync tag 2\nend\n", end).judge(), "tag 2"));
  CHECK(holds(Streams("endloop\nend\n", end).judge(), "without `loop`"));
  CHECK(holds(Streams("loop count=2\nend\n", end).judge(), "inside a loop"));
  CHECK(holds(Streams("lut rows=1\nend\n", end).judge(), "does not run on this queue"));
  const std::string copy = " row_bytes=64 rows=1 src_pitch=64 dst_pitch=64\nend\n";
  // 8,192 bytes of DRAM and 4,096 of SRAM: the last 64 bytes begin at 0x1fc0 and 0xfc0.
  CHECK(Streams("copy src=b0+0x1000001fc0 dst=b0+0x100000fc0" + copy, end).judge().empty());
  CHECK(
      holds(Streams("copy src=b0+0x1000001fc1 dst=b0+0x100000000" + copy, end).judge(), "source"));
  CHECK(holds(Streams("copy src=b0+0x1000000000 dst=b0+0x100000fc1" + copy, end).judge(),
              "destination"));
  CHECK(holds(Streams("copy src=b2+0x1 dst=b0+0x100000000" + copy, end).judge(), "input block"));
  CHECK(Streams("copy src=b2+0x0 dst=b0+0x100000000" + copy, end).judge().empty());
}
