// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/models/control/bench.h"

using namespace steppe;
using namespace steppe::test;
namespace reg = steppe::control;

TEST_CASE("queues start together, and the last to end interrupts") {
  ControlBench bench;
  bench.build();
  bench.run([&] {
    bench.write(reg::IRQ_ENABLE, reg::IRQ_QUEUES_DONE);
    bench.stream(0, 0, "notify value=1000\nend\n");
    bench.stream(1, 4096, "notify value=5000\nend\n");
    bench.write(reg::START_ALL, 1);
    CHECK(bench.read(reg::QUEUES_RUNNING) == 2);
    CHECK(bench.read(bench.queue(0, reg::queue::STATUS)) == 1);
    wait_ns(3000);
    CHECK(bench.read(reg::QUEUES_RUNNING) == 1);
    CHECK(bench.read(bench.queue(0, reg::queue::STATUS)) == 2);
    CHECK(!bench.line);
    wait_ns(3000);
    CHECK(bench.line);
    CHECK(bench.read(reg::IRQ_PENDING) == reg::IRQ_QUEUES_DONE);
    CHECK(bench.read(reg::QUEUES_RUNNING) == 0);
  });
}

TEST_CASE("a queue without a stream stays out of START_ALL, and one starts alone") {
  ControlBench bench;
  bench.build();
  bench.run([&] {
    bench.stream(0, 0, "notify value=100\nend\n");
    bench.stream(1, 4096, "notify value=100\nend\n");
    bench.write(bench.queue(0, reg::queue::STREAM_BYTES), 0);
    bench.write(reg::START_ALL, 1);
    CHECK(bench.read(reg::QUEUES_RUNNING) == 1);
    wait_ns(1000);
    CHECK(bench.read(bench.queue(0, reg::queue::STATUS)) == 0);
    CHECK(bench.read(bench.queue(1, reg::queue::STATUS)) == 2);
    bench.stream(0, 0, "sync wait 1\nend\n");
    bench.write(bench.queue(0, reg::queue::CONTROL), 1);
    wait_ns(1000);
    CHECK(bench.read(reg::QUEUES_RUNNING) == 1);
    bench.write(bench.queue(0, reg::queue::CONTROL), 2);
    wait_ns(1);
    CHECK(bench.read(reg::QUEUES_RUNNING) == 0);
    CHECK(bench.read(bench.queue(0, reg::queue::STATUS)) == 0);
  });
}

TEST_CASE("a fault interrupts and leaves its record, the first of two is named") {
  ControlBench bench;
  bench.build();
  bench.run([&] {
    bench.write(reg::IRQ_ENABLE, reg::IRQ_FAULT);
    bench.stream(0, 0, "notify value=1000\nendloop\nend\n");
    bench.stream(1, 4096, "sync\nnotify value=0xdead tag 12\nend\n");
    bench.write(reg::START_ALL, 1);
    wait_ns(5000);
    CHECK(bench.line);
    CHECK(bench.read(reg::FAULT_QUEUE) == 1);
    CHECK(bench.read(bench.queue(1, reg::queue::STATUS)) == 3);
    CHECK(bench.read(bench.queue(1, reg::queue::FAULT_CODE)) == 2);
    CHECK(bench.read(bench.queue(1, reg::queue::FAULT_OFFSET)) == 16);
    CHECK(bench.read(bench.queue(1, reg::queue::FAULT_TAG)) == 12);
    CHECK(bench.read(bench.queue(1, reg::queue::FAULT_ADDRESS_LO)) == 0x2345'6789);
    CHECK(bench.read(bench.queue(1, reg::queue::FAULT_ADDRESS_HI)) == 1);
    CHECK(bench.read(bench.queue(0, reg::queue::FAULT_CODE)) == 4);
    CHECK(bench.read(reg::QUEUES_RUNNING) == 0);
  });
}

TEST_CASE("the control DMA copies, says when it is done, and reports a wrong address") {
  ControlBench bench;
  bench.build();
  const auto copy = [&](std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
    bench.write(reg::DMA_SRC_LO, static_cast<std::uint32_t>(from));
    bench.write(reg::DMA_SRC_HI, from >> 32);
    bench.write(reg::DMA_DST_LO, static_cast<std::uint32_t>(to));
    bench.write(reg::DMA_DST_HI, to >> 32);
    bench.write(reg::DMA_BYTES_LO, static_cast<std::uint32_t>(bytes));
    bench.write(reg::DMA_BYTES_HI, bytes >> 32);
    bench.write(reg::DMA_START, 1);
  };
  bench.run([&] {
    CHECK(bench.read(reg::DMA_STATUS) == 0);
    std::uint8_t* memory = bench.control->dma_port().direct(address::dram, 1 << 20);
    std::memcpy(memory, "steppe", 6);
    copy(address::dram, address::dram + 0x8000, 6);
    CHECK(bench.read(reg::DMA_STATUS) == 1);
    wait_ns(10'000);
    CHECK(bench.read(reg::DMA_STATUS) == 2);
    CHECK(bench.read(reg::IRQ_PENDING) == reg::IRQ_DMA);
    CHECK(std::memcmp(memory + 0x8000, "steppe", 6) == 0);
    bench.write(reg::IRQ_PENDING, reg::IRQ_DMA);
    copy(address::dram, address::on_chip(2, 0x5000'0000), 6);
    wait_ns(10'000);
    CHECK(bench.read(reg::DMA_STATUS) == 3);
    CHECK(bench.read(reg::IRQ_PENDING) == reg::IRQ_DMA);
    copy(address::dram, address::dram, 0);
    wait_ns(10'000);
    CHECK(bench.read(reg::DMA_STATUS) == 2);
  });
}

TEST_CASE("a message goes to the host, while masked one waits, without an address there is none") {
  ControlBench bench;
  bench.build();
  bench.run([&] {
    bench.write(reg::MSIX_DATA, 0x77);
    bench.write(reg::MSIX_RAISE, 1);
    CHECK(bench.host.messages.empty());
    bench.write(reg::MSIX_ADDRESS_LO, 0x100);
    bench.write(reg::MSIX_ADDRESS_HI, 0x8000'0000);
    bench.write(reg::MSIX_RAISE, 1);
    REQUIRE(bench.host.messages.size() == 1);
    CHECK(bench.host.messages[0].offset == 0x100);
    CHECK(bench.host.messages[0].value == 0x77);
    bench.write(reg::MSIX_MASK, 1);
    bench.write(reg::MSIX_RAISE, 1);
    bench.write(reg::MSIX_RAISE, 1);
    CHECK(bench.host.messages.size() == 1);
    bench.write(reg::MSIX_MASK, 0);
    CHECK(bench.host.messages.size() == 2);
    bench.write(reg::MSIX_MASK, 0);
    CHECK(bench.host.messages.size() == 2);
  });
  CHECK(bench.stat("control.messages") == 2);
}
