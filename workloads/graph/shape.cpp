// SPDX-License-Identifier: Apache-2.0
#include "workloads/graph/shape.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "models/base/error.h"

namespace steppe::graph {

std::int64_t checked_elements(const Shape& shape, const std::string& what) {
  std::int64_t product = 1;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) throw ModelError("{}: a negative extent in {}", what, text(shape));
    if (extent == 0) {
      empty = true;
    } else if (product > max_elements / extent) {
      throw ModelError("{}: an array of {} is too large", what, text(shape));
    } else {
      product *= extent;
    }
  }
  return empty ? 0 : product;
}

std::optional<Shape> broadcast_shape(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const std::size_t lead = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& extent = result[lead + i];
    if (extent == 1) {
      extent = shorter[i];
    } else if (shorter[i] != 1 && shorter[i] != extent) {
      return std::nullopt;
    }
  }
  return result;
}

Shape row_major_steps(const Shape& shape) {
  Shape steps(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    steps[i] = step;
    step *= shape[i];
  }
  return steps;
}

Shape broadcast_steps(const Shape& shape, const Shape& target) {
  const Shape own = row_major_steps(shape);
  Shape steps(target.size(), 0);
  STEPPE_CHECK(shape.size() <= target.size());
  const std::size_t lead = target.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1) steps[lead + i] = own[i];
  }
  return steps;
}

std::string text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

}  // namespace steppe::graph
