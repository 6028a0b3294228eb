// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/platform/test_host.h"

using namespace steppe;
using namespace steppe::test;
namespace reg = steppe::control;

namespace {

enum : std::uint32_t { load0 = 0, store0 = 1, vector0 = 3, send = 16, receive = 17 };
constexpr std::uint64_t input = TestHost::data;
constexpr std::uint64_t output = TestHost::data + 0x1000;

/// Chip 0 brings 4 KiB in and sends it to chip 2's SRAM, with a notification to semaphore 40 there;
/// chip 2 gives it to the host. Returns the time from the first doorbell to chip 2's completion, in
/// ps.
std::uint64_t send_to_peer(CardBench& bench) {
  TestHost& host = *bench.host;
  host.start(0);
  host.start(2);
  // on_chip(2, sram) and on_chip(2, semaphores + 4 * 40).
  host.load_program(0, 1,
                    {{load0, "copy src=b2 dst=0x100000000 row_bytes=4096 rows=1 signal 1\nend\n"},
                     {send,
                      "setbase reg=5 value=0x30100000000\n"
                      "copy src=0x100000000 dst=b5 row_bytes=4096 rows=1 wait 1\n"
                      "setbase reg=5 value=0x30010001000\n"
                      "notify dst=b5+0xa0 value=1\nend\n"}});
  host.load_program(2, 1,
                    {{receive, "sync wait 40 signal 2\nend\n"},
                     {store0, "copy src=0x100000000 dst=b3 row_bytes=4096 rows=1 wait 2\nend\n"}});
  for (std::uint32_t i = 0; i < 4096; ++i)
    *host.memory(input + i) = static_cast<std::uint8_t>(i * 7);
  const std::uint64_t begin = now_ps();
  host.submit(2, reg::OP_RUN, {1, host.address(input), host.address(output)});
  host.submit(0, reg::OP_RUN, {1, host.address(input), host.address(output)});
  CHECK(host.wait(0).status == reg::STATUS_OK);
  CHECK(host.wait(2).status == reg::STATUS_OK);
  return now_ps() - begin;
}

/// Sends on two cards in one simulation; the time of each in ps.
std::array<std::uint64_t, 2> send_at_once(CardBench& a, CardBench& b) {
  a.build();
  b.build();
  std::array<std::uint64_t, 2> took{};
  sc_core::sc_spawn([&] { took[0] = send_to_peer(a); });
  sc_core::sc_spawn([&] { took[1] = send_to_peer(b); });
  sc_core::sc_start();
  CHECK(took[0] > 0);
  CHECK(took[1] > 0);
  return took;
}

void check_values(CardBench& bench) {
  for (std::uint32_t i = 0; i < 4096; ++i) {
    CHECK(*bench.host->memory(output + i) == static_cast<std::uint8_t>(i * 7));
  }
}

}  // namespace

TEST_CASE("s30: what one chip sends reaches another through the switch") {
  CardBench bench("s30");
  bench.build();
  bench.host->run([&] { send_to_peer(bench); });
  check_values(bench);
  // 4096 B in 16 packets of 24 B more, and two notifications' worth of 4 + 24 (time and value).
  CHECK(bench.stat("card.chip0.pcie.upstream.bytes") >= 4096);
  CHECK(bench.stat("card.chip2.pcie.downstream.bytes") >= 4096);
  CHECK(bench.stat("card.chip2.link_receive.queue.stall_remote") > 0);
  CHECK(bench.stat("card.chip1.pcie.downstream.bytes") == 0);
}

TEST_CASE("s30l: the same goes over the direct link, and is there sooner") {
  CardBench bench("s30l");
  bench.build();
  bench.host->run([&] { send_to_peer(bench); });
  check_values(bench);
  CHECK(bench.stat("card.link02.downstream.bytes") >= 4096);
  CHECK(bench.stat("card.link02.upstream.bytes") == 0);
  CHECK(bench.stat("card.link01.downstream.bytes") == 0);
  CHECK(bench.stat("card.link12.downstream.bytes") == 0);
}

TEST_CASE("functional and timing mode agree on every statistic, and in timing mode no data move") {
  CardBench functional("s30", Mode::functional, "functional");
  CardBench timing("s30", Mode::timing, "timing");
  const auto took = send_at_once(functional, timing);
  CHECK(took[0] == took[1]);
  CHECK(functional.context.stats.snapshot() == timing.context.stats.snapshot());
  check_values(functional);
  for (std::uint32_t i = 0; i < 4096; ++i) CHECK(*timing.host->memory(output + i) == 0);
}

TEST_CASE("a direct link is faster than the way through the switch") {
  CardBench direct("s30l", Mode::functional, "direct");
  CardBench switched("s30", Mode::functional, "switched");
  // Through the switch a write takes two links of 250 ns and 110 ns for the switch, directly 100
  // ns: data and notification one after the other save 510 ns each, and the link's 50 GB/s
  // against 14.4 save some 200 ns.
  const auto took = send_at_once(direct, switched);
  CHECK(took[1] - took[0] > 1'000'000);
  CHECK(took[1] - took[0] < 1'400'000);
}

TEST_CASE(
    "each access of the host's reaches its chip, and a chip that is not there answers with an "
    "error") {
  CardBench bench("s10");
  bench.build();
  TestHost& host = *bench.host;
  host.run([&] {
    for (std::uint32_t chip = 0; chip < 2; ++chip) {
      CHECK(host.read(chip, reg::CHIP_ID) == chip);
      for (const std::uint64_t at : {address::dram + 0x1000, address::sram_of(3) + 0x40}) {
        const std::uint64_t sent = at * 3 + chip;
        std::uint64_t got = 0;
        sc_core::sc_time delay;
        CHECK(host.mmio.write(address::on_chip(chip, at), &sent, sizeof sent, delay));
        CHECK(host.mmio.read(address::on_chip(chip, at), &got, sizeof got, delay));
        CHECK(got == sent);
      }
    }
    std::uint32_t value = 0;
    sc_core::sc_time delay;
    CHECK(!host.mmio.read(address::on_chip(2, address::control), &value, 4, delay));
    CHECK(!host.mmio.read(address::on_chip(0, address::control + 0x3c), &value, 4, delay));
    CHECK(!host.mmio.read(address::on_chip(0, address::sram_of(4)), &value, 4, delay));
  });
}

TEST_CASE("the clusters' copies within their slice leave the network alone") {
  CardBench bench("s4");
  bench.build();
  TestHost& host = *bench.host;
  host.run([&] {
    host.start(0);
    host.load_program(
        0, 1, {{load0, "copy src=0x100000000 dst=0x100010000 row_bytes=65536 rows=1\nend\n"}});
    const double before = bench.stat("card.chip0.noc.cluster0.out.bytes");
    CHECK(host.command(0, reg::OP_RUN, {1, 0, 0}).status == reg::STATUS_OK);
    // The stream alone: copy is 16 + 32, end 16.
    CHECK(bench.stat("card.chip0.noc.cluster0.out.bytes") - before == 64);
    CHECK(bench.stat("card.chip0.cluster0.sram.bytes") == 2 * 65536);
  });
}

TEST_CASE("a deadlock names who waits for whom") {
  CardBench bench("s30");
  bench.context.describe_tag = [](std::uint32_t, std::uint32_t tag) {
    return tag == 7 ? std::string("conv1") : std::string("relu1");
  };
  bench.build();
  TestHost& host = *bench.host;
  host.run([&] {
    host.start(0);
    host.start(1);
    host.load_program(0, 1,
                      {{load0, "sync wait 2 tag 7\nsync signal 1\nend\n"},
                       {vector0, "sync wait 1*2 tag 8\nsync signal 2 tag 8\nend\n"},
                       {receive, "sync wait 30\nend\n"}});
    host.load_program(1, 1, {{send, "sync wait 9\nnotify dst=b5+0x78 value=1\nend\n"}});
    bench.server->chips()[1]->link_send_queue.base[5] = address::on_chip(0, address::semaphores);
    host.submit(0, reg::OP_RUN, {1, 0, 0});
    host.submit(1, reg::OP_RUN, {1, 0, 0});
    sc_core::wait(100, sc_core::SC_US);
  });
  CHECK(bench.server->deadlock_report() ==
        "card.chip1.link_send.queue waits at offset 0x0 for 1 token(s) of semaphore 9, which holds "
        "0\n"
        "  nothing that is left to run signals it\n"
        "card.chip0.cluster0.load.queue waits at offset 0x0 of layer 'conv1' for 1 token(s) of "
        "semaphore 2, "
        "which holds 0\n"
        "  card.chip0.cluster0.vector.queue would signal it at offset 0x10 of layer 'relu1'\n"
        "card.chip0.cluster0.vector.queue waits at offset 0x0 of layer 'relu1' for 2 token(s) of "
        "semaphore 1, "
        "which holds 0\n"
        "  card.chip0.cluster0.load.queue would signal it at offset 0x10\n"
        "card.chip0.link_receive.queue waits at offset 0x0 for 1 token(s) of semaphore 30, which "
        "holds 0\n"
        "  card.chip1.link_send.queue would signal it at offset 0x10\n");
}

TEST_CASE("nobody waits: the report says so") {
  CardBench bench("s4");
  bench.build();
  bench.host->run([&] { bench.host->start(0); });
  CHECK(bench.server->deadlock_report() == "no queue waits for a semaphore\n");
}
