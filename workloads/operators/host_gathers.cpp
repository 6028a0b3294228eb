// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <set>

#include "workloads/operators/host.h"

/// Operators that read or write at indices.
namespace steppe::graph {
namespace {

std::size_t checked(const HostCall& call, std::int64_t index, std::int64_t size) {
  const std::int64_t at = index < 0 ? index + size : index;
  if (at < 0 || at >= size) call.fail("index {} on an axis of {}", index, size);
  return static_cast<std::size_t>(at);
}

std::size_t axis_of(const HostCall& call, std::int64_t absent) {
  return static_cast<std::size_t>(call.axis(call.integer("axis", absent), call.rank(0)));
}

void gather(HostCall& call) {
  const std::size_t axis = axis_of(call, 0);
  const Shape& from = call.shape(0);
  const auto middle = from.begin() + static_cast<std::ptrdiff_t>(axis);
  Shape to(from.begin(), middle);
  to.insert(to.end(), call.shape(1).begin(), call.shape(1).end());
  to.insert(to.end(), middle + 1, from.end());
  const std::vector<std::int64_t> indices = integers(call.at(1));
  const auto behind = static_cast<std::size_t>(row_major_steps(from)[axis]);
  const auto extent = static_cast<std::size_t>(from[axis]);
  by_kind(call.at(0).type, [&](auto kind) {
    using T = decltype(kind);
    const std::vector<T> x = elements<T>(call.at(0));
    std::vector<T> y;
    y.reserve(call.room(to));
    for (std::size_t front = 0; front < x.size(); front += extent * behind) {
      for (const std::int64_t index : indices) {
        const std::size_t at = front + checked(call, index, from[axis]) * behind;
        for (std::size_t i = 0; i < behind; ++i) y.push_back(x[at + i]);
      }
    }
    call.give(call.at(0).type, to, y);
  });
}

void gather_elements(HostCall& call) {
  const std::size_t axis = axis_of(call, 0);
  const Shape& from = call.shape(0);
  if (call.rank(1) != call.rank(0)) call.fail("indices {} for {}", text(call.shape(1)), text(from));
  const Shape steps = row_major_steps(from);
  const std::vector<std::int64_t> indices = integers(call.at(1));
  by_kind(call.at(0).type, [&](auto kind) {
    using T = decltype(kind);
    const std::vector<T> x = elements<T>(call.at(0));
    std::vector<T> y;
    for_each_index(call.shape(1), [&](Shape index) {
      index[axis] = static_cast<std::int64_t>(checked(call, indices[y.size()], from[axis]));
      y.push_back(x.at(offset(index, steps)));
    });
    call.give(call.at(0).type, call.shape(1), y);
  });
}

/// new = f(old, update), by the attribute 'reduction'.
template <typename T>
T updated(const HostCall& call, const std::string& how, T old, T update) {
  if (how == "none") return update;
  if (how == "add") return old + update;
  if (how == "mul") return old * update;
  if (how == "max") return std::max(old, update);
  if (how == "min") return std::min(old, update);
  call.fail("the reduction is '{}'", how);
}

void scatter_elements(HostCall& call) {
  const std::size_t axis = axis_of(call, 0);
  const Shape& to = call.shape(0);
  if (call.rank(1) != call.rank(0) || call.shape(1) != call.shape(2)) {
    call.fail("indices {} and updates {} for {}", text(call.shape(1)), text(call.shape(2)),
              text(to));
  }
  const Shape steps = row_major_steps(to);
  const std::vector<std::int64_t> indices = integers(call.at(1));
  const std::string how = call.string("reduction", "none");
  by_kind(call.at(0).type, [&](auto kind) {
    using T = decltype(kind);
    std::vector<T> y = elements<T>(call.at(0));
    const std::vector<T> updates = elements<T>(call.at(2));
    std::size_t i = 0;
    for_each_index(call.shape(1), [&](Shape index) {
      index[axis] = static_cast<std::int64_t>(checked(call, indices[i], to[axis]));
      T& each = y.at(offset(index, steps));
      each = updated(call, how, each, updates[i++]);
    });
    call.give(call.at(0).type, to, y);
  });
}

/// Where the slices that an array of index tuples names begin, and their size.
struct Slices {
  std::vector<std::size_t> starts;
  std::size_t size = 1;
  Shape tail;

  Slices(const HostCall& call, std::size_t batches) {
    const Shape& data = call.shape(0);
    const Shape& shape = call.shape(1);
    if (shape.size() <= batches) call.fail("indices of {}", text(shape));
    const auto depth = static_cast<std::size_t>(shape.back());
    if (batches + depth > data.size() || depth == 0)
      call.fail("indices {} for {}", text(shape), text(data));
    const Shape steps = row_major_steps(data);
    tail.assign(data.begin() + static_cast<std::ptrdiff_t>(batches + depth), data.end());
    for (const std::int64_t extent : tail) size *= static_cast<std::size_t>(extent);
    const std::vector<std::int64_t> indices = integers(call.at(1));
    std::size_t i = 0;
    for_each_index({shape.begin(), shape.end() - 1}, [&](const Shape& index) {
      std::size_t start = 0;
      for (std::size_t axis = 0; axis < batches; ++axis) {
        start += checked(call, index[axis], data[axis]) * static_cast<std::size_t>(steps[axis]);
      }
      for (std::size_t axis = batches; axis < batches + depth; ++axis) {
        start += checked(call, indices[i++], data[axis]) * static_cast<std::size_t>(steps[axis]);
      }
      starts.push_back(start);
    });
  }
};

void gather_nd(HostCall& call) {
  const Slices slices(
      call, static_cast<std::size_t>(std::max<std::int64_t>(0, call.integer("batch_dims", 0))));
  Shape to(call.shape(1).begin(), call.shape(1).end() - 1);
  to.insert(to.end(), slices.tail.begin(), slices.tail.end());
  by_kind(call.at(0).type, [&](auto kind) {
    using T = decltype(kind);
    const std::vector<T> x = elements<T>(call.at(0));
    std::vector<T> y;
    y.reserve(call.room(to));
    for (const std::size_t start : slices.starts) {
      for (std::size_t i = 0; i < slices.size; ++i) y.push_back(x.at(start + i));
    }
    call.give(call.at(0).type, to, y);
  });
}

void scatter_nd(HostCall& call) {
  const Slices slices(call, 0);
  const std::string how = call.string("reduction", "none");
  by_kind(call.at(0).type, [&](auto kind) {
    using T = decltype(kind);
    std::vector<T> y = elements<T>(call.at(0));
    const std::vector<T> updates = elements<T>(call.at(2));
    if (updates.size() != slices.starts.size() * slices.size)
      call.fail("updates {}", text(call.shape(2)));
    std::size_t i = 0;
    for (const std::size_t start : slices.starts) {
      for (std::size_t k = 0; k < slices.size; ++k, ++i) {
        y.at(start + k) = updated(call, how, y.at(start + k), updates[i]);
      }
    }
    call.give(call.at(0).type, call.shape(0), y);
  });
}

void one_hot(HostCall& call) {
  const auto depth = static_cast<std::int64_t>(call.scalar(1, 0.0));
  const std::int64_t rank = call.rank(0) + 1;
  const auto axis = static_cast<std::size_t>(call.axis(call.integer("axis", -1), rank));
  const std::vector<double> indices = reals(call.at(0));
  const std::vector<double> values = reals(call.at(2));
  if (values.size() != 2 || depth < 0) call.fail("a depth of {}, {} values", depth, values.size());
  Shape to = call.shape(0);
  to.insert(to.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  std::vector<double> y;
  y.reserve(call.room(to));
  const Shape steps = row_major_steps(call.shape(0));
  for_each_index(to, [&](Shape index) {
    const auto place = static_cast<double>(index[axis]);
    index.erase(index.begin() + static_cast<std::ptrdiff_t>(axis));
    const double hot = indices[offset(index, steps)];
    y.push_back(values[(hot < 0 ? hot + static_cast<double>(depth) : hot) == place ? 1 : 0]);
  });
  call.give(call.at(2).type, to, y);
}

void non_zero(HostCall& call) {
  const std::vector<double> x = reals(call.at(0));
  const std::size_t rank = std::max<std::size_t>(1, call.shape(0).size());
  std::vector<std::vector<std::int64_t>> rows(rank);
  std::size_t i = 0;
  for_each_index(call.shape(0), [&](const Shape& index) {
    if (x[i++] == 0.0) return;
    if (index.empty()) rows[0].push_back(0);
    for (std::size_t axis = 0; axis < index.size(); ++axis) rows[axis].push_back(index[axis]);
  });
  std::vector<std::int64_t> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  call.give(DataType::int64,
            {static_cast<std::int64_t>(rank), static_cast<std::int64_t>(rows[0].size())}, all);
}

/// The operand as slices of `size` elements, the axis first; without axis each element is one.
template <typename T>
struct AxisSlices {
  std::vector<std::vector<T>> slices;
  Shape shape;  ///< of the operand with that axis in front
};
template <typename T>
AxisSlices<T> slices_along(const HostCall& call) {
  AxisSlices<T> result;
  const std::vector<T> x = elements<T>(call.at(0));
  if (!call.given("axis")) {
    for (const T& each : x) result.slices.push_back({each});
    result.shape = {static_cast<std::int64_t>(x.size())};
    return result;
  }
  const std::size_t axis = axis_of(call, 0);
  const Shape& shape = call.shape(0);
  result.slices.resize(static_cast<std::size_t>(shape[axis]));
  std::size_t i = 0;
  for_each_index(shape, [&](const Shape& index) {
    result.slices[static_cast<std::size_t>(index[axis])].push_back(x[i++]);
  });
  result.shape = shape;
  return result;
}
/// The chosen slices joined along the axis again.
template <typename T>
void give_slices(HostCall& call, const std::vector<std::vector<T>>& slices) {
  const auto count = static_cast<std::int64_t>(slices.size());
  if (!call.given("axis")) {
    std::vector<T> y;
    y.reserve(slices.size());
    for (const auto& slice : slices) y.push_back(slice.front());
    return call.give(call.at(0).type, {count}, y);
  }
  const std::size_t axis = axis_of(call, 0);
  Shape to = call.shape(0);
  to[axis] = count;
  std::vector<std::size_t> next(slices.size(), 0);
  std::vector<T> y;
  for_each_index(to, [&](const Shape& index) {
    const auto at = static_cast<std::size_t>(index[axis]);
    y.push_back(slices[at][next[at]++]);
  });
  call.give(call.at(0).type, to, y);
}

void compress(HostCall& call) {
  const std::vector<std::int64_t> condition = integers(call.at(1));
  by_kind(call.at(0).type, [&](auto kind) {
    using T = decltype(kind);
    const AxisSlices<T> all = slices_along<T>(call);
    std::vector<std::vector<T>> chosen;
    for (std::size_t i = 0; i < condition.size() && i < all.slices.size(); ++i) {
      if (condition[i] != 0) chosen.push_back(all.slices[i]);
    }
    give_slices(call, chosen);
  });
}

void unique(HostCall& call) {
  by_kind(call.at(0).type, [&](auto kind) {
    using T = decltype(kind);
    const AxisSlices<T> all = slices_along<T>(call);
    std::map<std::vector<T>, std::size_t> place;
    std::vector<std::vector<T>> chosen;
    std::vector<std::int64_t> first;
    for (std::size_t i = 0; i < all.slices.size(); ++i) {
      if (!place.emplace(all.slices[i], chosen.size()).second) continue;
      chosen.push_back(all.slices[i]);
      first.push_back(static_cast<std::int64_t>(i));
    }
    if (call.integer("sorted", 1) != 0) {
      std::size_t next = 0;
      const std::vector<std::int64_t> unsorted = first;
      for (auto& [slice, at] : place) {
        chosen[next] = slice;
        first[next] = unsorted[at];
        at = next++;
      }
    }
    std::vector<std::int64_t> inverse, counts(chosen.size(), 0);
    for (const auto& slice : all.slices) {
      inverse.push_back(static_cast<std::int64_t>(place.at(slice)));
      ++counts[place.at(slice)];
    }
    const auto count = static_cast<std::int64_t>(chosen.size());
    const auto total = static_cast<std::int64_t>(inverse.size());
    give_slices(call, chosen);
    call.give(DataType::int64, {count}, first);
    call.give(DataType::int64, {total}, inverse);
    call.give(DataType::int64, {count}, counts);
  });
}

}  // namespace

void add_host_gathers(HostTable& t) {
  t["Gather"] = {gather, {}};
  t["GatherElements"] = {gather_elements, {}};
  t["GatherND"] = {gather_nd, {}};
  t["Scatter"] = {scatter_elements, {}};
  t["ScatterElements"] = {scatter_elements, {}};
  t["ScatterND"] = {scatter_nd, {}};
  t["OneHot"] = {one_hot, {1}};
  t["NonZero"] = {non_zero, {}, Shaping::by_values};
  t["Compress"] = {compress, {}, Shaping::by_values};
  t["Unique"] = {unique, {}, Shaping::by_values};
}

}  // namespace steppe::graph
