// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "models/tensor/tensor_timing.h"

namespace steppe {

/// How long the lanes of an engine take over blocks that do not keep them equally busy.
///
/// Blocks of activations are broadcast to all lanes, at most one a cycle, and wait in a queue of
/// `depth` blocks before each lane; the next one is sent when the slowest lane has room. A lane
/// takes its blocks in order. With a depth of 1 all lanes go at the pace of the slowest.
class LaneQueues {
 public:
  LaneQueues(std::uint32_t lanes, std::uint32_t depth);

  void begin();
  /// The next block, with the cycles of each lane that is in use.
  void add(std::span<const std::uint32_t> cycles);
  /// When the last lane has ended, in cycles from the start.
  [[nodiscard]] std::uint64_t end() const;

 private:
  std::uint32_t depth_;
  std::size_t number_ = 0;                ///< blocks so far
  std::uint64_t sent_ = 0;                ///< when the last block was broadcast
  std::vector<std::uint64_t> lane_ends_;  ///< by lane
  std::vector<std::uint64_t> freed_;      ///< when each of the last `depth` blocks had left all
};

/// Cycles to add up the sums of so many columns in a tree.
inline std::uint64_t reduction_levels(std::uint64_t splits) {
  return splits < 2 ? 0 : static_cast<std::uint64_t>(std::bit_width(splits - 1));
}

/// Times the passes of a Conv: one lane group of output channels at one group of columns.
class PassTimer {
 public:
  PassTimer(const isa::Conv& conv, const EngineShape& shape)
      : sizes_(conv, shape),
        shape_(shape),
        group_channels_(conv.out_c / conv.groups),
        groups_(conv.groups),
        queues_(shape.lanes, shape.lane_queue),
        cycles_(shape.lanes) {}

  /// Appends the cycles of a pass over each lane group to `passes`; `cycles(channel, block)` is
  /// what a lane needs for its share of a block. With `splits` of 2 and more the columns share out
  /// K, and a tree adds their sums up.
  template <typename BlockCycles>
  void add_passes(std::uint64_t splits, const BlockCycles& cycles,
                  std::vector<std::uint64_t>& passes) {
    for (std::uint32_t group = 0; group < groups_; ++group) {
      const std::uint32_t end = (group + 1) * group_channels_;
      for (std::uint32_t first = group * group_channels_; first < end; first += shape_.lanes) {
        passes.push_back(pass(first, std::min(shape_.lanes, end - first), splits, cycles));
      }
    }
  }

  [[nodiscard]] const ConvSizes& sizes() const { return sizes_; }

 private:
  template <typename BlockCycles>
  std::uint64_t pass(std::uint32_t first, std::uint32_t lanes, std::uint64_t splits,
                     const BlockCycles& cycles) {
    const std::uint64_t chunk = ceil_div(sizes_.blocks, std::max<std::uint64_t>(splits, 1));
    std::uint64_t longest = 0;
    for (std::uint64_t begin = 0; begin < sizes_.blocks; begin += chunk) {
      queues_.begin();
      for (std::uint64_t block = begin; block < std::min(begin + chunk, sizes_.blocks); ++block) {
        for (std::uint32_t lane = 0; lane < lanes; ++lane) {
          cycles_[lane] = cycles(first + lane, block);
        }
        queues_.add({cycles_.data(), lanes});
      }
      longest = std::max(longest, queues_.end());
    }
    return longest + reduction_levels(splits);
  }

  ConvSizes sizes_;
  const EngineShape& shape_;
  std::uint32_t group_channels_;
  std::uint32_t groups_;
  LaneQueues queues_;
  std::vector<std::uint32_t> cycles_;
};

/// When the last of several engines ends that share out `rounds` times the passes given, in order,
/// each to the engine that is free first.
std::uint64_t last_end(std::span<const std::uint64_t> passes, std::uint64_t rounds,
                       std::uint32_t engines);

/// Cycles of a lane for so many stored weights of one block.
std::uint32_t block_cycles(const isa::Conv& conv, const EngineShape& shape, std::uint32_t weights);

}  // namespace steppe
