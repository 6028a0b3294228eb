// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/allocate.h"

#include <algorithm>
#include <numeric>

namespace steppe::schedule {

Bytes allocate(std::vector<Lifetime>& buffers) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return buffers[a].bytes > buffers[b].bytes; });

  Bytes used = 0;
  std::vector<const Lifetime*> placed;
  for (const std::size_t index : order) {
    Lifetime& buffer = buffers[index];
    const Bytes bytes = align_up(buffer.bytes, sram_alignment);
    std::vector<const Lifetime*> alive;
    for (const Lifetime* other : placed) {
      if (other->first <= buffer.last && buffer.first <= other->last) alive.push_back(other);
    }
    std::ranges::sort(alive, {}, &Lifetime::offset);
    buffer.offset = 0;
    for (const Lifetime* other : alive) {
      if (buffer.offset + bytes <= other->offset) break;
      buffer.offset =
          std::max(buffer.offset, other->offset + align_up(other->bytes, sram_alignment));
    }
    used = std::max(used, buffer.offset + bytes);
    placed.push_back(&buffer);
  }
  return used;
}

}  // namespace steppe::schedule
