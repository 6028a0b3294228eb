// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The address map. Every initiator on the card uses 64-bit addresses:
///
///     bit 63 set          host memory, offset in bits 62..0
///     bits 47..40 = n+1   chip n of the card, local address in bits 39..0
///     bits 47..40 = 0     the initiator's own chip, local address in bits 39..0
///
/// Local addresses are the same on every chip.
namespace steppe::address {

inline constexpr std::uint64_t host_bit = std::uint64_t{1} << 63;
inline constexpr unsigned chip_shift = 40;
inline constexpr std::uint64_t local_mask = (std::uint64_t{1} << chip_shift) - 1;

inline constexpr std::uint64_t core_memory = 0x0000'0000;  ///< the control core's local memory
inline constexpr std::uint64_t control = 0x1000'0000;      ///< registers, see models/control
inline constexpr std::uint64_t semaphores =
    control + 0x1000;                                      ///< 4 bytes each; a write gives tokens
inline constexpr std::uint64_t sram = 0x01'0000'0000;      ///< cluster 0's slice
inline constexpr std::uint64_t sram_window = 0x1000'0000;  ///< from one cluster's slice to the next
/// What is written here goes to the same offset of several slices, from cluster 0's on: one window
/// for each number of clusters. Not to be read.
inline constexpr std::uint64_t sram_group = 0x08'0000'0000;
inline constexpr std::uint32_t most_clusters = 64;
inline constexpr std::uint64_t dram = 0x10'0000'0000;

constexpr bool is_host(std::uint64_t address) { return (address & host_bit) != 0; }
constexpr std::uint64_t local(std::uint64_t address) { return address & local_mask; }
/// The chip an on-card address names; `own` where it names none.
constexpr std::uint32_t chip_of(std::uint64_t address, std::uint32_t own) {
  const auto field = static_cast<std::uint32_t>((address >> chip_shift) & 0xff);
  return field == 0 ? own : field - 1;
}
constexpr std::uint64_t on_chip(std::uint32_t chip, std::uint64_t local_address) {
  return (std::uint64_t{chip + 1} << chip_shift) | local_address;
}
constexpr std::uint64_t sram_of(std::uint32_t cluster) { return sram + cluster * sram_window; }
/// The window that writes to clusters 0 to count - 1.
constexpr std::uint64_t sram_of_first(std::uint32_t count) {
  return sram_group + (count - 1) * sram_window;
}
/// How many clusters an address writes to where it is in such a window; 0 where it is not.
constexpr std::uint32_t group_size(std::uint64_t address) {
  const std::uint64_t at = local(address);
  if (is_host(address) || at < sram_group || at >= sram_of_first(most_clusters + 1)) return 0;
  return static_cast<std::uint32_t>((at - sram_group) / sram_window) + 1;
}
/// The address in one cluster's slice that a window's address stands for.
constexpr std::uint64_t group_member(std::uint64_t address, std::uint32_t cluster) {
  const std::uint64_t offset = (local(address) - sram_group) % sram_window;
  return (address & ~local_mask) | (sram_of(cluster) + offset);
}

}  // namespace steppe::address
