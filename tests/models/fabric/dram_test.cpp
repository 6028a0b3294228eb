// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/dram.h"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "models/base/address.h"
#include "models/base/error.h"
#include "tests/models/fabric/bench.h"

using namespace steppe;
using test::read_time;
using test::write_time;

namespace {

constexpr std::uint64_t base = address::dram;

/// A banked DRAM and some initiators. Round figures: one channel of 8 GB/s, 32 B a column access
/// (4 ns), rows of 2 KiB (64 accesses, 256 ns), no controller latency, no refresh.
struct DramBench : test::Bench {
  std::vector<std::unique_ptr<test::Initiator>> ports;
  std::unique_ptr<Dram> dram;

  DramBench() {
    set("dram.capacity", "1073741824");
    set("dram.channels", "1");
    set("dram.bandwidth", "8 GB/s");
    set("dram.interleave", "2048");
    set("dram.controller_latency", "0");
    set("dram.timing.refresh", "none");
    set("dram.timing.read_latency", "20 ns");
    set("dram.timing.write_latency", "10 ns");
    set("dram.timing.t_faw", "40 ns");
  }
  void build(unsigned initiators = 1) {
    dram = std::make_unique<Dram>("dram", scope.child("dram"), base);
    for (unsigned i = 0; i < initiators; ++i) {
      ports.push_back(std::make_unique<test::Initiator>(("port" + std::to_string(i)).c_str()));
      ports.back()->socket.bind(dram->socket);
    }
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
  MemoryPort& port(std::size_t i = 0) { return *ports[i]; }
};

/// The preset's figures: 10 channels, 82 GB/s, refresh of all banks.
struct PresetBench : DramBench {
  PresetBench() {
    config = {};
    build(4);
  }
};

/// Keeps `under_way` transactions of `bytes` in flight for each initiator, in simulated time;
/// `next(initiator, n)` gives address and direction. Returns the rate of all together, B/s.
struct Load {
  struct Asked {
    std::uint64_t address;
    bool write;
  };
  using Next = std::function<Asked(std::size_t, std::uint64_t)>;

  Load(DramBench& bench, std::size_t initiators, unsigned under_way, Bytes bytes,
       std::uint64_t count, Next next)
      : end_of(initiators) {
    for (std::size_t i = 0; i < initiators; ++i) {
      sc_core::sc_spawn([=, this, &bench] {
        std::vector<std::uint64_t> done(under_way, 0);
        for (std::uint64_t n = 0; n < count; ++n) {
          // In order: the n-th is asked when the one `under_way` before it is done.
          std::uint64_t& slot = done[n % under_way];
          if (slot > now_ps()) sc_core::wait(from_ps(slot - now_ps()));
          const Asked asked = next(i, n);
          sc_core::sc_time delay;
          const auto command = asked.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND;
          if (!bench.port(i).reserve(command, asked.address, bytes, delay)) return;
          slot = now_ps() + to_ps(delay);
        }
        end_of[i] = std::ranges::max(done);
        if (end_of[i] > now_ps()) sc_core::wait(from_ps(end_of[i] - now_ps()));
      });
    }
  }
  std::vector<std::uint64_t> end_of;
};

double rate(DramBench& bench, std::size_t initiators, unsigned under_way, Bytes bytes,
            std::uint64_t count, Load::Next next) {
  Load load(bench, initiators, under_way, bytes, count, std::move(next));
  sc_core::sc_start();
  return static_cast<double>(initiators * count * bytes) / (static_cast<double>(now_ps()) * 1e-12);
}

std::uint64_t random_number(std::uint64_t n) {  // splitmix64
  n += 0x9e3779b97f4a7c15;
  n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9;
  n = (n ^ (n >> 27)) * 0x94d049bb133111eb;
  return n ^ (n >> 31);
}

}  // namespace

TEST_CASE("dram banked: miss, hit and conflict, nanosecond by nanosecond") {
  // The worked example of models/fabric/README.md.
  DramBench bench;
  bench.build();
  // A closed bank: activate at 0, column read at 18 (tRCD), data 38..42 (read latency, one access).
  CHECK(read_time(bench.port(), base, 32) == 42'000);
  // The row is open: the column read waits for tRCD as well, its data follow: 42..46.
  CHECK(read_time(bench.port(), base + 32, 32) == 46'000);
  // Asked at 100 for the open row: column read at once, data 120..124.
  CHECK(read_time(bench.port(), base + 64, 32, 100'000) == 124'000);
  // Asked at 200 for another row of the bank (8 banks of 2 KiB further): precharge at 200, activate
  // at 218 (tRP), read at 236, data 256..260.
  CHECK(read_time(bench.port(), base + 8 * 2048, 32, 200'000) == 260'000);
  // Asked at 240 for the first row again: the row must stay open for tRAS, until 218 + 42 = 260;
  // activate at 278, read at 296, data 316..320.
  CHECK(read_time(bench.port(), base, 32, 240'000) == 320'000);
  CHECK(bench.stat("dram.row_misses") == 1);
  CHECK(bench.stat("dram.row_hits") == 2);
  CHECK(bench.stat("dram.row_conflicts") == 2);
}

TEST_CASE("dram banked: a written row is kept open for tWR, a read one for tRTP") {
  DramBench bench;
  bench.build();
  // Activate 0, write 18, data 28..284 (64 accesses): precharge at 284 + 18 = 302, activate 320,
  // read 338, data 358..362. That the bus turns (tWTR 10 + 20 ns) is over by then: 314.
  CHECK(write_time(bench.port(), base, 2048) == 284'000);
  CHECK(read_time(bench.port(), base + 8 * 2048, 32, 200'000) == 362'000);
  // Bank 1: activate 1000, data 1038..1294; the last column read was at 1294 - 4 - 20 = 1270,
  // precharge 7.5 later, activate 1295.5, data at 1333.5.
  CHECK(read_time(bench.port(), base + 2048, 2048, 1'000'000) == 1'294'000);
  CHECK(read_time(bench.port(), base + 9 * 2048, 32, 1'100'000) == 1'337'500);
}

TEST_CASE("dram banked: activates keep tRRD and tFAW") {
  DramBench bench;
  bench.set("dram.timing.t_faw", "60 ns");
  bench.build();
  // Five banks at once. Activates at 0, 10, 20, 30 (tRRD), and 60 (tFAW): data 38 after each.
  for (const int activate : {0, 10, 20, 30, 60}) {
    const std::uint64_t bank = activate == 60 ? 4 : activate / 10;
    CHECK(read_time(bench.port(), base + bank * 2048, 32) == (activate + 38 + 4) * 1000);
  }
}

TEST_CASE("dram banked: the bus idles between directions") {
  DramBench bench;
  bench.build();
  CHECK(read_time(bench.port(), base, 32) == 42'000);
  // Nothing waits: the write's data could start at 30 + 10, must keep 5 ns (tRTW) to 42.
  CHECK(write_time(bench.port(), base, 32, 32'000) == 51'000);
  // Read after write: data from 51 + 10 (tWTR) + 20 (read latency) on, if asked early enough.
  CHECK(read_time(bench.port(), base, 32, 45'000) == 85'000);
  CHECK(bench.stat("dram.turnarounds") == 2);
}

TEST_CASE("dram banked: under load directions are gathered, and the bus turns once a batch") {
  DramBench bench;
  bench.set("dram.queue_depth", "32");  // batches of 16 accesses
  bench.build();
  // Reads and writes of 64 B (2 accesses, 8 ns) of one open row in turn. A batch of 8 of them takes
  // 64 ns, and the turn after it 5 ns (to writes) or 10 + 20 ns (to reads): on average 17.5.
  // 64 / 81.5 of 8 GB/s are 6.28 GB/s.
  const double got = rate(bench, 1, 16, 64, 4000, [](std::size_t, std::uint64_t n) {
    return Load::Asked{base + (n % 32) * 64, n % 2 == 1};
  });
  CHECK(got == doctest::Approx(8e9 * 64 / 81.5).epsilon(0.02));
}

TEST_CASE("dram banked: without a queue every change of direction costs its turn") {
  DramBench bench;
  bench.set("dram.queue_depth", "1");
  bench.build();
  // 8 ns of data and 17.5 ns of turn.
  const double got = rate(bench, 1, 16, 64, 4000, [](std::size_t, std::uint64_t n) {
    return Load::Asked{base + (n % 32) * 64, n % 2 == 1};
  });
  CHECK(got == doctest::Approx(8e9 * 8 / 25.5).epsilon(0.02));
}

TEST_CASE("dram banked: rows of one bank, one after the other, cost a row cycle each") {
  DramBench bench;
  bench.set("dram.queue_depth", "1");
  bench.build();
  // 64 B of a new row each time, one under way: read latency 20 + data 8, then precharge (tRAS is
  // over: 18 + 28 > 42) 18 and activate 18: 18 + 18 + 20 + 8 = 64 ns.
  const double got = rate(bench, 1, 1, 64, 1000, [](std::size_t, std::uint64_t n) {
    return Load::Asked{base + n * 8 * 2048, false};
  });
  CHECK(got == doctest::Approx(64 / 64e-9).epsilon(0.01));
  CHECK(bench.stat("dram.row_conflicts") == 999);
}

TEST_CASE("dram banked: many under way in one bank are bound by tRC") {
  DramBench bench;
  bench.build();
  // tRC = tRAS + tRP = 60 ns an access; the last read is long past tRTP by then.
  const double got = rate(bench, 1, 8, 64, 1000, [](std::size_t, std::uint64_t n) {
    return Load::Asked{base + n * 8 * 2048, false};
  });
  CHECK(got == doctest::Approx(64 / 60e-9).epsilon(0.01));
}

TEST_CASE("dram banked: two rows of one bank in turn are served as hits within the queue") {
  DramBench bench;
  bench.build();
  // Two streams of 64 B in two rows of bank 0. Each row is opened again only when none that wants
  // it waits any more: the bus is full but for some row cycles.
  const double got = rate(bench, 1, 16, 64, 2000, [](std::size_t, std::uint64_t n) {
    return Load::Asked{base + (n % 2) * 8 * 2048 + (n / 2 % 32) * 64, false};
  });
  CHECK(got > 0.9 * 8e9);
}

TEST_CASE("dram banked: a refresh of all banks takes its part of the bus") {
  DramBench bench;
  bench.set("dram.timing.refresh", "all_bank");
  bench.build();
  // 21 (tRPab) + 380 (tRFC) + 18 (tRCD) of every 3904 ns (tREFI): 1 - 0.1073.
  const double got = rate(bench, 1, 4, 2048, 4000, [](std::size_t, std::uint64_t n) {
    return Load::Asked{base + n * 2048, false};
  });
  CHECK(got == doctest::Approx(8e9 * (1 - 419.0 / 3904)).epsilon(0.005));
  // 4000 * 256 ns of data: 1.147 ms, 293 refreshes.
  CHECK(bench.stat("dram.refreshes") == doctest::Approx(293).epsilon(0.01));
}

TEST_CASE("dram banked: a refresh bank by bank hides behind the other banks") {
  DramBench bench;
  bench.set("dram.timing.refresh", "per_bank");
  bench.build();
  const double got = rate(bench, 1, 4, 2048, 4000, [](std::size_t, std::uint64_t n) {
    return Load::Asked{base + n * 2048, false};
  });
  CHECK(got > 0.97 * 8e9);
}

TEST_CASE("dram preset: channels and rate make the published peak, and streams reach 85 to 95 %") {
  PresetBench bench;
  CHECK(bench.stat("dram.peak_bandwidth") == 82e9);
  CHECK(bench.dram->size() == 20'000'000'000);
  const double got = rate(bench, 1, 8, 4096, 20'000, [](std::size_t, std::uint64_t n) {
    return Load::Asked{base + n * 4096, false};
  });
  MESSAGE("sequential: ", got / 82e9);
  // Refresh alone leaves 1 - 419/3904 = 89.3 %.
  CHECK(got / 82e9 > 0.87);
  CHECK(got / 82e9 < 0.894);
}

TEST_CASE("dram preset: random reads of 64 bytes are bound by activates") {
  PresetBench bench;
  // A channel activates at most 4 rows in tFAW = 40 ns: 4 x 64 B / 40 ns = 6.4 GB/s, 64 GB/s in
  // all; with 8 banks of tRC = 60 ns at most 8 x 64 B / 60 ns = 8.5 GB/s. Random banks collide,
  // channels load unevenly, refresh takes 10.7 %.
  const double got = rate(bench, 4, 64, 64, 20'000, [](std::size_t i, std::uint64_t n) {
    return Load::Asked{base + random_number(n * 4 + i) % (20'000'000'000 / 64) * 64, false};
  });
  MESSAGE("random 64 B: ", got / 82e9);
  CHECK(got < 64e9 * (1 - 419.0 / 3904));
  CHECK(got > 0.3 * 64e9);
  CHECK(bench.stat("dram.row_hits") < 1.1 * 80'000);  // the second access of each
}

namespace {

/// Streams of 4 KiB in different places of the memory, 8 under way each.
void check_shared(std::size_t initiators) {
  PresetBench bench;
  Load load(bench, initiators, 8, 4096, 5'000, [](std::size_t i, std::uint64_t n) {
    return Load::Asked{base + i * (5'000'000'000 / 4096 * 4096) + n * 4096, false};
  });
  sc_core::sc_start();
  const double got =
      static_cast<double>(initiators * 5'000 * 4096) / (static_cast<double>(now_ps()) * 1e-12);
  MESSAGE(initiators, " streams: ", got / 82e9);
  CHECK(got / 82e9 > 0.88);  // of the 89.3 % that one has
  for (const std::uint64_t end : load.end_of) {
    CHECK(static_cast<double>(end) > 0.98 * static_cast<double>(now_ps()));
  }
}

}  // namespace

TEST_CASE("dram preset: two initiators share evenly and lose nothing") { check_shared(2); }

TEST_CASE("dram preset: four initiators share evenly and lose nothing") { check_shared(4); }

TEST_CASE("dram banked: inline ECC takes capacity and accesses") {
  DramBench bench;
  bench.set("dram.ecc", "inline");
  bench.set("dram.interleave", "256");
  bench.build();
  // 7 of 8 bytes are data: 1792 of a row's 2048.
  CHECK(bench.dram->size() == 1073741824 / 8 * 7);
  // Reading a row's 1792 B: 56 accesses, and 8 for their check bytes: 38 + 64 * 4.
  CHECK(read_time(bench.port(), base, 1792) == 38'000 + 256'000);
  // 64 B written: 2 accesses, the check bytes read and written: 4 accesses. Closed bank 1.
  CHECK(write_time(bench.port(), base + 1792, 64, 1'000'000) == 1'028'000 + 16'000);
}

TEST_CASE("dram banked: any number of channels and banks, odd sizes") {
  for (const char* channels : {"1", "3", "16"}) {
    for (const char* banks : {"1", "5", "8"}) {
      test::Bench bench;
      bench.set("dram.channels", channels);
      bench.set("dram.banks", banks);
      bench.set("dram.capacity", "1048583");
      BankedDram dram(bench.scope.child("dram"), DramParams(bench.scope.child("dram")));
      std::uint64_t last = 0;
      for (std::uint64_t at = 0; at < 1048583; at += 65537) {
        last = dram.serve(0, 0, at, std::min<Bytes>(65537, 1048583 - at), at % 2 == 0);
      }
      // No faster than the peak.
      CHECK(static_cast<double>(last) > 1048583 / 82e9 * 1e12);
    }
  }
}

TEST_CASE("dram banked: what cannot be is refused") {
  const auto refused = [](const std::string& key, const std::string& value, const char* word) {
    test::Bench bench;
    bench.set("dram." + key, value);
    CHECK_THROWS_WITH_AS(Dram("dram", bench.scope.child("dram"), base), doctest::Contains(word),
                         ConfigError);
  };
  refused("mapping", "row:bank:channel", "once each");
  refused("mapping", "row:bank:column:chanel", "once each");
  refused("mapping", "bank:column:channel:row", "before the column");
  refused("interleave", "4096", "a row has room");
  refused("interleave", "48", "multiple of access_bytes");
  refused("timing.t_rfc", "4 us", "t_refi");
}

TEST_CASE("dram banked: two runs are alike, and functional and timing runs") {
  // Modes differ in nothing that the memory sees: the same calls.
  std::vector<std::int64_t> times[2];
  for (auto& run : times) {
    test::Bench bench;
    BankedDram dram(bench.scope.child("dram"), DramParams(bench.scope.child("dram")));
    for (std::uint64_t n = 0; n < 1000; ++n) {
      run.push_back(static_cast<std::int64_t>(dram.serve(
          n * 100'000, n * 100'000, random_number(n) % 19'000'000'000, 4096, n % 3 == 0)));
    }
  }
  CHECK(times[0] == times[1]);
}
