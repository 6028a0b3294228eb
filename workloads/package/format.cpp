// SPDX-License-Identifier: Apache-2.0
#include "workloads/package/format.h"

#include <xxhash.h>

#include <bit>
#include <cstddef>

namespace steppe::package {

// The preamble is read and written as it lies in memory.
static_assert(std::endian::native == std::endian::little);

std::uint64_t checksum(std::span<const std::uint8_t> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t checksum(const Preamble& preamble) {
  return XXH3_64bits(&preamble, offsetof(Preamble, checksum));
}

DataArea lay_out(std::span<const Bytes> sizes) {
  DataArea area;
  for (const Bytes bytes : sizes) {
    if (bytes == 0) {
      area.offsets.emplace_back(std::nullopt);
      continue;
    }
    const Bytes start = align_up(area.bytes, file_alignment);
    area.offsets.emplace_back(start);
    area.bytes = start + bytes;
  }
  return area;
}

}  // namespace steppe::package
