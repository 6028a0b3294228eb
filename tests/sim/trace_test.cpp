// SPDX-License-Identifier: Apache-2.0
#include "sim/report/trace.h"

#include <doctest/doctest.h>

using namespace steppe;

TEST_CASE("the trace's bytes, encoded by hand") {
  sim::PerfettoTrace trace;
  const Timeline::Track track = trace.add_track("q");
  trace.slice(track, "conv", 2'999, 130'000);  // 2 and 130 ns
  // Fields as (number << 3 | wire type): packet 1 of the trace is 0x0a; in it sequence 10 is 0x50,
  // track_descriptor 60 is 0xe2 0x03 (uuid 1 is 0x08, name 2 is 0x12), timestamp 8 is 0x40,
  // track_event 11 is 0x5a (type 9 is 0x48, track_uuid 11 is 0x58, name 23 is 0xba 0x01). 130 is
  // 0x82 0x01.
  const std::string expected(
      "\x0a\x0a\x50\x01\xe2\x03\x05\x08\x01\x12\x01q"
      "\x0a\x11\x40\x02\x50\x01\x5a\x0b\x48\x01\x58\x01\xba\x01\x04"
      "conv"
      "\x0a\x0b\x40\x82\x01\x50\x01\x5a\x04\x48\x02\x58\x01",
      12 + 19 + 13);
  CHECK(trace.bytes() == expected);
}
