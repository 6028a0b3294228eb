// SPDX-License-Identifier: Apache-2.0
// Conv and MatMul: Eigen products of int32 matrices. Eigen multiplies unsigned integers, whose sums
// wrap modulo 2^32 as the contract says, without the undefined overflow of signed ones.
#include <Eigen/Core>

#include "workloads/reference/layers.h"

namespace steppe::reference {
namespace {

using Matrix = Eigen::Matrix<std::uint32_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

std::uint32_t widen(std::int8_t value) {
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
}

/// Rows: output positions of one row of one image; columns: kernel row, kernel column, channel.
Matrix patches(const State& state, const net::Conv& layer, std::uint32_t image, std::uint32_t y,
               std::uint32_t group) {
  const net::Tensor& tensor = state.info(layer.in);
  const net::Shape& in = tensor.shape;
  const std::uint32_t channels = in.c / layer.groups;
  const std::uint32_t width = state.info(layer.out).shape.w;
  const Values& values = state.in(layer.in);
  Matrix result = Matrix::Constant(width, Eigen::Index{layer.kernel_h} * layer.kernel_w * channels,
                                   widen(static_cast<std::int8_t>(tensor.quant.zero)));
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

Matrix group_weights(const State& state, const net::Conv& layer, std::uint32_t group) {
  const std::uint32_t channels = state.info(layer.out).shape.c / layer.groups;
  const std::size_t k = layer.weights.size / state.info(layer.out).shape.c;
  Matrix result(static_cast<Eigen::Index>(k), channels);
  for (std::uint32_t oc = 0; oc < channels; ++oc) {
    const std::int8_t* record =
        layer.weights.data->data() + (std::size_t{group} * channels + oc) * k;
    for (std::size_t i = 0; i < k; ++i) result(static_cast<Eigen::Index>(i), oc) = widen(record[i]);
  }
  return result;
}

std::int8_t finish(const State& state, const net::Conv& layer, std::uint32_t sum,
                   std::uint32_t channel, std::size_t element) {
  const std::uint32_t biased = sum + static_cast<std::uint32_t>((*layer.bias.data)[channel]);
  float value = static_cast<float>(static_cast<std::int32_t>(biased));
  value *= (*layer.multiplier.data)[channel];
  if (layer.residual != net::no_tensor) {
    const std::int32_t zero = state.info(layer.residual).quant.zero;
    value += static_cast<float>(state.in(layer.residual)[element] - zero) * layer.residual_scale;
  }
  const std::int8_t stored =
      store(value, state.info(layer.out).quant.zero, layer.clamp.low, layer.clamp.high);
  if (layer.lut.size == 0) return stored;
  return (*layer.lut.data)[static_cast<std::size_t>(stored + 128)];
}

}  // namespace

void execute(const State& state, const net::Conv& layer) {
  const net::Shape& out = state.info(layer.out).shape;
  const std::uint32_t channels = out.c / layer.groups;
  Values& result = state.out(layer.out);
  for (std::uint32_t group = 0; group < layer.groups; ++group) {
    const Matrix weights = group_weights(state, layer, group);
    for (std::uint32_t row = 0; row < out.n * out.h; ++row) {
      const Matrix sums = patches(state, layer, row / out.h, row % out.h, group) * weights;
      for (std::uint32_t x = 0; x < out.w; ++x) {
        for (std::uint32_t oc = 0; oc < channels; ++oc) {
          const std::uint32_t channel = group * channels + oc;
          const std::size_t element = (std::size_t{row} * out.w + x) * out.c + channel;
          result[element] = finish(state, layer, sums(x, oc), channel, element);
        }
      }
    }
  }
}

void execute(const State& state, const net::MatMul& layer) {
  const net::Shape& a = state.info(layer.a).shape;
  const net::Shape& b = state.info(layer.b).shape;
  const std::int32_t zero = state.info(layer.out).quant.zero;
  Values& result = state.out(layer.out);
  for (std::uint32_t image = 0; image < a.n; ++image) {
    const auto matrix = [&](net::TensorId id, const net::Shape& shape) {
      Matrix values(shape.h, shape.c);
      const std::size_t from = std::size_t{image} * shape.h * shape.c;
      for (std::uint32_t i = 0; i < shape.h * shape.c; ++i) {
        values.data()[i] = widen(state.in(id)[from + i]);
      }
      return values;
    };
    const Matrix sums = matrix(layer.a, a) * matrix(layer.b, b).transpose();
    for (std::uint32_t i = 0; i < a.h * b.h; ++i) {
      const float value =
          static_cast<float>(static_cast<std::int32_t>(sums.data()[i])) * layer.multiplier;
      result[std::size_t{image} * a.h * b.h + i] =
          store(value, zero, layer.clamp.low, layer.clamp.high);
    }
  }
}

}  // namespace steppe::reference
