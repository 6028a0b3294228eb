// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "workloads/passes/view.h"

namespace steppe::passes {

/// Calls f(i, offset) for the i-th index of `axis`, outermost first, with the sum of its steps.
template <typename F>
void for_each_step(const Axis& axis, F f) {
  std::vector<std::uint64_t> index(axis.size(), 0);
  const std::uint64_t count = extent(axis);
  std::int64_t offset = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    f(i, static_cast<std::size_t>(offset));
    for (std::size_t k = axis.size(); k-- > 0;) {
      offset += axis[k].step;
      if (++index[k] < axis[k].size) break;
      offset -= axis[k].step * static_cast<std::int64_t>(axis[k].size);
      index[k] = 0;
    }
  }
}

/// The elements of `from` along `axis`.
template <typename T>
std::vector<T> gathered(const std::vector<T>& from, const Axis& axis) {
  std::vector<T> result(extent(axis));
  for_each_step(axis, [&](std::uint64_t i, std::size_t offset) { result[i] = from.at(offset); });
  return result;
}

}  // namespace steppe::passes
