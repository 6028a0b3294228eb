// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/models/queue/bench.h"

using namespace steppe;
using namespace steppe::test;
using isa::QueueKind;

TEST_CASE("loops nest and base registers step") {
  QueueBench bench;
  bench.build({QueueKind::load});
  Queue& queue = *bench.queues[0];
  queue.base[5] = 0x1000;
  simulate([&] {
    bench.start(queue,
                "setbase reg=4 value=0x20\n"
                "loop count=3\n"
                "  loop count=2\n"
                "    notify dst=b4+1\n"
                "  endloop\n"
                "  notify dst=b5+2\n"
                "  addbase reg=4 step=0x100\n"
                "  addbase reg=5 step=-16\n"
                "endloop\n"
                "notify dst=b0+3\n"
                "end\n");
    sc_core::wait(1, sc_core::SC_US);
  });
  CHECK(bench.unit.addresses == std::vector<std::uint64_t>{0x21, 0x21, 0x1002, 0x121, 0x121, 0xff2,
                                                           0x221, 0x221, 0xfe2, 3});
  CHECK(queue.base[4] == 0x320);
  CHECK(queue.base[5] == 0x1000 - 48);
  CHECK(queue.status() == QueueStatus::done);
}

TEST_CASE("four levels of loops are the most") {
  QueueBench bench;
  bench.build({QueueKind::load});
  Queue& queue = *bench.queues[0];
  const auto nested = [](int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += "loop count=2\n";
    text += "notify\n";
    for (int i = 0; i < depth; ++i) text += "endloop\n";
    return text + "end\n";
  };
  simulate([&] {
    bench.start(queue, nested(4));
    sc_core::wait(1, sc_core::SC_US);
    CHECK(queue.status() == QueueStatus::done);
    CHECK(bench.unit.addresses.size() == 16);
    bench.start(queue, nested(5));
    sc_core::wait(1, sc_core::SC_US);
    CHECK(queue.status() == QueueStatus::fault);
    CHECK(queue.fault().code == FaultCode::loop_nesting);
    CHECK(queue.fault().offset == 4 * 32);
  });
}

TEST_CASE("each guest mistake stops the queue with its code, place and tag, and it starts again") {
  QueueBench bench;
  bench.build({QueueKind::load});
  Queue& queue = *bench.queues[0];
  int stops = 0;
  queue.on_stop = [&](Queue&) { ++stops; };
  const auto bytes = [](const std::string& text) { return isa::assemble(text, "test"); };
  struct Case {
    const char* what;
    std::vector<std::uint8_t> stream;
    FaultCode code;
    std::uint32_t offset;
    std::uint32_t tag;
  };
  std::vector<Case> cases{
      {"an instruction of another queue", bytes("sync\nlut rows=1 elements=1 tag 9\nend\n"),
       FaultCode::bad_instruction, 16, 9},
      {"no end", bytes("sync tag 4\n"), FaultCode::stream_overrun, 16, 4},
      {"end within a loop", bytes("loop count=2\nend tag 5\n"), FaultCode::loop_nesting, 32, 5},
      {"endloop without a loop", bytes("endloop tag 6\nend\n"), FaultCode::loop_nesting, 0, 6},
      {"a loop of no rounds", bytes("loop count=0 tag 7\nendloop\nend\n"), FaultCode::bad_operand,
       0, 7},
      {"a fault of the unit", bytes("notify\nnotify dst=0x77 value=0xdead tag 8\nend\n"),
       FaultCode::bad_address, 32, 8},
  };
  cases.push_back({"an unknown opcode", bytes("sync\nend\n"), FaultCode::bad_instruction, 16, 0});
  cases.back().stream[16] = 0xee;
  cases.push_back(
      {"padding that is not zero", bytes("notify tag 3\nend\n"), FaultCode::bad_instruction, 0, 3});
  cases.back().stream[31] = 1;
  cases.push_back({"cut in the middle", bytes("sync\nnotify\n"), FaultCode::stream_overrun, 16, 0});
  cases.back().stream.resize(32);
  simulate([&] {
    for (const Case& each : cases) {
      INFO(each.what);
      bench.load(queue, each.stream);
      CHECK(queue.start());
      sc_core::wait(1, sc_core::SC_US);
      CHECK(queue.status() == QueueStatus::fault);
      CHECK(queue.fault().code == each.code);
      CHECK(queue.fault().offset == each.offset);
      CHECK(queue.fault().tag == each.tag);
      if (each.code == FaultCode::bad_address) CHECK(queue.fault().address == 0x77);
    }
    queue.stream_address = address::dram + (std::uint64_t{1} << 39);
    CHECK(queue.start());
    sc_core::wait(1, sc_core::SC_US);
    CHECK(queue.status() == QueueStatus::fault);
    CHECK(queue.fault().code == FaultCode::bad_address);
    CHECK(queue.fault().address == queue.stream_address);
    bench.start(queue, "end\n");
    sc_core::wait(1, sc_core::SC_US);
    CHECK(queue.status() == QueueStatus::done);
    CHECK(queue.fault().code == FaultCode::none);
  });
  CHECK(stops == static_cast<int>(cases.size()) + 2);
  CHECK(bench.accounted("load") == (cases.size() + 2) * 1e6);
}

TEST_CASE("an abort ends a wait at once, an instruction at its end") {
  QueueBench bench;
  bench.build({QueueKind::load});
  Queue& queue = *bench.queues[0];
  simulate([&] {
    bench.start(queue, "sync wait 1\nend\n");
    sc_core::wait(100, sc_core::SC_NS);
    queue.abort();
    sc_core::wait(1, sc_core::SC_NS);
    CHECK(queue.status() == QueueStatus::idle);
    CHECK(queue.waits_for() == isa::no_semaphore);

    bench.start(queue, "notify value=100\nnotify value=100\nend\n");
    sc_core::wait(50, sc_core::SC_NS);
    queue.abort();
    sc_core::wait(54, sc_core::SC_NS);
    CHECK(queue.status() == QueueStatus::running);
    sc_core::wait(2, sc_core::SC_NS);
    CHECK(queue.status() == QueueStatus::idle);
    CHECK(bench.unit.addresses.size() == 1);

    bench.start(queue, "notify\nend\n");
    sc_core::wait(100, sc_core::SC_NS);
    CHECK(queue.status() == QueueStatus::done);
  });
  CHECK(bench.accounted("load") == 307'000);
}

TEST_CASE("a queue says what it waits for") {
  QueueBench bench;
  bench.context.describe_tag = [](std::uint32_t chip, std::uint32_t tag) {
    return "layer" + std::to_string(chip) + "." + std::to_string(tag);
  };
  bench.build({QueueKind::load});
  Queue& queue = *bench.queues[0];
  simulate([&] {
    bench.semaphores->give(17, 1, Giver::remote);
    bench.start(queue, "sync\nsync wait 17*3 tag 2\nend\n");
    sc_core::wait(1, sc_core::SC_US);
    CHECK(queue.waits_for() == 17);
    CHECK(queue.describe_wait() ==
          "top.load waits at offset 0x10 of layer 'layer0.2' for 3 token(s) of semaphore 17, which "
          "holds 1");
  });
}
