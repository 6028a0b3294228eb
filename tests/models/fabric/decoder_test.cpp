// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <memory>

#include "models/base/address.h"
#include "models/fabric/local_decoder.h"
#include "models/fabric/noc.h"
#include "tests/models/fabric/bench.h"

using namespace steppe;
using namespace steppe::test;

namespace {

/// An initiator of chip 1 before its own slice (next door) and a network with DRAM.
struct DecoderBench : Bench {
  static constexpr Bytes slice = 8192;
  std::unique_ptr<LocalDecoder> decoder;
  std::unique_ptr<Sram> sram;
  std::unique_ptr<Dram> dram;
  std::unique_ptr<Noc> noc;
  Initiator initiator{"initiator"};

  DecoderBench() {
    set("sram.size", "8192");
    make_instant("sram");
    decoder = std::make_unique<LocalDecoder>("decoder", 1, address::sram_of(2), slice);
    sram = std::make_unique<Sram>("sram", scope.child("sram"), address::sram_of(2));
    dram = std::make_unique<Dram>("dram", scope.child("dram"), address::dram);
    noc = std::make_unique<Noc>("noc", scope.child("noc"), 1);
    const Noc::Port port = noc->add_port("port");
    noc->add_initiator(port);
    noc->add_target(port, address::dram, dram->size());
    initiator.socket.bind(decoder->from);
    decoder->near.bind(sram->socket);
    decoder->far.bind(noc->from);
    noc->to.bind(dram->socket);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
};

}  // namespace

TEST_CASE("the range next door is reached without the network, in either form of its address") {
  DecoderBench bench;
  const std::uint64_t value = 0x1122334455667788;
  std::uint64_t got = 0;
  sc_core::sc_time delay;
  CHECK(bench.initiator.write(address::on_chip(1, address::sram_of(2)), &value, 8, delay));
  CHECK(bench.initiator.read(address::sram_of(2), &got, 8, delay));
  CHECK(got == value);
  CHECK(bench.stat("sram.bytes") == 16);
  CHECK(bench.stat("noc.port.in.bytes") == 0);
  std::uint8_t* plain = bench.initiator.direct(address::sram_of(2), 8);
  REQUIRE(plain != nullptr);
  CHECK(bench.initiator.direct(address::on_chip(1, address::sram_of(2)) + 4, 4) == plain + 4);
  CHECK(bench.initiator.direct(address::sram_of(2) + DecoderBench::slice - 4, 8) == nullptr);
}

TEST_CASE("all else goes on: other ranges, other chips, the host") {
  DecoderBench bench;
  CHECK(read_time(bench.initiator, address::dram, 64) > 0);
  CHECK(bench.stat("dram.bytes") == 64);
  // Nothing there on this network.
  CHECK(read_time(bench.initiator, address::on_chip(0, address::sram_of(2)), 4) == -1);
  CHECK(read_time(bench.initiator, address::host_bit | address::sram_of(2), 4) == -1);
  CHECK(read_time(bench.initiator, address::sram_of(2) - 1, 1) == -1);
  CHECK(read_time(bench.initiator, address::sram_of(2) + DecoderBench::slice, 1) == -1);
  // Begins next door and leaves it.
  CHECK(read_time(bench.initiator, address::sram_of(2) + DecoderBench::slice - 4, 8) == -1);
}
