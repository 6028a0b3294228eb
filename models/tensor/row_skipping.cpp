// SPDX-License-Identifier: Apache-2.0
#include "models/tensor/row_skipping.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "models/tensor/lane_timing.h"

namespace steppe {
namespace {

/// Which K rows of a group's input are zero at all positions of a column group, by block: bit i
/// stands for row i of the block. Rows behind K are none of them.
template <typename Item>
class ZeroRows {
 public:
  ZeroRows(const isa::Conv& conv, const std::uint8_t* in) : conv_(conv), in_(in) {
    zero_.resize(std::size_t{conv.kernel_h} * conv.kernel_w * conv.in_c);
    masks_.resize(ceil_div<std::size_t>(zero_.size(), numerics::block));
  }

  void look(std::uint32_t group, std::uint32_t first, std::uint32_t end) {
    std::ranges::fill(zero_, std::uint8_t{1});
    for (std::uint32_t position = first; position < end; ++position) {
      const auto row =
          static_cast<std::int64_t>(std::uint64_t{position / conv_.out_w} * conv_.stride_h) -
          conv_.pad_top;
      const auto pixel =
          static_cast<std::int64_t>(std::uint64_t{position % conv_.out_w} * conv_.stride_w) -
          conv_.pad_left;
      std::size_t k = 0;
      for (std::uint32_t i = 0; i < conv_.kernel_h; ++i) {
        for (std::uint32_t j = 0; j < conv_.kernel_w; ++j, k += conv_.in_c) {
          tap(group, row + std::int64_t{i} * conv_.dilation_h,
              pixel + std::int64_t{j} * conv_.dilation_w, k);
        }
      }
    }
    std::ranges::fill(masks_, 0U);
    for (std::size_t k = 0; k < zero_.size(); ++k) {
      masks_[k / numerics::block] |= std::uint32_t{zero_[k]} << (k % numerics::block);
    }
  }
  [[nodiscard]] std::uint32_t mask(std::size_t block) const { return masks_[block]; }
  [[nodiscard]] std::size_t size() const { return zero_.size(); }
  [[nodiscard]] std::uint64_t count() const {
    return static_cast<std::uint64_t>(std::ranges::count(zero_, 1));
  }

 private:
  void tap(std::uint32_t group, std::int64_t row, std::int64_t pixel, std::size_t k) {
    if (row < 0 || row >= conv_.in_h || pixel < 0 || pixel >= conv_.in_w) {
      if (std::is_same_v<Item, std::int8_t> && conv_.in_zero != 0) {
        std::fill_n(zero_.begin() + static_cast<std::ptrdiff_t>(k), conv_.in_c, std::uint8_t{0});
      }
      return;
    }
    const std::uint8_t* from = in_ + row * conv_.in_row + pixel * conv_.in_pixel +
                               std::size_t{group} * conv_.in_c * sizeof(Item);
    for (std::uint32_t c = 0; c < conv_.in_c; ++c, from += sizeof(Item)) {
      if (!is_zero(from)) zero_[k + c] = 0;
    }
  }
  static bool is_zero(const std::uint8_t* from) {
    if constexpr (sizeof(Item) == 1) return *from == 0;
    std::uint16_t bits = 0;
    std::memcpy(&bits, from, sizeof bits);
    return (bits & 0x7fffU) == 0;
  }

  const isa::Conv& conv_;
  const std::uint8_t* in_;
  std::vector<std::uint8_t> zero_;
  std::vector<std::uint32_t> masks_;
};

}  // namespace

template <typename Item>
SkippedRows skip_rows(const isa::Conv& conv, const EngineShape& shape, const std::uint8_t* in,
                      const std::uint8_t* weights) {
  PassTimer timer(conv, shape);
  const ConvSizes& sizes = timer.sizes();
  const numerics::RecordShape record = record_shape(conv);
  std::vector<std::uint32_t> stored(conv.out_c * sizes.blocks);
  for (std::uint32_t c = 0; c < conv.out_c; ++c) {
    numerics::stored_masks(record_of(conv, record, weights, c), record, &stored[c * sizes.blocks]);
  }
  const std::uint32_t group_channels = conv.out_c / conv.groups;
  std::vector<ZeroRows<Item>> zero(conv.groups, ZeroRows<Item>(conv, in));
  const auto cycles = [&](std::uint32_t channel, std::uint64_t block) {
    const std::uint32_t mask = stored[channel * sizes.blocks + block];
    const auto all = static_cast<std::uint32_t>(std::popcount(mask));
    const auto live = static_cast<std::uint32_t>(
        std::popcount(mask & ~zero[channel / group_channels].mask(block)));
    return block_cycles(conv, shape, std::max(live, ceil_div(all, 1 + shape.skip_window)));
  };
  SkippedRows result;
  std::vector<std::uint64_t> whole;
  std::vector<std::uint64_t> split;
  for (std::uint32_t first = 0; first < sizes.positions; first += shape.columns) {
    const auto end = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(first + std::uint64_t{shape.columns}, sizes.positions));
    for (std::uint32_t group = 0; group < conv.groups; ++group) {
      zero[group].look(group, first, end);
      result.rows += zero[group].size();
      result.zero += zero[group].count();
    }
    timer.add_passes(1, cycles, whole);
    if (sizes.splits >= 2) timer.add_passes(sizes.splits, cycles, split);
  }
  result.cycles = last_end(whole, 1, shape.engines);
  if (!split.empty()) result.cycles = std::min(result.cycles, last_end(split, 1, shape.engines));
  return result;
}

template SkippedRows skip_rows<std::int8_t>(const isa::Conv&, const EngineShape&,
                                            const std::uint8_t*, const std::uint8_t*);
template SkippedRows skip_rows<numerics::Bf16>(const isa::Conv&, const EngineShape&,
                                               const std::uint8_t*, const std::uint8_t*);

}  // namespace steppe
