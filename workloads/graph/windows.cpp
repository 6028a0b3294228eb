// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "workloads/graph/kernels.h"

namespace steppe::graph::kernels {
namespace {

/// A window's place on one axis, cut to the axis.
struct Span {
  std::int64_t first, end;  ///< indices of the kernel that lie inside
  std::int64_t start;       ///< position of kernel index 0
  std::int64_t counted;     ///< kernel indices inside the padded axis
};

struct WindowAxis {
  std::int64_t size = 1, out = 1, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;

  WindowAxis() = default;
  WindowAxis(const Call<float>& call, std::size_t axis) {
    const Node& node = call.node;
    const std::size_t axes = call.in_shape(0).size() - 2;
    size = call.in_shape(0)[axis + 2];
    out = call.out_shape()[axis + 2];
    kernel = node.integers("kernel_shape")[axis];
    stride = node.integers("strides")[axis];
    dilation = node.integers("dilations")[axis];
    before = node.integers("pads")[axis];
    after = node.integers("pads")[axis + axes];
  }

  [[nodiscard]] Span at(std::int64_t o) const {
    Span span{0, 0, o * stride - before, 0};
    span.first = span.start < 0 ? (-span.start + dilation - 1) / dilation : 0;
    span.end = std::min(kernel, (size - span.start + dilation - 1) / dilation);
    span.first = std::min(span.first, kernel);
    span.end = std::max(span.end, span.first);
    span.counted = std::min(kernel, (size + after - span.start + dilation - 1) / dilation);
    return span;
  }
};

/// Calls f(plane's input, window rows, window columns, row width) for every element of the result,
/// in order.
template <typename F>
void for_each_window(const Call<float>& call, F f) {
  const Shape& x = call.in_shape(0);
  const WindowAxis rows(call, 0);
  const WindowAxis columns = x.size() > 3 ? WindowAxis(call, 1) : WindowAxis();
  float* out = call.out;
  for (std::int64_t plane = 0; plane < x[0] * x[1]; ++plane) {
    const float* in = call.in[0] + plane * rows.size * columns.size;
    for (std::int64_t y = 0; y < rows.out; ++y) {
      const Span vertical = rows.at(y);
      for (std::int64_t column = 0; column < columns.out; ++column) {
        *out++ = f(in, vertical, columns.at(column), rows, columns);
      }
    }
  }
}

template <typename F>
void visit(const float* in, const Span& v, const Span& h, const WindowAxis& rows,
           const WindowAxis& columns, F f) {
  for (std::int64_t ky = v.first; ky < v.end; ++ky) {
    const float* row = in + (v.start + ky * rows.dilation) * columns.size;
    for (std::int64_t kx = h.first; kx < h.end; ++kx) f(row[h.start + kx * columns.dilation]);
  }
}

}  // namespace

void max_pool(const Call<float>& call) {
  for_each_window(call, [](const float* in, const Span& v, const Span& h, const WindowAxis& rows,
                           const WindowAxis& columns) {
    float largest = -std::numeric_limits<float>::infinity();
    visit(in, v, h, rows, columns, [&](float x) { largest = std::max(largest, x); });
    return largest;
  });
}

void average_pool(const Call<float>& call) {
  const bool padding = call.node.integer("count_include_pad") != 0;
  for_each_window(call, [&](const float* in, const Span& v, const Span& h, const WindowAxis& rows,
                            const WindowAxis& columns) {
    double sum = 0.0;
    visit(in, v, h, rows, columns, [&](float x) { sum += double{x}; });
    const std::int64_t inside = (v.end - v.first) * (h.end - h.first);
    const std::int64_t count = padding ? v.counted * h.counted : inside;
    return count == 0 ? 0.0F : static_cast<float>(sum / static_cast<double>(count));
  });
}

void global_average_pool(const Call<float>& call) {
  const std::size_t planes = call.out_size();
  if (planes == 0) return;
  const std::size_t size = call.in_size(0) / planes;
  for (std::size_t plane = 0; plane < planes; ++plane) {
    double sum = 0.0;
    for (std::size_t i = 0; i < size; ++i) sum += double{call.in[0][plane * size + i]};
    call.out[plane] = static_cast<float>(sum / static_cast<double>(size));
  }
}

void reduce_mean(const Call<float>& call) {
  const Shape& shape = call.in_shape(0);
  const Shape& axes = call.node.integers("axes");
  Shape kept = shape;  // the result with the reduced axes kept
  for (const std::int64_t axis : axes) kept[static_cast<std::size_t>(axis)] = 1;
  const Shape steps = broadcast_steps(kept, shape);
  std::vector<double> sums(call.out_size(), 0.0);
  Shape index(shape.size(), 0);
  std::int64_t to = 0;
  const std::size_t size = call.in_size(0);
  for (std::size_t i = 0; i < size; ++i) {
    sums[static_cast<std::size_t>(to)] += double{call.in[0][i]};
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      to += steps[axis];
      if (++index[axis] < shape[axis]) break;
      to -= steps[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    call.out[i] =
        static_cast<float>(sums[i] * static_cast<double>(sums.size()) / static_cast<double>(size));
  }
}

void softmax(const Call<float>& call) {
  const std::int64_t axis = call.node.integer("axis");
  const std::int64_t size = call.in_shape(0)[static_cast<std::size_t>(axis)];
  const std::int64_t step = row_major_steps(call.in_shape(0))[static_cast<std::size_t>(axis)];
  for (std::int64_t front = 0; front < call.in_front(axis); ++front) {
    for (std::int64_t behind = 0; behind < step; ++behind) {
      const float* in = call.in[0] + front * size * step + behind;
      float* out = call.out + front * size * step + behind;
      float largest = -std::numeric_limits<float>::infinity();
      for (std::int64_t i = 0; i < size; ++i) largest = std::max(largest, in[i * step]);
      double sum = 0.0;
      for (std::int64_t i = 0; i < size; ++i) {
        out[i * step] = std::exp(in[i * step] - largest);
        sum += double{out[i * step]};
      }
      for (std::int64_t i = 0; i < size; ++i) {
        out[i * step] = static_cast<float>(double{out[i * step]} / sum);
      }
    }
  }
}

void layer_norm(const Call<float>& call) {
  const std::int64_t rows = call.in_front(call.node.integer("axis"));
  if (call.out_size() == 0) return;
  const std::size_t size = call.in_size(0) / static_cast<std::size_t>(rows);
  const auto epsilon = double{call.node.real("epsilon")};
  const auto affine = [&](std::size_t input, std::size_t i, float absent) {
    return call.in.size() > input && call.in[input] != nullptr ? call.in[input][i] : absent;
  };
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    const float* in = call.in[0] + row * size;
    double mean = 0.0;
    for (std::size_t i = 0; i < size; ++i) mean += double{in[i]};
    mean /= static_cast<double>(size);
    double variance = 0.0;
    for (std::size_t i = 0; i < size; ++i) variance += std::pow(double{in[i]} - mean, 2);
    const double factor = 1.0 / std::sqrt(variance / static_cast<double>(size) + epsilon);
    for (std::size_t i = 0; i < size; ++i) {
      const double y = (double{in[i]} - mean) * factor;
      call.out[row * size + i] = static_cast<float>(y) * affine(1, i, 1.0F) + affine(2, i, 0.0F);
    }
  }
}

}  // namespace steppe::graph::kernels
