// SPDX-License-Identifier: Apache-2.0
// Conv and MatMul. int8: Eigen products of int32 matrices; Eigen multiplies unsigned integers,
// whose sums wrap modulo 2^32 as the contract says, without the undefined overflow of signed ones.
// bf16: sums in the order of the contract, one product after another.
#include <Eigen/Core>

#include "workloads/reference/layers.h"

namespace steppe::reference {
namespace {

template <typename T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Integers = Matrix<std::uint32_t>;
using Reals = Matrix<float>;

std::uint32_t widen(std::int8_t value) {
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
}
float widen(float value) { return value; }

/// Rows: output positions of one row of one image; columns: kernel row, kernel column, channel.
template <typename T, typename Item>
Matrix<T> patches(const State& state, const net::Conv& layer, const std::vector<Item>& values,
                  std::uint32_t image, std::uint32_t y, std::uint32_t group) {
  const net::Tensor& tensor = state.info(layer.in);
  const net::Shape& in = tensor.shape;
  const std::uint32_t channels = in.c / layer.groups;
  const std::uint32_t width = state.info(layer.out).shape.w;
  Matrix<T> result =
      Matrix<T>::Constant(width, Eigen::Index{layer.kernel_h} * layer.kernel_w * channels,
                          widen(static_cast<Item>(tensor.quant.zero)));
  for (std::uint32_t ky = 0; ky < layer.kernel_h; ++ky) {
    const std::int64_t row =
        std::int64_t{y} * layer.stride_h + std::int64_t{ky} * layer.dilation_h - layer.pad_top;
    if (row < 0 || row >= in.h) continue;
    for (std::uint32_t x = 0; x < width; ++x) {
      for (std::uint32_t kx = 0; kx < layer.kernel_w; ++kx) {
        const std::int64_t column =
            std::int64_t{x} * layer.stride_w + std::int64_t{kx} * layer.dilation_w - layer.pad_left;
        if (column < 0 || column >= in.w) continue;
        const std::size_t from =
            ((std::size_t{image} * in.h + static_cast<std::size_t>(row)) * in.w +
             static_cast<std::size_t>(column)) *
                in.c +
            std::size_t{group} * channels;
        const std::uint32_t to = (ky * layer.kernel_w + kx) * channels;
        for (std::uint32_t c = 0; c < channels; ++c) result(x, to + c) = widen(values[from + c]);
      }
    }
  }
  return result;
}

/// Columns: output channels of the group.
template <typename T, typename Item>
Matrix<T> group_weights(const State& state, const net::Conv& layer, const std::vector<Item>& values,
                        std::uint32_t group) {
  const std::uint32_t channels = state.info(layer.out).shape.c / layer.groups;
  const std::size_t k = layer.weights.size / state.info(layer.out).shape.c;
  Matrix<T> result(static_cast<Eigen::Index>(k), channels);
  for (std::uint32_t oc = 0; oc < channels; ++oc) {
    const Item* record = values.data() + (std::size_t{group} * channels + oc) * k;
    for (std::size_t i = 0; i < k; ++i) result(static_cast<Eigen::Index>(i), oc) = widen(record[i]);
  }
  return result;
}

/// acc = bias, then a rounded sum for each weight that is not zero.
template <typename Patch, typename Weight>
float ordered_sum(float bias, const Patch& patch, const Weight& weight) {
  float sum = bias;
  for (Eigen::Index i = 0; i < weight.size(); ++i) {
    if (weight[i] == 0.0F) continue;
    const float product = patch[i] * weight[i];
    sum = sum + product;
  }
  return sum;
}

void finish(const State& state, const net::Conv& layer, float value, std::size_t element) {
  const net::Tensor& out = state.info(layer.out);
  if (layer.residual != net::no_tensor) {
    const Values& residual = state.in(layer.residual);
    const std::int32_t zero = state.info(layer.residual).quant.zero;
    const float other = out.type == net::Type::int8
                            ? static_cast<float>(residual.int8[element] - zero)
                            : residual.real[element];
    const float scaled = other * layer.residual_scale;
    value = value + scaled;
  }
  if (out.type != net::Type::int8) return state.put(layer.out, element, value, layer.clamp);
  const bool tabled = layer.lut.size != 0;
  const std::int32_t zero = tabled ? layer.sum_zero : out.quant.zero;
  std::int8_t stored = store(value, zero, layer.clamp.low, layer.clamp.high);
  if (tabled) stored = (*layer.lut.data)[static_cast<std::size_t>(stored + 128)];
  state.tensors[layer.out].int8[element] = stored;
}

/// Calls element(row, position, channel of the group) for all results of a group.
template <typename Row, typename Element>
void for_group(const net::Shape& out, std::uint32_t channels, Row row, Element element) {
  for (std::uint32_t y = 0; y < out.n * out.h; ++y) {
    const auto& values = row(y);
    for (std::uint32_t x = 0; x < out.w; ++x) {
      for (std::uint32_t oc = 0; oc < channels; ++oc) element(values, y, x, oc);
    }
  }
}

void int8_group(const State& state, const net::Conv& layer, std::uint32_t group) {
  const net::Shape& out = state.info(layer.out).shape;
  const std::uint32_t channels = out.c / layer.groups;
  const auto weights = group_weights<std::uint32_t>(state, layer, *layer.weights.int8, group);
  Integers sums;
  for_group(
      out, channels,
      [&](std::uint32_t y) -> const Integers& {
        return sums = patches<std::uint32_t>(state, layer, state.in(layer.in).int8, y / out.h,
                                             y % out.h, group) *
                      weights;
      },
      [&](const Integers& row, std::uint32_t y, std::uint32_t x, std::uint32_t oc) {
        const std::uint32_t channel = group * channels + oc;
        const std::uint32_t biased =
            row(x, oc) + static_cast<std::uint32_t>((*layer.bias.data)[channel]);
        const float value = static_cast<float>(static_cast<std::int32_t>(biased)) *
                            (*layer.multiplier.data)[channel];
        finish(state, layer, value, (std::size_t{y} * out.w + x) * out.c + channel);
      });
}

void bf16_group(const State& state, const net::Conv& layer, std::uint32_t group) {
  const net::Shape& out = state.info(layer.out).shape;
  const std::uint32_t channels = out.c / layer.groups;
  const Reals weights = group_weights<float>(state, layer, *layer.weights.bf16, group);
  Reals patch;
  for_group(
      out, channels,
      [&](std::uint32_t y) -> const Reals& {
        return patch = patches<float>(state, layer, state.in(layer.in).real, y / out.h, y % out.h,
                                      group);
      },
      [&](const Reals& row, std::uint32_t y, std::uint32_t x, std::uint32_t oc) {
        const std::uint32_t channel = group * channels + oc;
        const float sum =
            ordered_sum((*layer.bias_fp32.data)[channel], row.row(x), weights.col(oc));
        finish(state, layer, sum * (*layer.multiplier.data)[channel],
               (std::size_t{y} * out.w + x) * out.c + channel);
      });
}

}  // namespace

void execute(const State& state, const net::Conv& layer) {
  state.out(layer.out);
  const bool int8 = state.info(layer.in).type == net::Type::int8;
  for (std::uint32_t group = 0; group < layer.groups; ++group) {
    (int8 ? int8_group : bf16_group)(state, layer, group);
  }
}

void execute(const State& state, const net::MatMul& layer) {
  const net::Shape& a = state.info(layer.a).shape;
  const net::Shape& b = state.info(layer.b).shape;
  const bool int8 = state.info(layer.a).type == net::Type::int8;
  state.out(layer.out);
  const auto matrix = [](const auto& values, const net::Shape& shape, std::uint32_t image,
                         auto& to) {
    to.resize(shape.h, shape.c);
    const std::size_t from = std::size_t{image} * shape.h * shape.c;
    for (std::uint32_t i = 0; i < shape.h * shape.c; ++i) to.data()[i] = widen(values[from + i]);
  };
  for (std::uint32_t image = 0; image < a.n; ++image) {
    const std::size_t first = std::size_t{image} * a.h * b.h;
    Integers ints, int_weights;
    Reals reals, real_weights;
    if (int8) {
      matrix(state.in(layer.a).int8, a, image, ints);
      matrix(state.in(layer.b).int8, b, image, int_weights);
      ints = (ints * int_weights.transpose()).eval();
    } else {
      matrix(state.in(layer.a).real, a, image, reals);
      matrix(state.in(layer.b).real, b, image, real_weights);
    }
    for (std::uint32_t i = 0; i < a.h * b.h; ++i) {
      const float sum = int8 ? static_cast<float>(static_cast<std::int32_t>(ints.data()[i]))
                             : ordered_sum(0.0F, reals.row(i / b.h), real_weights.row(i % b.h));
      const float value = sum * layer.multiplier;
      if (state.info(layer.out).type == net::Type::int8) {
        state.tensors[layer.out].int8[first + i] =
            store(value, state.info(layer.out).quant.zero, layer.clamp.low, layer.clamp.high);
      } else {
        state.put(layer.out, first + i, value, layer.clamp);
      }
    }
  }
}

}  // namespace steppe::reference
