// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "workloads/package/package.h"

/// The file around the manifest: what writer and reader agree on. README.md has the picture.
namespace steppe::package {

inline constexpr std::uint32_t format_version = 3;
inline constexpr Bytes file_alignment = 4096;
inline constexpr std::uint64_t magic = 0x3147'4b50'5045'5453;  ///< "STEPPKG1", little endian
/// FlatBuffers' offsets are 32 bits, one of them for the sign.
inline constexpr Bytes max_manifest_bytes = (Bytes{1} << 31) - 1;

/// The first 64 bytes of a package; the manifest follows.
struct Preamble {
  std::uint64_t magic_number = magic;
  std::uint64_t manifest_bytes = 0;
  std::uint64_t manifest_checksum = 0;
  std::uint64_t data_offset = 0;  ///< start of the data area, a multiple of 4096
  std::uint64_t file_bytes = 0;
  std::uint64_t reserved[2] = {0, 0};
  std::uint64_t checksum = 0;  ///< of the 56 bytes before it
};
static_assert(sizeof(Preamble) == 64);

/// XXH3-64 with seed 0.
std::uint64_t checksum(std::span<const std::uint8_t> bytes);
/// The checksum that belongs into `preamble.checksum`.
std::uint64_t checksum(const Preamble& preamble);

/// Offsets in the data area for blocks that follow each other at multiples of 4096; null for blocks
/// of 0 bytes, which are not stored.
struct DataArea {
  std::vector<std::optional<std::uint64_t>> offsets;
  Bytes bytes = 0;
};
DataArea lay_out(std::span<const Bytes> sizes);

/// Judges what a package says: versions, ranges, alignment, overlaps, references. Throws
/// PackageError naming `file` and the field.
void validate(const Package& package, const std::filesystem::path& file);

}  // namespace steppe::package
