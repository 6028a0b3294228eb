// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/platform/test_host.h"

using namespace steppe;
using namespace steppe::test;
namespace reg = steppe::control;

namespace {

constexpr std::uint64_t input = TestHost::data;
constexpr std::uint64_t output = TestHost::data + 0x1000;
constexpr std::uint64_t far_dram = address::dram + (std::uint64_t{1} << 38);

}  // namespace

TEST_CASE("firmware says when it is ready, and sleeps otherwise") {
  CardBench bench("s4");
  bench.build();
  TestHost& host = *bench.host;
  double asleep = 0;
  host.run([&] {
    CHECK(host.read(0, reg::READY) == 0);
    host.start(0);
    asleep = bench.stat("card.chip0.core.instructions");
    sc_core::wait(1, sc_core::SC_MS);
    CHECK(bench.stat("card.chip0.core.instructions") == asleep);
  });
}

TEST_CASE("commands are executed in order, and the rings wrap") {
  CardBench bench("s4");
  bench.build();
  TestHost& host = *bench.host;
  host.run([&] {
    host.start(0);
    // Four entries at once, eleven times over rings of four, with one copied on by the next.
    for (std::uint8_t round = 0; round < 11; ++round) {
      *host.memory(input) = round;
      std::array<std::uint32_t, 4> ids{};
      ids[0] = host.submit(0, reg::OP_COPY, {host.address(input), address::dram, 1}, false);
      for (std::uint32_t i = 1; i < 3; ++i) {
        ids[i] = host.submit(0, reg::OP_COPY, {address::dram + i - 1, address::dram + i, 1}, false);
      }
      ids[3] = host.submit(0, reg::OP_COPY, {address::dram + 2, host.address(output), 1}, false);
      host.ring_doorbell(0);
      for (const std::uint32_t id : ids) {
        const Completion done = host.wait(0);
        CHECK(done.command_id == id);
        CHECK(done.status == reg::STATUS_OK);
      }
      CHECK(*host.memory(output) == round);
    }
  });
  CHECK(host.messages(0) == 44);
}

TEST_CASE("a ring of completions that is full holds firmware until the host has read") {
  CardBench bench("s4");
  bench.build();
  TestHost& host = *bench.host;
  host.run([&] {
    host.start(0);
    const std::array<std::uint64_t, 5> copy{host.address(input), address::dram, 1};
    for (int i = 0; i < 4; ++i) host.submit(0, reg::OP_COPY, copy);
    sc_core::wait(100, sc_core::SC_US);
    CHECK(host.messages(0) == 4);
    // The ring of submissions has been read: four more, for whose completions there is no room.
    for (std::uint32_t tail = 5; tail <= 8; ++tail) host.write(0, reg::SQ_TAIL, tail);
    sc_core::wait(100, sc_core::SC_US);
    CHECK(host.messages(0) == 4);
    CHECK(host.wait(0).sequence == 1);
    sc_core::wait(100, sc_core::SC_US);
    CHECK(host.messages(0) == 5);
  });
}

TEST_CASE("bad commands complete with their status, and firmware goes on") {
  CardBench bench("s4");
  bench.build();
  TestHost& host = *bench.host;
  host.run([&] {
    host.start(0);
    const auto status = [&](std::uint32_t opcode, std::array<std::uint64_t, 5> args) {
      return host.command(0, opcode, args).status;
    };
    struct Entry {
      std::uint32_t queue, bytes;
      std::uint64_t address;
    };
    const auto table = [&](Entry entry) { std::memcpy(host.memory(input), &entry, sizeof entry); };
    CHECK(status(0, {}) == reg::STATUS_BAD_COMMAND);
    CHECK(status(77, {}) == reg::STATUS_BAD_COMMAND);
    CHECK(status(reg::OP_COPY, {host.address(input), far_dram, 4}) == reg::STATUS_BAD_ADDRESS);
    CHECK(status(reg::OP_COPY, {address::on_chip(3, address::dram), address::dram, 4}) ==
          reg::STATUS_BAD_ADDRESS);
    CHECK(status(reg::OP_COPY, {host.address(std::uint64_t{1} << 40), address::dram, 4}) ==
          reg::STATUS_BAD_ADDRESS);
    CHECK(status(reg::OP_RUN, {2}) == reg::STATUS_BAD_COMMAND);  // no such slot
    CHECK(status(reg::OP_RUN, {0}) == reg::STATUS_OK);           // a program of nothing
    table({0, 16, address::dram});
    CHECK(status(reg::OP_LOAD_PROGRAM, {host.address(input), 1, 2}) == reg::STATUS_BAD_COMMAND);
    CHECK(status(reg::OP_LOAD_PROGRAM, {host.address(input), 513, 0}) == reg::STATUS_BAD_COMMAND);
    CHECK(status(reg::OP_LOAD_PROGRAM, {far_dram, 1, 0}) == reg::STATUS_BAD_ADDRESS);
    table({18, 16, address::dram});  // 4 clusters of 4, 2 link queues: 0 to 17
    CHECK(status(reg::OP_LOAD_PROGRAM, {host.address(input), 1, 0}) == reg::STATUS_BAD_COMMAND);
    table({17, 0, address::dram});
    CHECK(status(reg::OP_LOAD_PROGRAM, {host.address(input), 1, 0}) == reg::STATUS_BAD_COMMAND);
    table({17, 16, address::dram});  // sixteen zeros are `end`
    CHECK(status(reg::OP_LOAD_PROGRAM, {host.address(input), 1, 0}) == reg::STATUS_OK);
    CHECK(host.read(0, reg::READY) == 1);
  });
}

TEST_CASE("a fault ends the run on all queues, is reported, and the next run is clean") {
  CardBench bench("s4");
  bench.build();
  TestHost& host = *bench.host;
  host.run([&] {
    host.start(0);
    // Vector of cluster 1 reads outside its SRAM; a copy of 1 MB, which signals 5 at its end, is
    // under way then, and tensor waits for what never comes.
    host.load_program(0, 0,
                      {{7,
                        "sync\nlut in=0x100000000 out=0x110000000 table=0x110001000 rows=1 "
                        "elements=64 tag 33\nend\n"},
                       {0, "copy src=b1 dst=0x100000000 row_bytes=1000000 rows=1 signal 5\nend\n"},
                       {2, "sync wait 6\nend\n"}});
    host.load_program(0, 1, {{2, "sync wait 5\nend\n"}, {0, "sync signal 5\nend\n"}});
    const Completion fault = host.command(0, reg::OP_RUN, {0, 0, 0});
    CHECK(fault.status == reg::STATUS_QUEUE_FAULT);
    CHECK(fault.fault_queue == 7);
    CHECK(fault.fault_code == static_cast<std::uint32_t>(FaultCode::bad_address));
    CHECK(fault.fault_tag == 33);
    CHECK(fault.fault_address == 0x1'0000'0000);
    CHECK(host.read(0, reg::QUEUES_RUNNING) == 0);
    // What the copy signalled while it was stopped is gone.
    CHECK(bench.server->chips()[0]->semaphores.tokens(5) == 0);
    const Completion good = host.command(0, reg::OP_RUN, {1, 0, 0});
    CHECK(good.status == reg::STATUS_OK);
    CHECK(good.fault_code == 0);
    CHECK(bench.server->chips()[0]->semaphores.tokens(5) == 0);
  });
}

TEST_CASE("in timing mode a segment without contents takes the time that it would take with them") {
  CardBench bench("s4", Mode::timing);
  bench.build();
  TestHost& host = *bench.host;
  host.run([&] {
    host.start(0);
    const std::uint64_t begin = now_ps();
    CHECK(host.command(0, reg::OP_COPY,
                       {host.address(TestHost::sizes_only), address::dram, 400'000'000})
              .status == reg::STATUS_OK);
    // 15.754 GB/s on the wire, of which 256 of 280 bytes are payload: 14.404 GB/s.
    const double ideal = 400e6 / 14.404e9 * 1e12;
    const auto took = static_cast<double>(now_ps() - begin);
    CHECK(took > ideal);
    CHECK(took < 1.01 * ideal);
  });
}

TEST_CASE("a run costs firmware little") {
  CardBench bench("s4");
  bench.build();
  TestHost& host = *bench.host;
  host.run([&] {
    host.start(0);
    host.load_program(0, 1, {{0, "end\n"}, {1, "end\n"}, {2, "end\n"}, {3, "end\n"}});
    CHECK(host.command(0, reg::OP_RUN, {1, 0, 0}).status == reg::STATUS_OK);
    const double before = bench.stat("card.chip0.core.bus_accesses");
    CHECK(host.command(0, reg::OP_RUN, {1, 0, 0}).status == reg::STATUS_OK);
    // Fetching the entry, two base registers, start, waits, completion, message, doorbell.
    CHECK(bench.stat("card.chip0.core.bus_accesses") - before < 70);
  });
}
