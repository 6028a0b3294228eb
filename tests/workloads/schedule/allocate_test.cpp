// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/allocate.h"

#include <doctest/doctest.h>

#include <random>

using namespace steppe;
using namespace steppe::schedule;

TEST_CASE("a chain of buffers alternates between two places") {
  // Each is read by the next step, so neighbours overlap in time and every second one may share.
  std::vector<Lifetime> chain{{128, 0, 1}, {128, 1, 2}, {128, 2, 3}, {128, 3, 4}};
  CHECK(allocate(chain) == 256);
  CHECK(chain[0].offset == chain[2].offset);
  CHECK(chain[1].offset == chain[3].offset);
  CHECK(chain[0].offset != chain[1].offset);
}

TEST_CASE("sizes are rounded up to the alignment") {
  std::vector<Lifetime> two{{1, 0, 0}, {1, 0, 0}};
  CHECK(allocate(two) == 128);
}

TEST_CASE("no two buffers alive at the same step overlap") {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> buffers(40);
    for (Lifetime& buffer : buffers) {
      buffer.bytes = random() % 1000;
      buffer.first = random() % 30;
      buffer.last = buffer.first + random() % 10;
    }
    const Bytes used = allocate(buffers);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const Lifetime& a = buffers[i];
      CHECK(a.offset % sram_alignment == 0);
      CHECK(a.offset + a.bytes <= used);
      for (std::size_t j = i + 1; j < buffers.size(); ++j) {
        const Lifetime& b = buffers[j];
        const bool together = a.first <= b.last && b.first <= a.last;
        const bool apart = a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
        CHECK((!together || apart));
      }
    }
  }
}
