// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/operands.h"

#include <algorithm>
#include <array>

#include "models/base/error.h"

namespace steppe::passes {
namespace {

enum Dimension : std::size_t { n, h, w, c };

/// Steps of images, rows, pixels and channels.
std::array<std::int64_t, 4> strides(const net::Shape& s) {
  const std::int64_t pixel = s.c;
  const std::int64_t row = pixel * s.w;
  return {row * s.h, row, pixel, 1};
}

/// A factor within one dimension of the tensor.
struct Placed {
  std::size_t axis;
  Dimension dimension;
  Factor factor;
  bool repeated;
};

Dimension dimension_of(std::int64_t step, const std::array<std::int64_t, 4>& stride) {
  if (step >= stride[n]) return n;
  if (step >= stride[h]) return h;
  return step >= stride[w] ? w : c;
}

/// Splits factors where they cross from one dimension of the tensor to the next.
void place(std::size_t axis, Factor factor, bool repeated,
           const std::array<std::int64_t, 4>& stride, std::vector<Placed>& placed) {
  for (const Dimension outer : {n, h, w}) {
    const std::int64_t border = stride[outer];
    const auto size = static_cast<std::int64_t>(factor.size);
    if (factor.step >= border || factor.step * size <= border) continue;
    const std::int64_t inside = border / factor.step;
    STEPPE_CHECK(border % factor.step == 0 && size % inside == 0);
    placed.push_back({axis,
                      dimension_of(border, stride),
                      {static_cast<std::uint64_t>(size / inside), border},
                      repeated});
    factor.size = static_cast<std::uint64_t>(inside);
  }
  placed.push_back({axis, dimension_of(factor.step, stride), factor, repeated});
}

}  // namespace

Axis in_memory_order(const Axis& axis) {
  struct Both {
    Factor memory;
    std::int64_t logical;
  };
  std::vector<Both> factors;
  std::int64_t step = 1;
  for (auto factor = axis.rbegin(); factor != axis.rend(); ++factor) {
    factors.push_back({*factor, step});
    step *= static_cast<std::int64_t>(factor->size);
  }
  std::sort(factors.begin(), factors.end(),
            [](const Both& a, const Both& b) { return a.memory.step > b.memory.step; });
  Axis result;
  for (const Both& both : factors) result.push_back({both.memory.size, both.logical});
  return result;
}

Operand repeat_operand(const View& out, const net::Shape& shape, const Extents& dims) {
  STEPPE_CHECK(dims.size() <= out.axes.size());
  const std::size_t lead = out.axes.size() - dims.size();
  const std::array<std::int64_t, 4> stride = strides(shape);
  std::vector<Placed> placed;
  for (std::size_t axis = 0; axis < out.axes.size(); ++axis) {
    const bool repeated = axis < lead || dims[axis - lead] == 1;
    for (const Factor& factor : out.axes[axis]) place(axis, factor, repeated, stride, placed);
  }
  std::array<bool, 4> kept{};
  for (const Placed& p : placed) kept[p.dimension] = kept[p.dimension] || !p.repeated;
  Operand operand;
  operand.shape = {kept[n] ? shape.n : 1, kept[h] ? shape.h : 1, kept[w] ? shape.w : 1,
                   kept[c] ? shape.c : 1};
  const std::array<std::int64_t, 4> own = strides(operand.shape);
  operand.view.axes.resize(out.axes.size());
  for (const Placed& p : placed) {
    if (!kept[p.dimension]) continue;
    const std::int64_t step = p.factor.step / stride[p.dimension] * own[p.dimension];
    operand.view.axes[p.axis].push_back({p.factor.size, step});
  }
  return operand;
}

Axis constant_steps(const Operand& operand, const Extents& dims) {
  struct Both {
    Factor constant;
    std::int64_t memory;
  };
  const std::size_t lead = operand.view.axes.size() - dims.size();
  std::vector<Both> factors;
  std::int64_t step = 1;
  for (std::size_t axis = operand.view.axes.size(); axis-- > 0;) {
    const bool repeated = axis < lead || dims[axis - lead] == 1;
    const Axis& own = operand.view.axes[axis];
    for (auto factor = own.rbegin(); factor != own.rend(); ++factor) {
      factors.push_back({{factor->size, repeated ? 0 : step}, factor->step});
      if (!repeated) step *= static_cast<std::int64_t>(factor->size);
    }
  }
  std::sort(factors.begin(), factors.end(),
            [](const Both& a, const Both& b) { return a.memory > b.memory; });
  Axis result;
  for (const Both& both : factors) result.push_back(both.constant);
  return result;
}

}  // namespace steppe::passes
