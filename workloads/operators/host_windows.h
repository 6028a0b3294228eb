// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/operators/host.h"

namespace steppe::graph {

/// A sliding window over any number of spatial axes; pads are explicit after `auto_pad`.
struct HostWindow {
  Shape in, out;  ///< spatial extents
  Shape steps;    ///< between neighbours of the operand, by axis
  Shape kernel, strides, dilations, pads;

  /// Reads the attributes; with `ceil_mode` the extents of `out` are rounded up.
  HostWindow(const HostCall& call, const Shape& operand, const Shape& kernel_shape, bool pooling);

  /// Calls f(flat spatial index of the operand, flat kernel index) for all that lies inside.
  template <typename F>
  void visit(const Shape& at, F f) const {
    std::size_t k = 0;
    for_each_index(kernel, [&](const Shape& index) {
      std::int64_t place = 0;
      bool inside = true;
      for (std::size_t i = 0; i < in.size(); ++i) {
        const std::int64_t x = at[i] * strides[i] - pads[i] + index[i] * dilations[i];
        inside = inside && x >= 0 && x < in[i];
        place += x * steps[i];
      }
      if (inside) f(static_cast<std::size_t>(place), k);
      ++k;
    });
  }
};

/// Convolution of x [N, C, d…] by w [M, C / group, k…] without bias; `to` is the result's shape.
/// Sums of integers below 2^53 are exact.
std::vector<double> convolved(const HostCall& call, const std::vector<double>& x,
                              const Shape& x_shape, const std::vector<double>& w,
                              const Shape& w_shape, Shape& to);

/// ONNX's MatMul, vectors and broadcasting included. Sums of integers below 2^53 are exact.
std::vector<double> multiplied(const HostCall& call, const std::vector<double>& a, Shape a_shape,
                               const std::vector<double>& b, Shape b_shape, Shape& to);

}  // namespace steppe::graph
