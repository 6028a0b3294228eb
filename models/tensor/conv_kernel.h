// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "models/base/workers.h"
#include "models/isa/isa.h"
#include "models/numerics/sparse.h"

namespace steppe {

/// Pointers to a Conv's operands; the ranges that the instruction spans have been checked.
struct ConvOperands {
  const std::uint8_t* in = nullptr;
  const std::uint8_t* weights = nullptr;
  const std::uint8_t* scales = nullptr;
  std::uint8_t* out = nullptr;
  const std::uint8_t* residual = nullptr;
  const std::int8_t* lut = nullptr;
  const std::uint8_t* partial = nullptr;
};

/// The shape of a Conv's weight records.
numerics::RecordShape record_shape(const isa::Conv& conv);
/// The record of one output channel: to the next one's begin where its length depends on its masks.
std::span<const std::uint8_t> record_of(const isa::Conv& conv, const numerics::RecordShape& shape,
                                        const std::uint8_t* records, std::uint32_t channel);

/// A Conv's non-zero weights, by output channel.
template <typename Item>
class DecodedWeights {
 public:
  using Weight = numerics::SparseWeight<Item>;

  void decode(const isa::Conv& conv, const std::uint8_t* records, Workers& workers);
  [[nodiscard]] std::span<const Weight> channel(std::uint32_t channel) const {
    return {weights_.data() + channel * room_, counts_[channel]};
  }

 private:
  std::size_t room_ = 0;  ///< for the weights of one channel
  std::vector<Weight> weights_;
  std::vector<std::size_t> counts_;
};

/// An output position: where its window starts, and the bytes from the operands' starts to it.
struct ConvPosition {
  std::int64_t row;
  std::int64_t column;
  std::size_t out;
  std::size_t residual;
  std::size_t partial;
};

/// Computes Conv instructions, following models/numerics/README.md, with all workers. Keeps its
/// buffers between calls. Item: std::int8_t or numerics::Bf16, the type of input and weights.
template <typename Item>
class ConvKernel {
 public:
  explicit ConvKernel(Workers& workers) : workers_(workers), scratch_(workers.count()) {}

  void run(const isa::Conv& conv, const ConvOperands& operands);

 private:
  /// What an input is widened to before it is multiplied.
  using Activation = std::conditional_t<std::is_same_v<Item, std::int8_t>, std::int16_t, float>;

  /// The buffers of one worker.
  struct Scratch {
    std::vector<ConvPosition> positions;  ///< those of the tile under work
    std::vector<Activation> activations;  ///< [k][conv_loops::tile]
  };

  void gather(const isa::Conv& conv, const ConvOperands& operands, std::uint32_t group,
              Scratch& scratch) const;
  void compute_tile(const isa::Conv& conv, const ConvOperands& operands, std::uint32_t begin,
                    std::uint32_t end, Scratch& scratch) const;

  Workers& workers_;
  DecodedWeights<Item> weights_;
  std::vector<Scratch> scratch_;
};

extern template class ConvKernel<std::int8_t>;
extern template class ConvKernel<numerics::Bf16>;

}  // namespace steppe
