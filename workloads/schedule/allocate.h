// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "models/base/units.h"

namespace steppe::schedule {

/// A buffer that is alive from one step to another, both included.
struct Lifetime {
  Bytes bytes = 0;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint64_t offset = 0;  ///< result
};

/// Alignment of everything placed in SRAM.
inline constexpr Bytes sram_alignment = 64;

/// Sets the offsets so that buffers alive at the same step do not overlap: the largest first, each
/// at the lowest offset that is free. Returns the bytes used.
Bytes allocate(std::vector<Lifetime>& buffers);

}  // namespace steppe::schedule
