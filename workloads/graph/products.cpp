// SPDX-License-Identifier: Apache-2.0
#include <Eigen/Core>
#include <algorithm>

#include "workloads/graph/kernels.h"

namespace steppe::graph::kernels {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstMap = Eigen::Map<const Matrix>;
using Map = Eigen::Map<Matrix>;

constexpr std::int64_t max_patch_elements = std::int64_t{1} << 22;  ///< 16 MiB of patches at a time

/// A convolution over two axes; one axis is taken as a column.
struct Geometry {
  std::int64_t n, ic, h, w, oc, oh, ow, kh, kw, sh, sw, dh, dw, top, left, group;

  explicit Geometry(const Call<float>& call) {
    const Node& node = call.node;
    const Shape& x = call.in_shape(0);
    const Shape& out = call.out_shape();
    const bool flat = x.size() == 3;
    const auto second = [&](const char* key) { return flat ? 1 : node.integers(key)[1]; };
    n = x[0];
    ic = x[1];
    h = x[2];
    w = flat ? 1 : x[3];
    oc = out[1];
    oh = out[2];
    ow = flat ? 1 : out[3];
    kh = node.integers("kernel_shape")[0];
    kw = second("kernel_shape");
    sh = node.integers("strides")[0];
    sw = second("strides");
    dh = node.integers("dilations")[0];
    dw = second("dilations");
    top = node.integers("pads")[0];
    left = flat ? 0 : node.integers("pads")[1];
    group = node.integer("group");
  }

  [[nodiscard]] std::int64_t k() const { return ic / group * kh * kw; }
  [[nodiscard]] bool is_product() const {
    return kh * kw == 1 && sh * sw == 1 && top == 0 && left == 0 && oh == h && ow == w;
  }
};

/// One row of the patch matrix: what one weight of one channel meets at output rows
/// [first, first + rows).
void patch_row(const Geometry& g, const float* plane, std::int64_t ky, std::int64_t kx,
               std::int64_t first, std::int64_t rows, float* out) {
  for (std::int64_t oy = first; oy < first + rows; ++oy, out += g.ow) {
    const std::int64_t y = oy * g.sh - g.top + ky * g.dh;
    if (y < 0 || y >= g.h) {
      std::fill_n(out, g.ow, 0.0F);
      continue;
    }
    const float* row = plane + y * g.w;
    for (std::int64_t ox = 0; ox < g.ow; ++ox) {
      const std::int64_t x = ox * g.sw - g.left + kx * g.dw;
      out[ox] = x < 0 || x >= g.w ? 0.0F : row[x];
    }
  }
}

/// One image and one group of channels by products of weights and patches.
void by_patches(const Geometry& g, const float* x, const float* weights, float* out) {
  const std::int64_t channels = g.oc / g.group;
  const ConstMap w(weights, channels, g.k());
  if (g.is_product()) {
    Map(out, channels, g.oh * g.ow).noalias() = w * ConstMap(x, g.k(), g.h * g.w);
    return;
  }
  const std::int64_t step = std::max<std::int64_t>(1, max_patch_elements / (g.k() * g.ow));
  Matrix patches;
  for (std::int64_t first = 0; first < g.oh; first += step) {
    const std::int64_t rows = std::min(step, g.oh - first);
    patches.resize(g.k(), rows * g.ow);
    float* row = patches.data();
    for (std::int64_t c = 0; c < g.ic / g.group; ++c) {
      for (std::int64_t ky = 0; ky < g.kh; ++ky) {
        for (std::int64_t kx = 0; kx < g.kw; ++kx, row += rows * g.ow) {
          patch_row(g, x + c * g.h * g.w, ky, kx, first, rows, row);
        }
      }
    }
    Map result(out, channels, g.oh * g.ow);
    result.middleCols(first * g.ow, rows * g.ow).noalias() = w * patches;
  }
}

/// One channel of a depthwise convolution: the sum of shifted, scaled planes.
void depthwise(const Geometry& g, const float* x, const float* weights, float* out) {
  std::fill_n(out, g.oh * g.ow, 0.0F);
  for (std::int64_t ky = 0; ky < g.kh; ++ky) {
    for (std::int64_t kx = 0; kx < g.kw; ++kx) {
      const float weight = weights[ky * g.kw + kx];
      for (std::int64_t oy = 0; oy < g.oh; ++oy) {
        const std::int64_t y = oy * g.sh - g.top + ky * g.dh;
        if (y < 0 || y >= g.h) continue;
        const float* row = x + y * g.w;
        for (std::int64_t ox = 0; ox < g.ow; ++ox) {
          const std::int64_t column = ox * g.sw - g.left + kx * g.dw;
          if (column >= 0 && column < g.w) out[oy * g.ow + ox] += weight * row[column];
        }
      }
    }
  }
}

}  // namespace

void conv(const Call<float>& call) {
  const Geometry g(call);
  if (call.out_size() == 0) return;
  const std::int64_t per_group = g.oc / g.group;
  for (std::int64_t image = 0; image < g.n; ++image) {
    for (std::int64_t group = 0; group < g.group; ++group) {
      const float* x = call.in[0] + (image * g.ic + group * (g.ic / g.group)) * g.h * g.w;
      const float* w = call.in[1] + group * per_group * g.k();
      float* out = call.out + (image * g.oc + group * per_group) * g.oh * g.ow;
      if (g.ic == g.group && per_group == 1) {
        depthwise(g, x, w, out);
      } else {
        by_patches(g, x, w, out);
      }
    }
  }
  if (call.in.size() < 3 || call.in[2] == nullptr) return;
  for (std::int64_t plane = 0; plane < g.n * g.oc; ++plane) {
    Eigen::Map<Eigen::ArrayXf>(call.out + plane * g.oh * g.ow, g.oh * g.ow) +=
        call.in[2][plane % g.oc];
  }
}

void matmul(const Call<float>& call) {
  const Shape& a = call.in_shape(0);
  const Shape& b = call.in_shape(1);
  const Shape& out = call.out_shape();
  if (call.out_size() == 0) return;
  const std::int64_t m = out[out.size() - 2];
  const std::int64_t n = out.back();
  const std::int64_t k = a.back();
  const Shape lead(out.begin(), out.end() - 2);
  const Shape a_lead(a.begin(), a.end() - 2);
  const Shape b_lead(b.begin(), b.end() - 2);
  // The index of the factors that each product takes.
  std::int64_t products = 1;
  for (const std::int64_t extent : lead) products *= extent;
  std::vector<std::int64_t> a_index(static_cast<std::size_t>(products));
  std::vector<std::int64_t> b_index(a_index.size());
  const Shape to = row_major_steps(lead);
  const auto number = [&](const Shape& shape, std::vector<std::int64_t>& index) {
    const Shape steps = broadcast_steps(shape, lead);
    for (std::int64_t i = 0; i < products; ++i) {
      for (std::size_t axis = 0; axis < lead.size(); ++axis) {
        index[static_cast<std::size_t>(i)] += i / to[axis] % lead[axis] * steps[axis];
      }
    }
  };
  number(a_lead, a_index);
  number(b_lead, b_index);
  for (std::int64_t i = 0; i < products; ++i) {
    const auto at = static_cast<std::size_t>(i);
    Map(call.out + i * m * n, m, n).noalias() = ConstMap(call.in[0] + a_index[at] * m * k, m, k) *
                                                ConstMap(call.in[1] + b_index[at] * k * n, k, n);
  }
}

}  // namespace steppe::graph::kernels
