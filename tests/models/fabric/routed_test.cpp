// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "models/base/address.h"
#include "models/fabric/noc.h"
#include "models/fabric/topology.h"
#include "tests/models/fabric/bench.h"

using namespace steppe;
using test::read_time;
using test::write_time;

namespace {

/// Nodes that are each an initiator and an instant memory. 4096 B take 20 ns on a port or a link, a
/// hop takes 20 ns.
struct NodesBench : test::Bench {
  std::unique_ptr<Noc> noc;
  std::vector<std::unique_ptr<test::Initiator>> ports;
  std::vector<std::unique_ptr<Sram>> slices;

  void build(const std::string& topology, unsigned nodes, const std::string& fidelity = "routed") {
    set("noc.topology", topology);
    set("noc.fidelity", fidelity);
    noc = std::make_unique<Noc>("noc", scope.child("noc"), 0);
    for (unsigned i = 0; i < nodes; ++i) {
      const std::string number = std::to_string(i);
      make_instant("sram" + number);
      ports.push_back(std::make_unique<test::Initiator>(("port" + number).c_str()));
      slices.push_back(std::make_unique<Sram>(("sram" + number).c_str(),
                                              scope.child("sram" + number), address::sram_of(i)));
      const Noc::Port port = noc->add_port("node" + number);
      noc->add_initiator(port);
      ports.back()->socket.bind(noc->from);
      noc->add_target(port, address::sram_of(i), slices.back()->size());
      noc->to.bind(slices.back()->socket);
    }
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
  std::int64_t write(unsigned from, unsigned to) {
    return write_time(*ports[from], address::sram_of(to), 4096);
  }
  std::int64_t read(unsigned by, unsigned from) {
    return read_time(*ports[by], address::sram_of(from), 4096);
  }
};

std::vector<std::uint32_t> way(const Topology& topology, std::uint32_t from, std::uint32_t to) {
  std::vector<std::uint32_t> nodes{from};
  for (const std::uint32_t link : topology.route(from, to)) {
    CHECK(topology.links()[link].from == nodes.back());
    nodes.push_back(topology.links()[link].to);
  }
  return nodes;
}

}  // namespace

TEST_CASE("topology: the shorter way round a ring, clockwise between equals") {
  const Topology ring("ring", 6, 0);
  CHECK(way(ring, 0, 2) == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(way(ring, 1, 5) == std::vector<std::uint32_t>{1, 0, 5});
  CHECK(way(ring, 1, 4) == std::vector<std::uint32_t>{1, 2, 3, 4});
  CHECK(ring.links().size() == 12);
  CHECK(ring.hops(3, 3) == 1);
}

TEST_CASE("topology: along the row, then along the column of a mesh") {
  // 0 1 2
  // 3 4 5
  // 6 7
  const Topology mesh("mesh", 8, 3);
  CHECK(way(mesh, 0, 5) == std::vector<std::uint32_t>{0, 1, 2, 5});
  CHECK(way(mesh, 7, 0) == std::vector<std::uint32_t>{7, 6, 3, 0});
  // Row 2 ends before column 2: as far as it goes, then up, then on.
  CHECK(way(mesh, 6, 2) == std::vector<std::uint32_t>{6, 7, 4, 5, 2});
  CHECK(way(mesh, 2, 7) == std::vector<std::uint32_t>{2, 1, 4, 7});
}

TEST_CASE("topology: every node reaches every other, for any number and width") {
  for (const char* kind : {"ring", "mesh"}) {
    for (std::uint32_t nodes = 1; nodes <= 17; ++nodes) {
      for (std::uint32_t columns = 0; columns <= nodes + 1; ++columns) {
        const Topology topology(kind, nodes, columns);
        for (std::uint32_t a = 0; a < nodes; ++a) {
          for (std::uint32_t b = 0; b < nodes; ++b) REQUIRE(way(topology, a, b).back() == b);
        }
      }
    }
  }
}

TEST_CASE("noc routed: hop by hop, the link that is shared decides") {
  // The worked example of models/fabric/README.md: a ring of 6.
  NodesBench bench;
  bench.build("ring", 6);
  // 0 to 2: leaves at 0; link 0-1 0..20, link 1-2 20..40; the head arrives at 40, the tail at 60.
  CHECK(bench.write(0, 2) == 60'000);
  // 1 to 2: link 1-2 is free until 20: 0..20, arrives at 40. But port 2 takes the first write's
  // bytes 40..60, these want it from 20 on: 20..40 is free.
  CHECK(bench.write(1, 2) == 40'000);
  // 1 to 3: link 1-2 is taken 0..40: 40..60; link 2-3 60..80; the tail arrives at 100.
  CHECK(bench.write(1, 3) == 100'000);
  // 5 to 4, the other way round: nothing in the way.
  CHECK(bench.write(5, 4) == 40'000);
  CHECK(bench.stat("noc.link_1_2.bytes") == 3 * 4096);
  CHECK(bench.stat("noc.link_1_2.waiting") == 40'000);
  CHECK(bench.stat("noc.link_1_2.peak_bandwidth") == 204.8e9);
}

TEST_CASE("noc routed: data of a read travel back hop by hop") {
  NodesBench bench;
  bench.build("mesh", 9);
  // 0 reads from 8: 4 hops there, 20 ns of data, 4 hops back. Back along row 2, then column 0.
  CHECK(bench.read(0, 8) == 80'000 + 20'000 + 80'000);
  CHECK(bench.stat("noc.link_8_7.bytes") == 4096);
  CHECK(bench.stat("noc.link_3_0.bytes") == 4096);
}

TEST_CASE("noc ideal: a topology gives the hops alone") {
  NodesBench bench;
  bench.build("ring", 6, "ideal");
  CHECK(bench.write(0, 3) == 3 * 20'000 + 20'000);
  CHECK(bench.write(1, 4) == 3 * 20'000 + 20'000);  // links 1-2, 2-3 are no matter
}

TEST_CASE("noc routed: two and four initiators share a link evenly and lose nothing") {
  for (const unsigned initiators : {2U, 4U}) {
    // One process of the test can build one network; the rest is arithmetic on one link.
    test::Bench bench;
    Occupancy link(bench.scope, "link" + std::to_string(initiators) + ".");
    std::vector<std::uint64_t> done(initiators, 0);
    std::vector<std::uint64_t> bytes(initiators, 0);
    // Each asks for its next 4 KiB (20 ns) when its last is there, for 10 us.
    for (bool all_done = false; !all_done;) {
      all_done = true;
      const auto next = std::ranges::min_element(done);
      if (*next >= 10'000'000) continue;
      all_done = false;
      const std::uint64_t now = *next;
      *next = link.fill(now, now, 20'000, 4096).end;
      bytes[static_cast<std::size_t>(next - done.begin())] += 4096;
    }
    for (const std::uint64_t of_one : bytes) {
      CHECK(std::abs(double(of_one) - 10'000'000 / 20'000 * 4096.0 / initiators) <= 4096);
    }
    CHECK(link.busy_ps() >= 10'000'000);
  }
}

TEST_CASE("noc, routed: a write to several slices takes every link of its tree once") {
  NodesBench bench;
  bench.build("ring", 4);
  // From node 0: 0 itself, 1 one hop, 2 two hops over 1 (the lower of two ways as long). The last
  // byte is at node 2 after two hops and its 20 ns on the way.
  CHECK(write_time(*bench.ports[0], address::sram_of_first(3), 4096) == 20'000 + 2 * 20'000);
  CHECK(bench.stat("noc.link_0_1.bytes") == 4096);
  CHECK(bench.stat("noc.link_1_2.bytes") == 4096);
  CHECK(bench.stat("noc.node0.in.bytes") == 4096);
}
