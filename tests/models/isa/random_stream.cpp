// SPDX-License-Identifier: Apache-2.0
#include "tests/models/isa/random_stream.h"

#include "models/isa/isa.h"

namespace steppe::test {

std::vector<std::uint8_t> random_instruction(std::mt19937& random) {
  const auto table = isa::instruction_table();
  const isa::InstructionInfo& info = table[random() % table.size()];
  std::size_t bits = 0;
  for (const isa::FieldInfo& field : info.fields) bits += field.bits;
  std::vector<std::uint8_t> bytes(info.bytes);
  // Few ones, half ones, or nearly all: values at the edges of their fields.
  const std::uint32_t density = random() % 3;
  const auto random_bit = [&]() -> bool {
    if (density == 0) return random() % 64 == 0;
    return density == 1 ? random() % 2 == 0 : random() % 64 != 0;
  };
  for (std::size_t bit = 0; bit < 128 + bits; ++bit) {
    if (random_bit()) bytes[bit / 8] |= static_cast<std::uint8_t>(1U << (bit % 8));
  }
  bytes[0] = info.opcode;
  return bytes;
}

}  // namespace steppe::test
