// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <memory>

#include "models/base/address.h"
#include "models/base/error.h"
#include "models/fabric/pcie.h"
#include "tests/models/fabric/bench.h"

using namespace steppe;
using test::read_time;
using test::write_time;

namespace {

/// A link with an initiator and an instant memory at each end.
template <typename Link>
struct LinkBench : test::Bench {
  test::Initiator a{"a"};
  test::Initiator b{"b"};
  std::unique_ptr<Link> link;
  std::unique_ptr<Sram> at_a;
  std::unique_ptr<Sram> at_b;

  void build(const std::string& latency_at_b = "0") {
    make_instant("at_a");
    make_instant("at_b");
    set("at_b.latency", latency_at_b);
    link = std::make_unique<Link>("link", scope.child("link"));
    at_a = std::make_unique<Sram>("at_a", scope.child("at_a"), 0);
    at_b = std::make_unique<Sram>("at_b", scope.child("at_b"), 0);
    a.socket.bind(link->a_in);
    b.socket.bind(link->b_in);
    link->a_out.bind(at_a->socket);
    link->b_out.bind(at_b->socket);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
};

}  // namespace

// Generation 3 x16: 16 lanes * 8 GT/s * 128/130 / 8 = 15.7538 GB/s on the wire. 4096 B are 16
// packets of 256 + 24 B, 4480 B, 284.375 ns. A direction takes 250 ns.

TEST_CASE("pcie link: effective bandwidth of generation 3 x16") {
  LinkBench<PcieLink> bench;
  bench.build();
  CHECK(bench.link->wire_bandwidth() == doctest::Approx(15.7538e9).epsilon(1e-5));
  CHECK(bench.link->payload_bandwidth() == doctest::Approx(14.4035e9).epsilon(1e-5));
}

TEST_CASE("pcie link: generation 1 x4 codes 8 bits in 10") {
  LinkBench<PcieLink> bench;
  bench.set("link.generation", "1");
  bench.set("link.lanes", "4");
  bench.build();
  CHECK(bench.link->wire_bandwidth() == doctest::Approx(1e9));  // 4 * 2.5 GT/s * 8/10 / 8
  // 256 + 24 B at 1 B/ns, and 250 ns; a byte more is a packet more.
  CHECK(write_time(bench.a, 0, 256) == 280'000 + 250'000);
  CHECK(write_time(bench.b, 0, 257) == 280'000 + 25'000 + 250'000);
}

TEST_CASE("pcie link: a write takes one latency") {
  LinkBench<PcieLink> bench;
  bench.build();
  CHECK(write_time(bench.a, 0, 4096) == 284'375 + 250'000);
}

TEST_CASE("pcie link: a read takes two latencies, and does not pass the write before it") {
  LinkBench<PcieLink> bench;
  bench.build();
  CHECK(read_time(bench.b, 0, 4096) == 284'375 + 500'000);
  CHECK(write_time(bench.b, 0, 4096) == 12'188 + 284'375 + 250'000);  // behind the requests
  CHECK(read_time(bench.b, 0, 4096) == 12'188 + 284'375 + 284'375 + 500'000);
}

TEST_CASE("pcie link: a slow memory's latency adds to a read, and the wire stays free meanwhile") {
  LinkBench<PcieLink> bench;
  bench.build("1 us");
  // Asked at 250 ns, the memory is done at 1250 ns and 5 ps for its data; 250 ns back.
  CHECK(read_time(bench.a, 0, 4096) == 1'250'005 + 250'000);
  // The data have the wire from 965.63 ns on: two writes the same way pass before.
  CHECK(write_time(bench.b, 0, 4096) == 284'375 + 250'000);
  CHECK(write_time(bench.b, 0, 4096) == 2 * 284'375 + 250'000);
}

TEST_CASE("pcie link: directions are apart, each is shared and loses nothing") {
  LinkBench<PcieLink> bench;
  bench.build();
  for (int i = 1; i <= 8; ++i) {
    CHECK(write_time(bench.a, 0, 4096) == 284'375 * i + 250'000);
    CHECK(write_time(bench.b, 0, 4096) == 284'375 * i + 250'000);
  }
  CHECK(bench.stat("link.downstream.bytes") == 8 * 4096);
  CHECK(bench.stat("link.upstream.bytes") == 8 * 4096);
}

TEST_CASE("pcie link: data of a read travel against it, its requests with it") {
  LinkBench<PcieLink> bench;
  bench.build();
  CHECK(read_time(bench.a, 0, 4096) == 284'375 + 500'000);
  CHECK(bench.stat("link.upstream.busy") == 284'375);
  // 8 requests of 512 B each, 24 B on the wire: 192 B at 15.7538 GB/s are 12.1875 ns.
  CHECK(bench.stat("link.downstream.busy") == 12'188);
  CHECK(bench.stat("link.downstream.bytes") == 0);
  CHECK(write_time(bench.a, 0, 4096) == 12'188 + 284'375 + 250'000);
}

TEST_CASE("pcie link: errors at the far end come back, and direct memory passes") {
  LinkBench<PcieLink> bench;
  bench.build();
  CHECK(read_time(bench.a, address::dram, 64) == -1);
  CHECK(bench.stat("link.upstream.bytes") == 0);
  REQUIRE(bench.a.direct(16, 4) != nullptr);
  CHECK(bench.a.direct(16, 4) != bench.b.direct(16, 4));
}

TEST_CASE("links: what does not exist, or could never send a packet, is refused") {
  const auto refused = [](auto build, const std::string& parameter, const std::string& value) {
    test::Bench bench;
    bench.set("link." + parameter, value);
    CHECK_THROWS_WITH_AS(build(bench), doctest::Contains(("link." + parameter).c_str()),
                         ConfigError);
  };
  const auto pcie = [](test::Bench& bench) { PcieLink link("link", bench.scope.child("link")); };
  const auto chip = [](test::Bench& bench) { ChipLink link("link", bench.scope.child("link")); };
  refused(pcie, "generation", "6");
  refused(pcie, "lanes", "3");
  refused(pcie, "max_payload", "100");
  refused(pcie, "max_read_request", "500");
  refused(pcie, "posted_credits", "64");
  refused(pcie, "completion_credits", "128");
  refused(chip, "credits", "128");
}

TEST_CASE("chip link: bandwidth, latency, both ways at once") {
  LinkBench<ChipLink> bench;
  bench.build();
  // 5000 B at 50 GB/s are 100 ns, and 100 ns latency; the credits (65536 B in 200 ns) do not bind.
  CHECK(write_time(bench.a, 0, 5000) == 200'000);
  CHECK(write_time(bench.b, 0, 5000) == 200'000);
  CHECK(write_time(bench.a, 0, 5000) == 300'000);
  // Data towards a follow b's write, 100..200 ns, and arrive 100 ns later.
  CHECK(read_time(bench.a, 0, 5000) == 300'000);
}

TEST_CASE("chip link: few credits bind it to credits over round trip") {
  LinkBench<ChipLink> bench;
  bench.set("link.credits", "2000");
  bench.build();
  // 2000 B in 200 ns are 10 GB/s: 5000 B take 500 ns.
  CHECK(write_time(bench.a, 0, 5000) == 600'000);
}

TEST_CASE("pcie link: few posted credits bind writes, few completion credits reads") {
  LinkBench<PcieLink> bench;
  bench.set("link.posted_credits", "2048");
  bench.set("link.completion_credits", "1024");
  bench.build();
  // A credit is back after 2 x 250 ns: 2048 B in 500 ns, 4096 B take 1000 ns, and 250 ns to arrive.
  CHECK(write_time(bench.a, 0, 4096) == 1'000'000 + 250'000);
  CHECK(bench.link->payload_bandwidth() == doctest::Approx(2048 / 500e-9));
  CHECK(bench.stat("link.downstream.peak_bandwidth") == doctest::Approx(2048 / 500e-9));
  // The wire itself was busy for the packets alone.
  CHECK(bench.stat("link.downstream.busy") == 284'375);
  // b reads: its data come the same way, with credits of their own: 4096 B at 1024 B in 500 ns.
  CHECK(read_time(bench.b, 0, 4096) == 250'000 + 2'000'000 + 250'000);
}

TEST_CASE("pcie link: tags bound reads to tags x request / round trip") {
  LinkBench<PcieLink> bench;
  bench.set("link.outstanding_reads", "2");
  bench.build();
  // 8 requests of 512 B: the first has its data 500 ns and its own 35.547 ns (284.375 / 8) after it
  // set out. Two at a time: 4 such round trips.
  const std::int64_t end = read_time(bench.a, 0, 4096);
  CHECK(end == doctest::Approx(4 * (500'000 + 284'375 / 8.0)).epsilon(0.001));
  // The next 4096 B take as long again.
  CHECK(read_time(bench.a, 0, 4096) > 2 * end - 1000);
}

TEST_CASE("pcie link: non-posted credits bound the rate of requests") {
  LinkBench<PcieLink> bench;
  bench.set("link.non_posted_credits", "1");
  bench.build();
  // One request each 500 ns: the eighth has its credit used up at 4000 ns, two ways to go.
  CHECK(read_time(bench.a, 0, 4096) == 4'000'000 + 500'000);
}

TEST_CASE("chip link: without bit errors nothing is sent again") {
  LinkBench<ChipLink> bench;
  bench.build();
  for (int i = 0; i < 100; ++i) CHECK(write_time(bench.a, 0, 4096) > 0);
  CHECK(bench.stat("link.retries") == 0);
}

TEST_CASE("chip link: packets with a wrong bit are sent again, as many as chance has it") {
  LinkBench<ChipLink> bench;
  bench.set("link.bit_error_rate", "1e-5");
  bench.build();
  // A packet of 256 B is wrong with p = 1 - (1 - 1e-5)^2048 = 0.020272, and again with p: of n
  // packets n p / (1 - p) are sent again: 160,000 x 0.020692 = 3311, standard deviation 58.
  for (int i = 0; i < 10'000; ++i) CHECK(write_time(bench.a, 0, 4096) > 0);
  const double retries = bench.stat("link.retries");
  CHECK(std::abs(retries - 3311) < 4 * 58);
  // 10,000 x 4096 B at 50 GB/s, and 256 B (5.12 ns) for each retry.
  CHECK(bench.stat("link.downstream.busy") ==
        doctest::Approx(10'000 * 81'920 + retries * 5'120).epsilon(1e-6));
  CHECK(bench.stat("link.downstream.bytes") == 10'000 * 4096);
}

TEST_CASE("chip link: a retry costs its packet and a round trip") {
  LinkBench<ChipLink> bench;
  bench.set("link.bit_error_rate", "1e-5");
  bench.set("link.packet_bytes", "4096");  // wrong with p = 0.279
  bench.build();
  int retried = 0;
  std::uint64_t from = 0;
  for (int i = 0; i < 50; ++i) {
    // Each asked when the wire is free; 4096 B take 81.92 ns, a round trip 200 ns.
    const double before = bench.stat("link.retries");
    const std::int64_t end = write_time(bench.a, 0, 4096, from);
    const auto times = static_cast<std::int64_t>(bench.stat("link.retries") - before);
    CHECK(end - static_cast<std::int64_t>(from) ==
          81'920 * (1 + times) + 100'000 + 200'000 * times);
    retried += times > 0 ? 1 : 0;
    from += 1'000'000;
  }
  CHECK(retried > 0);
  CHECK(retried < 50);
}
