// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/view.h"

#include <algorithm>
#include <numeric>

#include "models/base/error.h"

namespace steppe::passes {
namespace {

constexpr std::size_t part_axes = 5;

Axis all_factors(const View& view, const Order& order) {
  Axis all;
  for (const std::uint32_t axis : order) {
    all.insert(all.end(), view.axes[axis].begin(), view.axes[axis].end());
  }
  return joined(all);
}

/// Takes factors of product `size` from the front of `rest`; false where none fit.
bool take(Axis& rest, std::uint64_t size, Axis& taken) {
  while (size > 1) {
    if (rest.empty()) return false;
    Factor& front = rest.front();
    if (size % front.size == 0) {
      size /= front.size;
      taken.push_back(front);
      rest.erase(rest.begin());
    } else if (front.size % size == 0) {
      const std::uint64_t inner = front.size / size;
      taken.push_back({size, front.step * static_cast<std::int64_t>(inner)});
      front.size = inner;
      size = 1;
    } else {
      return false;
    }
  }
  return true;
}

/// A factor of a copy: both sides step together.
struct Pair {
  std::uint64_t size;
  std::int64_t from, to;
};

std::vector<Pair> joined_pairs(const std::vector<Pair>& pairs) {
  std::vector<Pair> result;
  for (const Pair& pair : pairs) {
    if (pair.size == 1) continue;
    const auto size = static_cast<std::int64_t>(pair.size);
    if (!result.empty() && result.back().from == pair.from * size &&
        result.back().to == pair.to * size) {
      result.back() = {result.back().size * pair.size, pair.from, pair.to};
    } else {
      result.push_back(pair);
    }
  }
  return result;
}

void unroll(std::vector<Pair> pairs, net::PermutePart part, std::vector<net::PermutePart>& parts) {
  if (pairs.size() > part_axes) {
    const auto smallest = std::min_element(
        pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.size < b.size; });
    const Pair loop = *smallest;
    pairs.erase(smallest);
    for (std::uint64_t i = 0; i < loop.size; ++i) {
      unroll(pairs, part, parts);
      part.in_start += loop.from;
      part.out_start += loop.to;
    }
    return;
  }
  const std::size_t first = part_axes - pairs.size();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    part.size[first + i] = static_cast<std::uint32_t>(pairs[i].size);
    part.in_step[first + i] = pairs[i].from;
    part.out_step[first + i] = pairs[i].to;
  }
  parts.push_back(part);
}

}  // namespace

std::uint64_t extent(const Axis& axis) {
  std::uint64_t product = 1;
  for (const Factor& factor : axis) product *= factor.size;
  return product;
}

Axis joined(const Axis& axis) {
  Axis result;
  for (const Factor& factor : axis) {
    if (factor.size == 1) continue;
    if (!result.empty() &&
        result.back().step == factor.step * static_cast<std::int64_t>(factor.size)) {
      result.back() = {result.back().size * factor.size, factor.step};
    } else {
      result.push_back(factor);
    }
  }
  return result;
}

std::uint64_t elements(const View& view) {
  std::uint64_t product = 1;
  for (const Axis& axis : view.axes) product *= extent(axis);
  return product;
}

Extents extents(const View& view) {
  Extents result;
  for (const Axis& axis : view.axes) result.push_back(extent(axis));
  return result;
}

View dense_view(net::TensorId tensor, const Extents& dims, const Order& order) {
  View view{tensor, 0, std::vector<Axis>(dims.size())};
  std::int64_t step = 1;
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    if (dims[*axis] != 1) view.axes[*axis] = {{dims[*axis], step}};
    step *= static_cast<std::int64_t>(dims[*axis]);
  }
  return view;
}

Order natural_order(std::size_t rank) {
  Order order(rank);
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

Order memory_order(const View& view) {
  Order order = natural_order(view.axes.size());
  const auto reach = [&](std::uint32_t axis) {
    return view.axes[axis].empty() ? std::int64_t{0} : std::abs(view.axes[axis].front().step);
  };
  // Axes of extent 1 lie anywhere: they go to the front, so that the rest keeps the last places.
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const bool a_empty = view.axes[a].empty();
    const bool b_empty = view.axes[b].empty();
    if (a_empty != b_empty) return a_empty;
    return reach(a) > reach(b);
  });
  return order;
}

bool is_dense(const View& view, std::uint64_t tensor_elements) {
  Axis all = all_factors(view, natural_order(view.axes.size()));
  std::sort(all.begin(), all.end(),
            [](const Factor& a, const Factor& b) { return a.step > b.step; });
  all = joined(all);
  return view.offset == 0 && elements(view) == tensor_elements &&
         (all.empty() || (all.size() == 1 && all.front().step == 1));
}

bool is_dense_in(const View& view, const Order& order, std::uint64_t tensor_elements) {
  const Axis all = all_factors(view, order);
  return view.offset == 0 && elements(view) == tensor_elements &&
         (all.empty() || (all.size() == 1 && all.front().step == 1));
}

View transposed(const View& view, const Order& perm) {
  View result{view.tensor, view.offset, {}};
  for (const std::uint32_t axis : perm) result.axes.push_back(view.axes[axis]);
  return result;
}

std::optional<View> reshaped(const View& view, const Extents& dims) {
  Axis rest = all_factors(view, natural_order(view.axes.size()));
  View result{view.tensor, view.offset, {}};
  for (const std::uint64_t dim : dims) {
    Axis axis;
    if (!take(rest, dim, axis)) return std::nullopt;
    result.axes.push_back(joined(axis));
  }
  if (!rest.empty()) return std::nullopt;
  return result;
}

std::optional<View> sliced(const View& view, std::size_t axis, std::int64_t start,
                           std::int64_t step, std::uint64_t count) {
  if (view.axes[axis].size() > 1) return std::nullopt;
  View result = view;
  if (view.axes[axis].empty()) return result;
  const Factor factor = view.axes[axis].front();
  result.offset += start * factor.step;
  result.axes[axis] = joined({{count, factor.step * step}});
  return result;
}

View broadcast(const View& view, const Extents& dims) {
  View result{view.tensor, view.offset, std::vector<Axis>(dims.size())};
  const std::size_t lead = dims.size() - view.axes.size();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i >= lead && extent(view.axes[i - lead]) == dims[i]) {
      result.axes[i] = view.axes[i - lead];
    } else if (dims[i] != 1) {
      result.axes[i] = {{dims[i], 0}};
    }
  }
  return result;
}

bool refine(Axis& a, Axis& b) {
  for (std::size_t i = 0; i < a.size() || i < b.size(); ++i) {
    if (i >= a.size() || i >= b.size()) return false;
    if (a[i].size == b[i].size) continue;
    Axis& longer = a[i].size > b[i].size ? a : b;
    const std::uint64_t outer = std::min(a[i].size, b[i].size);
    const Factor whole = longer[i];
    if (whole.size % outer != 0) return false;
    const std::uint64_t inner = whole.size / outer;
    longer[i] = {outer, whole.step * static_cast<std::int64_t>(inner)};
    longer.insert(longer.begin() + static_cast<std::ptrdiff_t>(i) + 1, {inner, whole.step});
  }
  return true;
}

std::optional<std::vector<net::PermutePart>> copies(const View& from, const View& to) {
  STEPPE_CHECK(extents(from) == extents(to));
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < from.axes.size(); ++i) {
    Axis a = from.axes[i];
    Axis b = to.axes[i];
    if (!refine(a, b)) return std::nullopt;
    for (std::size_t k = 0; k < a.size(); ++k) pairs.push_back({a[k].size, a[k].step, b[k].step});
  }
  // Destination order makes the stores contiguous and lets more neighbours join.
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return a.to > b.to; });
  net::PermutePart part;
  part.in = from.tensor;
  part.in_start = from.offset;
  part.out_start = to.offset;
  std::vector<net::PermutePart> parts;
  unroll(joined_pairs(pairs), part, parts);
  return parts;
}

}  // namespace steppe::passes
