// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>

#include "workloads/graph/context.h"
#include "workloads/operators/tensor.h"

namespace steppe::graph {
namespace {

/// The axes to reduce: an operand from some operator set on, else an attribute; all where neither.
Shape reduced_axes(const Context& c) {
  const Shape given = c.integers(1, "axes", {});
  if (!given.empty()) return c.axes(given, c.rank(0));
  Shape all(static_cast<std::size_t>(c.rank(0)));
  std::iota(all.begin(), all.end(), 0);
  return c.integer("noop_with_empty_axes", 0) != 0 ? Shape{} : all;
}

/// Combines the elements of a constant along axes.
template <typename F>
void reduce_constant(Context& c, std::int64_t start, F f) {
  const Shape axes = reduced_axes(c);
  const Shape& shape = c.shape(0);
  Shape kept = shape;
  for (const std::int64_t axis : axes) kept[static_cast<std::size_t>(axis)] = 1;
  const std::vector<std::int64_t>& in = c.integers_in(0);
  const Shape from = row_major_steps(shape);
  const Shape to = broadcast_steps(kept, shape);
  std::vector<std::int64_t> out(static_cast<std::size_t>(checked_elements(kept, c.raw.name)),
                                start);
  for (std::size_t i = 0; i < in.size(); ++i) {
    std::int64_t at = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      at += static_cast<std::int64_t>(i) / from[axis] % shape[axis] * to[axis];
    }
    auto& sum = out[static_cast<std::size_t>(at)];
    sum = f(sum, in[i]);
  }
  Shape result;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const bool reduced =
        std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(axis));
    if (!reduced || c.integer("keepdims", 1) != 0) result.push_back(kept[axis]);
  }
  c.give(c.b.integers(c.raw.name + ":0", result, std::move(out), c.b.value(c.in(0)).type));
}

bool holds_integers(const Context& c) {
  const DataType type = c.b.value(c.in(0)).type;
  if (type == DataType::int64) return true;
  if (type != DataType::fp32) c.fail("only the host reduces {}", text(type));
  return false;
}

std::int64_t wrapped_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

std::int64_t wrapped_product(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

ValueId reduced(Context& c, const char* op, ValueId x, const Shape& axes) {
  return c.b.add(op, {x}, {{"axes", axes}, {"keepdims", c.integer("keepdims", 1)}});
}

/// Constants of integers by `f` from `start` on, all else by one operator.
template <typename F>
void reduce(Context& c, const char* op, std::int64_t start, F f) {
  if (holds_integers(c)) return reduce_constant(c, start, f);
  const Shape axes = reduced_axes(c);
  c.give(axes.empty() ? c.in(0) : reduced(c, op, c.in(0), axes));
}

/// A sum is a mean times the number of elements.
ValueId sum(Context& c, ValueId x, const Shape& axes) {
  double count = 1.0;
  for (const std::int64_t axis : axes) {
    count *= static_cast<double>(c.shape(0)[static_cast<std::size_t>(axis)]);
  }
  return c.b.add("Mul", {reduced(c, "ReduceMean", x, axes), c.b.scalar(static_cast<float>(count))});
}

void reduce_sum(Context& c) {
  if (holds_integers(c)) return reduce_constant(c, 0, wrapped_sum);
  const Shape axes = reduced_axes(c);
  c.give(axes.empty() ? c.in(0) : sum(c, c.in(0), axes));
}

/// The axes of a function of the sum that is no identity where there are none.
Shape some_axes(const Context& c) {
  Shape axes = reduced_axes(c);
  if (axes.empty()) c.fail("no axis to reduce");
  return axes;
}

/// log(sum(exp(x - m))) + m, m the largest of those summed, made finite.
void log_sum_exp(Context& c) {
  constexpr float most = std::numeric_limits<float>::max();
  Builder& b = c.b;
  const Shape axes = some_axes(c);
  const ValueId of_all =
      b.add("ReduceMax", {c.in(0)}, {{"axes", axes}, {"keepdims", std::int64_t{1}}});
  const ValueId largest = b.add("Clip", {of_all, b.scalar(-most), b.scalar(most)});
  const ValueId power = b.add("Exp", {b.add("Sub", {c.in(0), largest})});
  const ValueId log = b.add("Log", {sum(c, power, axes)});
  c.give(b.add("Add", {log, b.reshape(largest, b.shape(log))}));
}

void reduce_mean(Context& c) {
  const Shape axes = reduced_axes(c);
  c.give(axes.empty() ? c.in(0) : reduced(c, "ReduceMean", c.in(0), axes));
}

/// Over all pixels of an image it is a maximum pool.
void reduce_max(Context& c) {
  const Shape& x = c.shape(0);
  if (x.size() != 4 || reduced_axes(c) != Shape{2, 3} ||
      c.b.value(c.in(0)).type != DataType::fp32) {
    return reduce(c, "ReduceMax", std::numeric_limits<std::int64_t>::min(),
                  [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
  }
  const ValueId result = c.b.add("MaxPool", {c.in(0)},
                                 {{"kernel_shape", Shape{x[2], x[3]}},
                                  {"strides", Shape{1, 1}},
                                  {"pads", Shape{0, 0, 0, 0}},
                                  {"dilations", Shape{1, 1}}});
  const bool keep = c.integer("keepdims", 1) != 0;
  c.give(keep ? result : c.b.reshape(result, {c.b.shape(result)[0], c.b.shape(result)[1]}));
}

/// The first or last largest or smallest along one axis.
void best(Context& c) {
  if (c.b.value(c.in(0)).type != DataType::fp32) c.fail("only the host compares integers");
  c.give(c.b.add(c.raw.op, {c.in(0)},
                 {{"axis", c.axis(c.integer("axis", 0), c.rank(0))},
                  {"keepdims", c.integer("keepdims", 1)},
                  {"select_last_index", c.integer("select_last_index", 0)}}));
}

}  // namespace

void add_reductions(Conversions& table) {
  table["ReduceMean"] = reduce_mean;
  table["ReduceSum"] = reduce_sum;
  table["ReduceMax"] = reduce_max;
  table["ReduceProd"] = [](Context& c) { reduce(c, "ReduceProd", 1, wrapped_product); };
  table["ReduceMin"] = [](Context& c) {
    reduce(c, "ReduceMin", std::numeric_limits<std::int64_t>::max(),
           [](std::int64_t a, std::int64_t b) { return std::min(a, b); });
  };
  table["ReduceSumSquare"] = [](Context& c) {
    c.give(reduced(c, "ReduceSumSquare", c.in(0), some_axes(c)));
  };
  table["ReduceL2"] = [](Context& c) { c.give(reduced(c, "ReduceL2", c.in(0), some_axes(c))); };
  table["ReduceL1"] = [](Context& c) { c.give(sum(c, c.b.add("Abs", {c.in(0)}), some_axes(c))); };
  table["ReduceLogSum"] = [](Context& c) {
    c.give(c.b.add("Log", {sum(c, c.in(0), some_axes(c))}));
  };
  table["ReduceLogSumExp"] = log_sum_exp;
  table["ArgMax"] = best;
  table["ArgMin"] = best;
}

}  // namespace steppe::graph
