// SPDX-License-Identifier: Apache-2.0
// The layers of the vector unit.
#include "workloads/reference/layers.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "models/base/error.h"

namespace steppe::reference {
namespace {

using Row = Eigen::Map<const Eigen::Array<std::int8_t, Eigen::Dynamic, 1>>;

float dequantised(const State& state, net::TensorId id, std::size_t element) {
  const net::Quant& quant = state.info(id).quant;
  return static_cast<float>(state.in(id)[element] - quant.zero) * quant.scale;
}

float apply(net::EltwiseFunction function, float a, float b) {
  switch (function) {
    case net::EltwiseFunction::add:
      return a + b;
    case net::EltwiseFunction::sub:
      return a - b;
    case net::EltwiseFunction::mul:
      return a * b;
    case net::EltwiseFunction::div:
      return a / b;
    case net::EltwiseFunction::max:
      return a < b ? b : a;
    case net::EltwiseFunction::min:
      return b < a ? b : a;
  }
  STEPPE_CHECK(false, "no such function");
}

/// Index into an operand of `shape` for element (n, y, x, c) of the output.
std::size_t broadcast_index(const net::Shape& shape, std::uint32_t n, std::uint32_t y,
                            std::uint32_t x, std::uint32_t c) {
  const auto pick = [](std::uint32_t extent, std::uint32_t at) { return extent == 1 ? 0U : at; };
  return ((std::size_t{pick(shape.n, n)} * shape.h + pick(shape.h, y)) * shape.w +
          pick(shape.w, x)) *
             shape.c +
         pick(shape.c, c);
}

}  // namespace

std::int8_t store(float value, std::int32_t zero, std::int32_t low, std::int32_t high) {
  if (std::isnan(value)) return static_cast<std::int8_t>(low);
  const float moved = std::rint(value) + static_cast<float>(zero);
  const float bounded =
      std::min(std::max(moved, static_cast<float>(low)), static_cast<float>(high));
  return static_cast<std::int8_t>(bounded);
}

void execute(const State& state, const net::Eltwise& layer) {
  const net::Tensor& out = state.info(layer.out);
  const net::Shape& shape = out.shape;
  const bool constant = layer.b == net::no_tensor;
  const net::Shape& b_shape = constant ? layer.b_shape : state.info(layer.b).shape;
  const float inverse = 1.0F / out.quant.scale;
  Values& result = state.out(layer.out);
  std::size_t element = 0;
  for (std::uint32_t n = 0; n < shape.n; ++n) {
    for (std::uint32_t y = 0; y < shape.h; ++y) {
      for (std::uint32_t x = 0; x < shape.w; ++x) {
        for (std::uint32_t c = 0; c < shape.c; ++c, ++element) {
          const std::size_t other = broadcast_index(b_shape, n, y, x, c);
          const float a = dequantised(state, layer.a, element);
          const float b =
              constant ? (*layer.b_constant.data)[other] : dequantised(state, layer.b, other);
          result[element] = store(apply(layer.function, a, b) * inverse, out.quant.zero,
                                  layer.clamp.low, layer.clamp.high);
        }
      }
    }
  }
}

void execute(const State& state, const net::Lut& layer) {
  Values& result = state.out(layer.out);
  std::ranges::transform(state.in(layer.in), result.begin(), [&](std::int8_t q) {
    return (*layer.table.data)[static_cast<std::size_t>(q + 128)];
  });
}

void execute(const State& state, const net::Pool& layer) {
  const net::Tensor& in = state.info(layer.in);
  const net::Tensor& out = state.info(layer.out);
  const Values& values = state.in(layer.in);
  const float multiplier = in.quant.scale / out.quant.scale;
  Values& result = state.out(layer.out);
  std::size_t element = 0;
  for (std::uint32_t row = 0; row < out.shape.n * out.shape.h; ++row) {
    const std::uint32_t image = row / out.shape.h;
    const std::int64_t top = std::int64_t{row % out.shape.h} * layer.stride_h - layer.pad_top;
    for (std::uint32_t x = 0; x < out.shape.w; ++x) {
      const std::int64_t left = std::int64_t{x} * layer.stride_w - layer.pad_left;
      for (std::uint32_t c = 0; c < out.shape.c; ++c, ++element) {
        std::int32_t sum = 0;
        std::int32_t inside = 0;
        std::int32_t largest = -128;
        for (std::int64_t iy = std::max<std::int64_t>(top, 0);
             iy < std::min<std::int64_t>(top + layer.kernel_h, in.shape.h); ++iy) {
          for (std::int64_t ix = std::max<std::int64_t>(left, 0);
               ix < std::min<std::int64_t>(left + layer.kernel_w, in.shape.w); ++ix) {
            const auto at = static_cast<std::size_t>(
                ((std::int64_t{image} * in.shape.h + iy) * in.shape.w + ix) * in.shape.c + c);
            sum += values[at] - in.quant.zero;
            largest = std::max<std::int32_t>(largest, values[at]);
            ++inside;
          }
        }
        if (!layer.average) {
          result[element] = static_cast<std::int8_t>(largest);
          continue;
        }
        const auto window = static_cast<std::int32_t>(layer.kernel_h * layer.kernel_w);
        const std::int32_t count = layer.count_padding ? window : inside;
        const float mean = static_cast<float>(sum) / static_cast<float>(count);
        result[element] = store(mean * multiplier, out.quant.zero);
      }
    }
  }
}

void execute(const State& state, const net::Softmax& layer) {
  const net::Tensor& in = state.info(layer.in);
  const net::Tensor& out = state.info(layer.out);
  const float inverse = 1.0F / out.quant.scale;
  Values& result = state.out(layer.out);
  std::vector<float> powers(in.shape.c);
  for (std::size_t from = 0; from < result.size(); from += in.shape.c) {
    const Row row(state.in(layer.in).data() + from, in.shape.c);
    const std::int32_t largest = row.cast<std::int32_t>().maxCoeff();
    float sum = 0;
    for (std::uint32_t i = 0; i < in.shape.c; ++i) {
      const float x = static_cast<float>(row[i] - largest) * in.quant.scale;
      powers[i] = static_cast<float>(std::exp(static_cast<double>(x)));
      sum = i == 0 ? powers[0] : sum + powers[i];
    }
    for (std::uint32_t i = 0; i < in.shape.c; ++i) {
      result[from + i] = store((powers[i] / sum) * inverse, out.quant.zero);
    }
  }
}

void execute(const State& state, const net::LayerNorm& layer) {
  const net::Tensor& in = state.info(layer.in);
  const net::Tensor& out = state.info(layer.out);
  const std::uint32_t n = in.shape.c;
  const float count = static_cast<float>(n);
  const float scale = in.quant.scale;
  const float inverse = 1.0F / out.quant.scale;
  Values& result = state.out(layer.out);
  for (std::size_t from = 0; from < result.size(); from += n) {
    const Eigen::Array<std::int64_t, Eigen::Dynamic, 1> d =
        Row(state.in(layer.in).data() + from, n).cast<std::int64_t>() - in.quant.zero;
    const std::int64_t a = d.sum();
    const std::int64_t b = n * d.square().sum() - a * a;
    const float mean = static_cast<float>(a) / count;
    const float variance = static_cast<float>(b) / (count * count);
    const float root = std::sqrt((variance * scale) * scale + layer.epsilon);
    const float reciprocal = 1.0F / root;
    for (std::uint32_t i = 0; i < n; ++i) {
      float value = ((static_cast<float>(d[i]) - mean) * scale) * reciprocal;
      value = value * (*layer.gain.data)[i];
      value = value + (*layer.shift.data)[i];
      result[from + i] = store(value * inverse, out.quant.zero);
    }
  }
}

void execute(const State& state, const net::Permute& layer) {
  Values& result = state.out(layer.out);
  for (const net::PermutePart& part : layer.parts) {
    const Values& source = state.in(part.in);
    const std::size_t total =
        std::size_t{part.size[0]} * part.size[1] * part.size[2] * part.size[3] * part.size[4];
    for (std::size_t index = 0; index < total; ++index) {
      std::int64_t from = part.in_start;
      std::int64_t to = part.out_start;
      std::size_t rest = index;
      for (std::size_t axis = part.size.size(); axis-- > 0;) {
        const auto at = static_cast<std::int64_t>(rest % part.size[axis]);
        from += at * part.in_step[axis];
        to += at * part.out_step[axis];
        rest /= part.size[axis];
      }
      result[static_cast<std::size_t>(to)] = source[static_cast<std::size_t>(from)];
    }
  }
}

void execute(const State& state, const net::CacheStore& layer) {
  const net::Shape& shape = state.info(layer.in).shape;
  const Values& source = state.in(layer.in);
  Values& cache = state.tensors[layer.cache];
  for (std::uint64_t row = 0; row < shape.rows(); ++row) {
    const auto from = source.begin() + static_cast<std::ptrdiff_t>(row * shape.row_bytes());
    std::copy_n(from, shape.row_bytes(),
                cache.begin() + static_cast<std::ptrdiff_t>(layer.offset + row * layer.row_pitch));
  }
}

}  // namespace steppe::reference
