// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/models/control/bench.h"

using namespace steppe;
using namespace steppe::test;
namespace reg = steppe::control;

TEST_CASE("what the chip is can be read and not written") {
  ControlBench bench;
  bench.build();
  CHECK(bench.read(reg::CHIP_ID) == 2);
  CHECK(bench.read(reg::CLUSTERS) == 3);
  CHECK(bench.read(reg::QUEUES) == 2);
  CHECK(!bench.try_write(reg::CHIP_ID, 7));
  CHECK(bench.read(reg::CHIP_ID) == 2);
}

TEST_CASE("each register keeps to its access, and nothing else answers") {
  ControlBench bench;
  bench.build();
  struct Row {
    const char* name;
    std::uint32_t offset;
    control::Access access;
  };
  using control::Access;
#define STEPPE_ROW(name, offset, access, doc) {#name, offset, Access::access},
  constexpr Row rows[] = {STEPPE_CONTROL_REGISTERS(STEPPE_ROW)};
  constexpr Row queue_rows[] = {STEPPE_QUEUE_REGISTERS(STEPPE_ROW)};
#undef STEPPE_ROW
  std::vector<bool> known(reg::QUEUE_REGISTERS / 4, false);
  for (const Row& row : rows) {
    INFO(row.name);
    known[row.offset / 4] = true;
    CHECK(bench.try_read(row.offset) == (row.access != Access::wo));
    CHECK(bench.try_write(row.offset, 0) == (row.access != Access::ro));
  }
  for (const Row& row : queue_rows) {
    INFO(row.name);
    CHECK(bench.try_read(bench.queue(1, row.offset)) == (row.offset != reg::queue::CONTROL));
    CHECK(bench.try_write(bench.queue(1, row.offset), 0) == (row.access != Access::ro));
  }
  for (std::uint32_t offset = 0; offset < reg::SEMAPHORE; offset += 4) {
    if (known[offset / 4]) continue;
    INFO(offset);
    CHECK(!bench.try_read(offset));
    CHECK(!bench.try_write(offset, 0));
  }
  CHECK(!bench.try_write(reg::SEMAPHORE + 4 * 1023, 1));
  CHECK(!bench.try_read(bench.queue(2, 0)));
  CHECK(!bench.try_write(bench.queue(1, reg::queue::BASE + 128), 0));
  CHECK(!bench.try_read(reg::CONTROL_BYTES));
  CHECK(!bench.try_write(reg::READY + 1, 0));
  CHECK(!bench.try_write(reg::READY, 0, 2));
  CHECK(!bench.try_read(reg::SQ_BASE_LO, 8));
}

TEST_CASE("plain registers keep what is written, each its own") {
  ControlBench bench;
  bench.build();
  const std::uint32_t plain[] = {reg::READY,      reg::SQ_BASE_LO, reg::SQ_BASE_HI,
                                 reg::SQ_ENTRIES, reg::CQ_BASE_LO, reg::CQ_BASE_HI,
                                 reg::CQ_ENTRIES, reg::MSIX_DATA,  reg::DMA_SRC_LO,
                                 reg::DMA_DST_HI, reg::IRQ_ENABLE, reg::BROADCAST_BASE_INDEX};
  for (const std::uint32_t offset : plain) bench.write(offset, 0x1000'0000 + offset);
  for (const std::uint32_t offset : plain) CHECK(bench.read(offset) == 0x1000'0000 + offset);
}

TEST_CASE("a register access takes its latency") {
  ControlBench bench;
  bench.set("control.access_latency", "13e-9");
  bench.build();
  std::uint32_t value = 0;
  sc_core::sc_time delay(4, sc_core::SC_NS);
  CHECK(bench.cpu.read(address::control + reg::QUEUES, &value, 4, delay));
  CHECK(delay == sc_core::sc_time(17, sc_core::SC_NS));
}

TEST_CASE("a doorbell interrupts while it is enabled, until it is cleared") {
  ControlBench bench;
  bench.build();
  bench.write(reg::SQ_TAIL, 5);
  CHECK(bench.read(reg::SQ_TAIL) == 5);
  CHECK(bench.read(reg::IRQ_PENDING) == reg::IRQ_DOORBELL);
  CHECK(!bench.line);
  bench.write(reg::IRQ_ENABLE, reg::IRQ_DOORBELL);
  CHECK(bench.line);
  bench.write(reg::IRQ_PENDING, reg::IRQ_DMA);  // clears another
  CHECK(bench.line);
  bench.write(reg::IRQ_PENDING, reg::IRQ_DOORBELL);
  CHECK(bench.read(reg::IRQ_PENDING) == 0);
  CHECK(!bench.line);
  bench.write(reg::CQ_HEAD, 1);
  CHECK(bench.line);
  bench.write(reg::IRQ_ENABLE, 0);
  CHECK(!bench.line);
  CHECK(bench.stat("control.doorbells") == 2);
}

TEST_CASE("base registers of queues: one by one and all at once") {
  ControlBench bench;
  bench.build();
  CHECK(bench.queues[0]->base[0] == 0);
  CHECK(bench.queues[0]->base[reg::BASE_DRAM] == address::dram);
  bench.write(bench.queue(1, reg::queue::BASE + 8 * 7), 0x11);
  bench.write(bench.queue(1, reg::queue::BASE + 8 * 7 + 4), 0x22);
  CHECK(bench.queues[1]->base[7] == 0x22'0000'0011);
  CHECK(bench.queues[0]->base[7] == 0);
  CHECK(bench.read(bench.queue(1, reg::queue::BASE + 8 * 7 + 4)) == 0x22);
  bench.write(reg::BROADCAST_BASE_INDEX, 3);
  bench.write(reg::BROADCAST_BASE_LO, 0xaabb);
  CHECK(bench.queues[0]->base[3] == 0);  // the high half sets
  bench.write(reg::BROADCAST_BASE_HI, 0x8000'0000);
  for (const auto& queue : bench.queues) CHECK(queue->base[3] == 0x8000'0000'0000'aabb);
}

TEST_CASE("a write to the semaphore window gives tokens from afar, a reset empties all") {
  ControlBench bench;
  bench.build();
  bench.semaphores->give(3, 1, Giver::load);
  bench.write(reg::SEMAPHORE + 4 * 3, 5);
  CHECK(bench.semaphores->tokens(3) == 6);
  CHECK(bench.semaphores->last_giver(3) == Giver::remote);
  bench.write(reg::SEMAPHORE + 4 * 1022, 1);
  CHECK(bench.semaphores->tokens(1022) == 1);
  bench.write(reg::SEMAPHORE_RESET, 1);
  CHECK(bench.semaphores->tokens(3) == 0);
  CHECK(bench.semaphores->tokens(1022) == 0);
}
