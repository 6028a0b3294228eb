// SPDX-License-Identifier: Apache-2.0
#include "models/isa/assembly.h"

#include <doctest/doctest.h>

#include <bit>
#include <limits>

#include "models/base/error.h"
#include "tests/models/isa/random_stream.h"

using namespace steppe;
using namespace steppe::isa;
using Stream = std::vector<std::uint8_t>;

namespace {

Stream encoded(const Header& header, const Operation& operation) {
  Stream stream;
  encode({header, operation}, stream);
  return stream;
}

void check_error(const std::string& text, const std::string& message) {
  CAPTURE(text);
  CHECK_THROWS_WITH_AS(assemble(text, "x.s"), doctest::Contains(message.c_str()), ConfigError);
}

}  // namespace

TEST_CASE("an instruction as text") {
  Copy copy;
  copy.src_base = 1;
  copy.src_offset = 0x40;
  copy.dst_offset = 0x100000000;
  copy.row_bytes = 128;
  copy.rows = 2;
  Header header;
  header.wait0 = 5;
  header.wait0_count = 1;
  header.signal0 = 9;
  header.signal0_count = 4;
  header.tag = 3;
  const std::string text =
      "copy src=b1+0x40 dst=b0+0x100000000 row_bytes=128 rows=2 wait 5 signal 9*4 tag 3";
  CHECK(disassemble({header, copy}) == text);
  CHECK(assemble(text, "x.s") == encoded(header, copy));
}

TEST_CASE("every way to write a value") {
  Copy copy;
  copy.src_base = 2;
  copy.dst_offset = 64;
  copy.rows = 16;
  // No base is base 0, no offset is offset 0, any base of number, any order, blanks and comments.
  CHECK(assemble("\n  # nothing\n\tcopy  rows=0x10 dst=64 src=b2   # why\r\n\n", "x.s") ==
        encoded(Header(), copy));
  CHECK(assemble("addbase reg=1 step=-0x10", "x.s") ==
        encoded(Header(), AddBase{.reg = 1, .step = -16}));
  Softmax softmax;
  softmax.in_scale = 0.1F;
  softmax.out_inverse = 256;
  softmax.out_zero = -128;
  const Stream expected = encoded(Header(), softmax);
  CHECK(assemble("softmax in_scale=0.1 out_inverse=256 out_zero=-128", "x.s") == expected);
  // 0.1F is 0x1.99999ap-4.
  CHECK(assemble("softmax in_scale=0x1.99999ap-4 out_inverse=2.56e2 out_zero=-0x80", "x.s") ==
        expected);
  CHECK(assemble("", "x.s").empty());
  CHECK(assemble("end", "x.s") == encoded(Header(), End()));
}

TEST_CASE("a program with loops and offsets") {
  const std::string text =
      "loop count=3\n"
      "  copy src=b1+0x0 rows=1\n"
      "  loop count=2\n"
      "    addbase reg=1 step=-64\n"
      "  endloop\n"
      "endloop\n"
      "end\n";
  const Stream stream = assemble(text, "x.s");
  CHECK(disassemble(stream, false) == text);
  const std::string numbered = disassemble(stream, true);
  CHECK(numbered.starts_with("0x000000:  loop count=3\n0x000020:    copy src=b1+0x0 rows=1\n"));
  CHECK(assemble(numbered, "x.s") == stream);
}

TEST_CASE("unusual values have a text too") {
  const auto check = [](const Header& header, const Operation& operation, const std::string& text) {
    CHECK(disassemble({header, operation}) == text);
    CHECK(assemble(text, "x.s") == encoded(header, operation));
  };
  Header header;
  header.wait0_count = 3;  // tokens of no semaphore
  header.wait1 = 7;        // a second semaphore without a first
  header.wait1_count = 2;
  header.signal0 = 8;  // no tokens
  header.reserved = 5;
  check(header, Sync(), "sync wait0_count=3 wait1=7 wait1_count=2 signal 8*0 reserved=5");
  Header both;
  both.wait0 = 1;
  both.wait0_count = 1;
  both.wait1 = 2;
  both.wait1_count = 255;
  check(both, Sync(), "sync wait 1 wait 2*255");
  Norm norm;
  norm.in_scale = -0.0F;
  norm.epsilon = std::numeric_limits<float>::infinity();
  norm.out_inverse = std::bit_cast<float>(0x7fc00001U);
  check(Header(), norm, "norm in_scale=-0 out_inverse=nan:0x7fc00001 epsilon=inf");
  check(Header(), SetBase{.reg = 15, .value = (std::uint64_t{1} << 60) - 1},
        "setbase reg=15 value=0xfffffffffffffff");
  check(Header(), AddBase{.reg = 0, .step = -(std::int64_t{1} << 59)},
        "addbase step=-576460752303423488");
}

TEST_CASE("the text of any stream assembles to the same bytes") {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    Stream stream;
    for (unsigned i = 0; i < 1 + random() % 8; ++i) {
      const Stream one = test::random_instruction(random);
      stream.insert(stream.end(), one.begin(), one.end());
    }
    const std::string text = disassemble(stream, round % 2 == 0);
    CAPTURE(text);
    REQUIRE(assemble(text, "x.s") == stream);
  }
}

TEST_CASE("mistakes are named with file, line and what was meant") {
  check_error("end\n\ncpoy rows=1", "x.s:3: there is no instruction 'cpoy'; did you mean 'copy'?");
  check_error("copy row=1", "x.s:1: 'copy' has no field 'row'; did you mean 'rows'?");
  check_error("copy src_base=1", "'copy' has no field 'src_base'");
  check_error("copy opcode=1", "no field 'opcode'");
  check_error("end rows=1", "'end' has no field 'rows'");
  check_error("copy rows=1 rows=2", "'rows' is given twice");
  check_error("copy rows", "'rows' is neither");
  check_error("copy rows=", "rows: '' is no whole number");
  check_error("copy rows=1x", "rows: '1x' is no whole number");
  check_error("copy rows=1.5", "rows: '1.5' is no whole number");
  check_error("copy rows=0x", "no whole number");
  check_error("copy rows=--1", "no whole number");
  check_error("copy rows=16777216", "rows: '16777216' does not fit; 0 to 16777215 are right");
  check_error("copy rows=-1", "rows: '-1' does not fit; 0 to 16777215 are right");
  check_error("copy rows=99999999999999999999999", "does not fit");
  check_error("copy src=b16", "src: '16' does not fit; 0 to 15 are right");
  check_error("copy src=b", "src: '' is no whole number");
  check_error("copy src=b1+", "src: '' is no whole number");
  check_error("copy src=b1-4", "src: '1-4' is no whole number");
  check_error("copy src=0x10000000000", "does not fit");
  check_error("conv clamp_low=-129", "clamp_low: '-129' does not fit; -128 to 127 are right");
  check_error("conv clamp_high=128", "clamp_high: '128' does not fit; -128 to 127 are right");
  check_error("softmax in_scale=fast", "in_scale: 'fast' is no number that fp32 holds");
  check_error("softmax in_scale=1e99", "is no number that fp32 holds");
  check_error("softmax in_scale=", "is no number that fp32 holds");
  check_error("softmax in_scale=1.0f", "is no number that fp32 holds");
  check_error("softmax in_scale=nan:x", "is no whole number");
  check_error("sync wait", "'wait' needs a number behind it");
  check_error("sync wait 1024", "wait0: '1024' does not fit; 0 to 1023 are right");
  check_error("sync wait 1*256", "wait0_count: '256' does not fit; 0 to 255 are right");
  check_error("sync wait 1 wait 2 wait 3", "more than two of 'wait'");
  check_error("sync wait 1 wait0=2", "'wait0' is given twice");
  check_error("sync tag x", "tag: 'x' is no whole number");
  check_error("sync tag 65536", "tag: '65536' does not fit; 0 to 65535 are right");
}

TEST_CASE("random text is refused, never more") {
  std::mt19937 random(4);
  const std::string letters = "copyendsyncwait tagrows=b1+0x40#*\n-.:";
  for (int round = 0; round < 20000; ++round) {
    std::string text = round % 2 == 0 ? "copy " : "";
    for (unsigned i = 0; i < random() % 40; ++i) text += letters[random() % letters.size()];
    try {
      assemble(text, "x.s");
    } catch (const ConfigError&) {
    }
  }
}

TEST_CASE("bytes that are no stream are refused with their offset") {
  Stream stream = assemble("end\nloop count=1\n", "x.s");
  CHECK_THROWS_WITH_AS(disassemble(std::span(stream).first(40), false),
                       doctest::Contains("byte 0x10: the instruction is cut off"), PackageError);
  stream[16] = 0x77;
  CHECK_THROWS_WITH_AS(disassemble(stream, false), doctest::Contains("unknown opcode"),
                       PackageError);
}
