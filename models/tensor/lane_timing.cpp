// SPDX-License-Identifier: Apache-2.0
#include "models/tensor/lane_timing.h"

#include <cmath>

namespace steppe {

LaneQueues::LaneQueues(std::uint32_t lanes, std::uint32_t depth)
    : depth_(depth), lane_ends_(lanes), freed_(depth) {}

void LaneQueues::begin() {
  number_ = 0;
  sent_ = 0;
  std::ranges::fill(lane_ends_, std::uint64_t{0});
  std::ranges::fill(freed_, std::uint64_t{0});
}

void LaneQueues::add(std::span<const std::uint32_t> cycles) {
  std::uint64_t& freed = freed_[number_ % depth_];  // of the block `depth` before this one
  const std::uint64_t sent = number_ == 0 ? 0 : std::max(sent_ + 1, freed);
  std::uint64_t last = sent;
  for (std::size_t lane = 0; lane < cycles.size(); ++lane) {
    lane_ends_[lane] = std::max(lane_ends_[lane], sent) + cycles[lane];
    last = std::max(last, lane_ends_[lane]);
  }
  sent_ = sent;
  freed = last;
  ++number_;
}

std::uint64_t LaneQueues::end() const {
  // Even a block of no weights takes the cycle in which it is sent.
  const std::uint64_t broadcast = number_ == 0 ? 0 : sent_ + 1;
  return std::max(broadcast, std::ranges::max(lane_ends_));
}

std::uint64_t last_end(std::span<const std::uint64_t> passes, std::uint64_t rounds,
                       std::uint32_t engines) {
  std::vector<std::uint64_t> free_at(engines, 0);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (const std::uint64_t cycles : passes) *std::ranges::min_element(free_at) += cycles;
  }
  return std::ranges::max(free_at);
}

std::uint32_t block_cycles(const isa::Conv& conv, const EngineShape& shape, std::uint32_t weights) {
  const std::uint32_t multiplying = weights * (conv.in_type == 0 ? 1 : shape.bf16_cycles);
  const double decoding = std::ceil(weights / shape.decode_rate.at(conv.encoding));
  return std::max(multiplying, static_cast<std::uint32_t>(decoding));
}

}  // namespace steppe
