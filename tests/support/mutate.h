// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "models/base/error.h"
#include "models/isa/isa.h"

namespace steppe::test {

/// Overwrites `bits` bits of `stream` from bit `at` on, least significant bit first.
inline void put_bits(std::vector<std::uint8_t>& stream, std::size_t at, unsigned bits,
                     std::uint64_t value) {
  for (unsigned i = 0; i < bits; ++i, ++at) {
    const auto mask = static_cast<std::uint8_t>(1U << at % 8);
    const bool one = ((value >> i) & 1U) != 0;
    stream[at / 8] =
        static_cast<std::uint8_t>(one ? stream[at / 8] | mask : stream[at / 8] & ~mask);
  }
}

/// The operation with `count` of its fields set to values that are extreme, near them, or random.
inline isa::Operation mutate(std::mt19937& random, const isa::Operation& operation, int count) {
  std::vector<std::uint8_t> stream;
  isa::encode({{}, operation}, stream);
  const isa::InstructionInfo* info = isa::find_instruction(stream[0]);
  std::size_t header_bits = 0;
  for (const isa::FieldInfo& field : isa::header_fields()) header_bits += field.bits;
  for (; count > 0; --count) {
    const std::size_t chosen = random() % info->fields.size();
    std::size_t at = header_bits;
    for (std::size_t i = 0; i < chosen; ++i) at += info->fields[i].bits;
    const unsigned bits = info->fields[chosen].bits;
    const std::uint64_t any = std::uint64_t{random()} << 32 | random();
    const std::uint64_t top = std::uint64_t{1} << (bits - 1);
    const std::uint64_t values[] = {0, 1, 2, ~std::uint64_t{0}, top, top - 1, any, any % 64};
    put_bits(stream, at, bits, values[random() % 8]);
  }
  const isa::Decoded decoded = isa::decode(stream);
  STEPPE_CHECK(decoded.status == isa::DecodeStatus::ok, "a mutated instruction decodes");
  return decoded.instruction.operation;
}

}  // namespace steppe::test
