// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/models/queue/bench.h"

using namespace steppe;
using namespace steppe::test;

TEST_CASE("a semaphore counts, and remembers who gave last") {
  QueueBench bench;
  bench.build({});
  SemaphoreFile& file = *bench.semaphores;
  CHECK(file.holds(7, 0));
  CHECK(!file.holds(7, 1));
  file.give(7, 3, Giver::tensor);
  file.give(7, 2, Giver::link_receive);
  CHECK(file.tokens(7) == 5);
  CHECK(file.tokens(6) == 0);
  CHECK(file.last_giver(7) == Giver::link_receive);
  CHECK(file.holds(7, 5));
  CHECK(!file.holds(7, 6));
  file.take(7, 4);
  CHECK(file.tokens(7) == 1);
  CHECK_THROWS_AS(file.take(7, 2), InternalError);
  file.give(SemaphoreFile::count - 1, 1, Giver::remote);
  CHECK(file.tokens(1022) == 1);
  file.reset();
  CHECK(file.tokens(7) == 0);
  CHECK(file.tokens(1022) == 0);
}

TEST_CASE("no semaphore: nothing to wait for, nothing to give to") {
  QueueBench bench;
  bench.build({});
  SemaphoreFile& file = *bench.semaphores;
  CHECK(file.holds(isa::no_semaphore, 255));
  file.take(isa::no_semaphore, 255);
  file.give(isa::no_semaphore, 255, Giver::load);
  CHECK(bench.stat("semaphores.gives") == 0);
}

TEST_CASE("tokens are taken when all of them are there, from both semaphores together") {
  QueueBench bench;
  bench.build({isa::QueueKind::vector});
  Queue& queue = *bench.queues[0];
  simulate([&] {
    bench.start(queue, "sync wait 1*3 wait 2\nend\n");
    sc_core::wait(100, sc_core::SC_NS);
    bench.semaphores->give(1, 2, Giver::load);
    sc_core::wait(100, sc_core::SC_NS);
    CHECK(bench.semaphores->tokens(1) == 2);  // two are no three
    bench.semaphores->give(1, 2, Giver::load);
    sc_core::wait(100, sc_core::SC_NS);
    CHECK(bench.semaphores->tokens(1) == 4);  // held until the second is there too
    CHECK(queue.status() == QueueStatus::running);
    bench.semaphores->give(2, 1, Giver::store);
    sc_core::wait(100, sc_core::SC_NS);
    CHECK(bench.semaphores->tokens(1) == 1);
    CHECK(bench.semaphores->tokens(2) == 0);
    CHECK(queue.status() == QueueStatus::done);
  });
}

TEST_CASE("both waits on one semaphore take the sum") {
  QueueBench bench;
  bench.build({isa::QueueKind::vector});
  Queue& queue = *bench.queues[0];
  simulate([&] {
    bench.start(queue, "sync wait 1*2 wait 1*3\nend\n");
    bench.semaphores->give(1, 4, Giver::load);
    sc_core::wait(100, sc_core::SC_NS);
    CHECK(queue.status() == QueueStatus::running);
    bench.semaphores->give(1, 2, Giver::load);
    sc_core::wait(100, sc_core::SC_NS);
    CHECK(queue.status() == QueueStatus::done);
    CHECK(bench.semaphores->tokens(1) == 1);
  });
}
