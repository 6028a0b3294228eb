// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/models/queue/bench.h"

using namespace steppe;
using namespace steppe::test;
using isa::QueueKind;

TEST_CASE("an instruction takes its issue and its unit's time") {
  QueueBench bench;
  bench.build({QueueKind::load});
  Queue& queue = *bench.queues[0];
  std::uint64_t stopped = 0;
  queue.on_stop = [&](Queue&) { stopped = now_ps(); };
  simulate([&] {
    sc_core::wait(7, sc_core::SC_NS);
    bench.start(queue, "notify value=100\nsync\nend\n");
    CHECK(!queue.start());  // running already
    sc_core::wait(1, sc_core::SC_US);
  });
  // 5 + 100, 5, 5 ns after 7.
  CHECK(stopped == 122'000);
  CHECK(queue.status() == QueueStatus::done);
  CHECK(bench.stat("load.busy") == 115'000);
  CHECK(bench.stat("load.idle") == 1'007'000 - 115'000);
  CHECK(bench.stat("load.instructions") == 3);
  CHECK(bench.accounted("load") == 1'007'000);
}

TEST_CASE("a stall is put down to the kind that gave the last token") {
  QueueBench bench;
  bench.build({QueueKind::load, QueueKind::store, QueueKind::tensor, QueueKind::vector});
  simulate([&] {
    bench.start(*bench.queues[0], "notify value=50 signal 3\nend\n");
    bench.start(*bench.queues[1], "notify value=200 signal 4\nend\n");
    // Released by load at 55, starts at 65, ends at 70; then by store at 205, starts at 215, ends
    // at 220.
    bench.start(*bench.queues[2], "sync wait 3\nsync wait 4 signal 5*2\nend\n");
    // Waits for 5 first, which tensor gives at 220; 6 has been there.
    bench.semaphores->give(6, 1, Giver::remote);
    bench.start(*bench.queues[3], "sync wait 6 wait 5*2\nend\n");
    sc_core::wait(1, sc_core::SC_US);
  });
  CHECK(bench.stat("tensor.stall_load") == 65'000);
  CHECK(bench.stat("tensor.stall_store") == 145'000);
  CHECK(bench.stat("tensor.busy") == 15'000);
  CHECK(bench.stat("vector.stall_tensor") == 230'000);
  CHECK(bench.stat("vector.stall_remote") == 0);
  for (const char* queue : {"load", "store", "tensor", "vector"}) {
    CHECK(bench.accounted(queue) == 1'000'000);
  }
}

TEST_CASE("a token that is there costs no wait") {
  QueueBench bench;
  bench.build({QueueKind::vector});
  simulate([&] {
    bench.semaphores->give(3, 1, Giver::remote);
    bench.start(*bench.queues[0], "sync wait 3\nend\n");
    sc_core::wait(1, sc_core::SC_US);
  });
  CHECK(bench.stat("vector.busy") == 10'000);
  CHECK(bench.stat("vector.stall_remote") == 0);
}

TEST_CASE("time adds up at any moment, and after a reset of the statistics") {
  QueueBench bench;
  bench.build({QueueKind::load});
  simulate([&] {
    CHECK(bench.accounted("load") == 0);
    bench.start(*bench.queues[0], "notify value=100\nsync wait 1\nend\n");
    sc_core::wait(50, sc_core::SC_NS);  // in the notify
    CHECK(bench.stat("load.unfinished") == 50'000);
    CHECK(bench.accounted("load") == 50'000);
    sc_core::wait(150, sc_core::SC_NS);  // in the wait, since 105
    CHECK(bench.stat("load.busy") == 105'000);
    CHECK(bench.stat("load.unfinished") == 95'000);
    bench.context.stats.reset();
    sc_core::wait(100, sc_core::SC_NS);
    CHECK(bench.accounted("load") == 100'000);
    bench.semaphores->give(1, 1, Giver::remote);
    sc_core::wait(100, sc_core::SC_NS);
    CHECK(bench.stat("load.stall_remote") == 110'000);
    CHECK(bench.stat("load.busy") == 10'000);
    CHECK(bench.stat("load.idle") == 80'000);
    bench.context.stats.reset();  // while idle
    sc_core::wait(30, sc_core::SC_NS);
    CHECK(bench.stat("load.idle") == 30'000);
    // Idle time of before the reset that was booked when the next stream started.
    bench.start(*bench.queues[0], "end\n");
    sc_core::wait(1, sc_core::SC_US);
    bench.context.stats.reset();
    sc_core::wait(40, sc_core::SC_NS);
    CHECK(bench.stat("load.idle") == 40'000);
    CHECK(bench.accounted("load") == 40'000);
  });
}

TEST_CASE("fetching stalls until the bytes are there, and goes on behind execution") {
  QueueBench bench;
  bench.memory.ps_per_byte = 1000;  // 512 bytes a fetch take 512 ns
  bench.build({QueueKind::load, QueueKind::store});
  const auto stream = [](const std::string& value) {
    std::string text;
    for (int i = 0; i < 40; ++i) text += "notify value=" + value + "\n";
    return text + "end\n";
  };
  // 40 instructions of 32 bytes and one of 16: fetches of 512, 512 and 272 bytes, there at 512,
  // 1024 and 1296.
  simulate([&] {
    bench.start(*bench.queues[0], stream("10"));
    sc_core::wait(10, sc_core::SC_US);
    bench.start(*bench.queues[1], stream("100"));
    sc_core::wait(10, sc_core::SC_US);
  });
  CHECK(bench.memory.fetched == 2 * 1296);
  // 16 instructions of 15 ns, twice, are done before the next bytes are there: stalls of 512, 512 -
  // 240, 272 - 240.
  CHECK(bench.stat("load.stall_fetch") == 512'000 + 272'000 + 32'000);
  // 16 instructions of 105 ns cover the rest.
  CHECK(bench.stat("store.stall_fetch") == 512'000);
  CHECK(bench.accounted("store") == 20'000'000);
}

TEST_CASE("a loop runs from the buffer") {
  QueueBench bench;
  bench.build({QueueKind::load});
  simulate([&] {
    bench.start(*bench.queues[0], "loop count=1000\nnotify value=1\nendloop\nend\n");
    sc_core::wait(1, sc_core::SC_MS);
  });
  CHECK(bench.unit.addresses.size() == 1000);
  // loop 32 (16 + 4, padded), notify 32, endloop 16, end 16.
  CHECK(bench.memory.fetched == 96);
  // 1 + 2000 + 1 instructions of 5 ns, and 1000 ns in the unit.
  CHECK(bench.stat("load.busy") == 2002 * 5'000 + 1'000'000);
}

namespace {

struct RecordedTimeline : Timeline {
  std::vector<std::string> tracks;
  std::vector<std::string> slices;
  Track add_track(const std::string& path) override {
    tracks.push_back(path);
    return static_cast<Track>(tracks.size() - 1);
  }
  void slice(Track track, std::string_view name, std::uint64_t begin, std::uint64_t end) override {
    slices.push_back(fmt::format("{} {} {}-{}", track, name, begin, end));
  }
};

}  // namespace

TEST_CASE("each instruction is a slice of the timeline, with its layer where that is known") {
  QueueBench bench;
  RecordedTimeline timeline;
  bench.context.timeline = &timeline;
  bench.context.describe_tag = [](std::uint32_t, std::uint32_t tag) {
    return tag == 3 ? std::string("conv1") : std::string{};
  };
  bench.build({QueueKind::load, QueueKind::store});
  simulate([&] {
    bench.start(*bench.queues[1], "notify value=20 tag 3\nsync wait 1 tag 4\nend\n");
    sc_core::wait(90, sc_core::SC_NS);
    bench.semaphores->give(1, 1, Giver::remote);
    sc_core::wait(1, sc_core::SC_US);
  });
  CHECK(timeline.tracks == std::vector<std::string>{"top.load", "top.store"});
  CHECK(timeline.slices == std::vector<std::string>{"1 notify conv1 0-25000",
                                                    "1 wait for remote 25000-100000",
                                                    "1 sync 100000-105000", "1 end 105000-110000"});
}
