// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

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

TEST_CASE("pcie link: a generation that does not exist is refused") {
  test::Bench bench;
  bench.set("link.generation", "6");
  CHECK_THROWS_AS(PcieLink("link", bench.scope.child("link")), ConfigError);
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
