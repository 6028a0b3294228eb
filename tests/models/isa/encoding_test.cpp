// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "models/base/error.h"
#include "models/isa/isa.h"
#include "tests/models/isa/random_stream.h"

using namespace steppe;
using namespace steppe::isa;
using Stream = std::vector<std::uint8_t>;

namespace {

Stream encoded(const Instruction& instruction) {
  Stream stream;
  encode(instruction, stream);
  return stream;
}

}  // namespace

TEST_CASE("an instruction without operands is its header") {
  // No semaphores: each of the four 10-bit numbers is 1023, each count 0.
  //   bits   7..0   opcode 0                        byte  0     00
  //   bits  23..8   tag 0                           bytes 1, 2  00 00
  //   bits  33..24  wait0, all ones                 byte  3     ff; bits 32, 33 of byte 4
  //   bits  41..34  wait0_count 0                   byte  4     03; bits 40, 41 of byte 5
  //   bits  51..42  wait1, all ones                 byte  5     fc, byte 6: bits 48..51, 0f
  //   bits  59..52  wait1_count 0                   byte  7     00 in bits 56..59
  //   bits  69..60  signal0, all ones               byte  7     f0, byte 8: bits 64..69, 3f
  //   bits  77..70  signal0_count 0                 byte  9     00 in bits 72..77
  //   bits  87..78  signal1, all ones               byte  9     c0, byte 10: bits 80..87, ff
  //   bits  95..88  signal1_count 0, reserved 0     bytes 11 to 15
  CHECK(encoded({Header(), End()}) ==
        Stream{0x00, 0x00, 0x00, 0xff, 0x03, 0xfc, 0x0f, 0xf0, 0x3f, 0xc0, 0xff, 0, 0, 0, 0, 0});
}

TEST_CASE("header fields go where the table puts them") {
  Header header;
  header.tag = 0x1234;
  header.wait0 = 5;
  header.wait0_count = 2;
  header.signal0 = 7;
  header.signal0_count = 1;
  // wait0 5 = bits 24, 26: byte 3 = 05, byte 4 begins with 00. wait0_count 2 = bit 35: byte 4 = 08.
  // wait1 1023 as above: bytes 5, 6 = fc, 0f. signal0 7 = bits 60, 61, 62: byte 7 = 70, byte 8 = 00
  // in bits 64..69; signal0_count 1 = bit 70: byte 8 = 40. signal1 as above.
  CHECK(encoded({header, Sync()}) ==
        Stream{0x01, 0x34, 0x12, 0x05, 0x08, 0xfc, 0x0f, 0x70, 0x40, 0xc0, 0xff, 0, 0, 0, 0, 0});
}

TEST_CASE("fields are packed least significant bit first behind the header") {
  // notify: base 4 bits, offset 40, value 32. base 0xa; offset 0x12345678: nibbles from bit 4 on.
  Notify notify;
  notify.dst_base = 0xa;
  notify.dst_offset = 0x12345678;
  notify.value = 0xdeadbeef;
  const Stream bytes = encoded({Header(), notify});
  REQUIRE(bytes.size() == 32);
  const Stream body(bytes.begin() + 16, bytes.end());
  // value begins at bit 44, the upper half of byte 5.
  CHECK(body ==
        Stream{0x8a, 0x67, 0x45, 0x23, 0x01, 0xf0, 0xee, 0xdb, 0xea, 0x0d, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("negative numbers are two's complement of their field's width") {
  const Stream bytes = encoded({Header(), AddBase{.reg = 3, .step = -2}});
  // reg 3 in bits 0..3, step ...fffe from bit 4 on: fe -> low nibble e in the upper half of byte 0.
  const Stream body(bytes.begin() + 16, bytes.end());
  CHECK(body == Stream{0xe3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0});
  const Decoded decoded = decode(bytes);
  REQUIRE(decoded.status == DecodeStatus::ok);
  CHECK(std::get<AddBase>(decoded.instruction.operation).step == -2);
}

TEST_CASE("what was encoded is decoded") {
  Conv conv;
  conv.in_base = 15;
  conv.in_offset = (std::uint64_t{1} << 40) - 1;
  conv.in_c = 65535;
  conv.pad_top = -32768;
  conv.kept = 63;
  conv.has_lut = 1;
  conv.in_zero = -128;
  conv.clamp_high = 127;
  conv.residual_scale = 0.1F;
  const Stream bytes = encoded({Header(), conv});
  const Decoded decoded = decode(bytes);
  REQUIRE(decoded.status == DecodeStatus::ok);
  CHECK(decoded.bytes == bytes.size());
  CHECK(decoded.instruction.header.opcode == 0x20);
  const auto& back = std::get<Conv>(decoded.instruction.operation);
  CHECK(back.in_base == 15);
  CHECK(back.in_offset == (std::uint64_t{1} << 40) - 1);
  CHECK(back.in_c == 65535);
  CHECK(back.out_c == 0);
  CHECK(back.pad_top == -32768);
  CHECK(back.kept == 63);
  CHECK(back.has_residual == 0);
  CHECK(back.has_lut == 1);
  CHECK(back.in_zero == -128);
  CHECK(back.clamp_high == 127);
  CHECK(back.residual_scale == 0.1F);
}

TEST_CASE("every valid encoding decodes and encodes to itself") {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    const Stream bytes = test::random_instruction(random);
    const Decoded decoded = decode(bytes);
    REQUIRE(decoded.status == DecodeStatus::ok);
    REQUIRE(decoded.bytes == bytes.size());
    REQUIRE(encoded(decoded.instruction) == bytes);
  }
}

TEST_CASE("values that do not fit their field are refused") {
  Header header;
  header.tag = 65536;
  CHECK_THROWS_AS(encoded({header, End()}), InternalError);
  CHECK_THROWS_AS(encoded({Header(), SetBase{.reg = 16}}), InternalError);
  CHECK_NOTHROW(encoded({Header(), SetBase{.reg = 15, .value = (std::uint64_t{1} << 60) - 1}}));
  CHECK_THROWS_AS(encoded({Header(), SetBase{.reg = 0, .value = std::uint64_t{1} << 60}}),
                  InternalError);
  constexpr std::int64_t half = std::int64_t{1} << 59;
  CHECK_NOTHROW(encoded({Header(), AddBase{.reg = 0, .step = -half}}));
  CHECK_THROWS_AS(encoded({Header(), AddBase{.reg = 0, .step = half}}), InternalError);
  CHECK_THROWS_AS(encoded({Header(), AddBase{.reg = 0, .step = -half - 1}}), InternalError);
  Conv conv;
  conv.clamp_low = -129;
  CHECK_THROWS_AS(encoded({Header(), conv}), InternalError);
  CHECK_THROWS_AS(encoded({Header(), {}}), InternalError);
}

TEST_CASE("broken bytes are told apart") {
  CHECK(decode({}).status == DecodeStatus::truncated);
  Stream bytes = encoded({Header(), Loop{.count = 3}});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Decoded decoded = decode(std::span(bytes).first(size));
    CHECK(decoded.status == DecodeStatus::truncated);
    CHECK(decoded.bytes == 0);
  }
  CHECK(decode(bytes).status == DecodeStatus::ok);
  bytes[31] = 1;
  CHECK(decode(bytes).status == DecodeStatus::nonzero_padding);
  bytes[31] = 0;
  bytes[20] = 1;  // the first byte behind the count's four
  CHECK(decode(bytes).status == DecodeStatus::nonzero_padding);
  bytes[0] = 0xff;
  CHECK(decode(bytes).status == DecodeStatus::unknown_opcode);
}

TEST_CASE("no bytes make the decoder read past their end") {
  std::mt19937 random(2);
  for (int round = 0; round < 20000; ++round) {
    // A buffer of exactly this size, so that the address sanitizer sees a byte too many.
    Stream bytes(random() % 130);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    const auto table = instruction_table();
    if (!bytes.empty()) bytes[0] = table[random() % table.size()].opcode;
    const Decoded decoded = decode(bytes);
    REQUIRE(decoded.bytes <= bytes.size());
    REQUIRE((decoded.status == DecodeStatus::ok) == (decoded.bytes > 0));
  }
}

TEST_CASE("the table is consistent") {
  std::set<std::string_view> mnemonics;
  std::set<std::uint32_t> opcodes;
  for (const InstructionInfo& info : instruction_table()) {
    CAPTURE(std::string(info.mnemonic));
    CHECK(mnemonics.insert(info.mnemonic).second);
    CHECK(opcodes.insert(info.opcode).second);
    CHECK(find_instruction(info.opcode) == &info);
    CHECK(info.bytes % alignment == 0);
    CHECK(!info.queues.empty());
    std::set<std::string_view> fields;
    for (const FieldInfo& field : info.fields) {
      CHECK(fields.insert(field.name).second);
      CHECK(field.bits >= 1);
      CHECK(field.bits <= 60);
      if (field.kind == 'f') CHECK(field.bits == 32);
    }
  }
  CHECK(find_instruction(0xfe) == nullptr);
  unsigned header_bits = 0;
  for (const FieldInfo& field : header_fields()) header_bits += field.bits;
  CHECK(header_bits == 128);
}

TEST_CASE("queues take what the table says") {
  const InstructionInfo& copy = *find_instruction(0x10);
  const InstructionInfo& conv = *find_instruction(0x20);
  const InstructionInfo& end = *find_instruction(0x00);
  for (std::size_t kind = 0; kind < queue_names.size(); ++kind) {
    const auto queue = static_cast<QueueKind>(kind);
    CHECK(queue_takes(queue, end));
    CHECK(queue_takes(queue, conv) == (queue == QueueKind::tensor));
    CHECK(queue_takes(queue, copy) == (queue != QueueKind::tensor && queue != QueueKind::vector));
  }
}
