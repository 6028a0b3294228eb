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

ValueId mean(Context& c, const Shape& axes) {
  return c.b.add("ReduceMean", {c.in(0)}, {{"axes", axes}, {"keepdims", c.integer("keepdims", 1)}});
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

void reduce_mean(Context& c) {
  const Shape axes = reduced_axes(c);
  c.give(axes.empty() ? c.in(0) : mean(c, axes));
}

/// A sum is a mean times the number of elements.
void reduce_sum(Context& c) {
  if (holds_integers(c)) return reduce_constant(c, 0, wrapped_sum);
  const Shape axes = reduced_axes(c);
  if (axes.empty()) return c.give(c.in(0));
  double count = 1.0;
  for (const std::int64_t axis : axes) {
    count *= static_cast<double>(c.shape(0)[static_cast<std::size_t>(axis)]);
  }
  c.give(c.b.add("Mul", {mean(c, axes), c.b.scalar(static_cast<float>(count))}));
}

/// Over all pixels of an image it is a maximum pool.
void reduce_max(Context& c) {
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  if (holds_integers(c)) {
    return reduce_constant(c, lowest,
                           [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
  }
  const Shape& x = c.shape(0);
  if (x.size() != 4 || reduced_axes(c) != Shape{2, 3}) {
    c.fail("only the maximum over both spatial axes is supported");
  }
  const ValueId result = c.b.add("MaxPool", {c.in(0)},
                                 {{"kernel_shape", Shape{x[2], x[3]}},
                                  {"strides", Shape{1, 1}},
                                  {"pads", Shape{0, 0, 0, 0}},
                                  {"dilations", Shape{1, 1}}});
  const bool keep = c.integer("keepdims", 1) != 0;
  c.give(keep ? result : c.b.reshape(result, {c.b.shape(result)[0], c.b.shape(result)[1]}));
}

/// Before operator set 13 everything from `axis` on is one row.
ValueId softmax_of(Context& c) {
  const Shape shape = c.shape(0);
  const bool flattens = c.opset < 13;
  const std::int64_t axis = c.axis(c.integer("axis", flattens ? 1 : -1), c.rank(0));
  const auto first = shape.begin() + axis;
  const auto longer = [](std::int64_t extent) { return extent != 1; };
  if (!flattens || std::count_if(first, shape.end(), longer) <= 1) {
    const auto found = flattens ? std::find_if(first, shape.end(), longer) : first;
    const std::int64_t alone = found == shape.end() ? axis : found - shape.begin();
    return c.b.add("Softmax", {c.in(0)}, {{"axis", alone}});
  }
  const auto product = [](auto begin, auto end) {
    return std::accumulate(begin, end, std::int64_t{1}, std::multiplies<>());
  };
  const ValueId rows =
      c.b.reshape(c.in(0), {product(shape.begin(), first), product(first, shape.end())});
  return c.b.reshape(c.b.add("Softmax", {rows}, {{"axis", std::int64_t{1}}}), shape);
}

void layer_norm(Context& c) {
  const std::int64_t axis = c.axis(c.integer("axis", -1), c.rank(0));
  std::vector<ValueId> inputs{c.in(0), c.in(1)};
  if (c.has(2)) inputs.push_back(c.in(2));
  c.give(c.b.add("LayerNormalization", inputs,
                 {{"axis", axis}, {"epsilon", c.real("epsilon", 1e-5F)}}));
}

}  // namespace

void add_reductions(Conversions& table) {
  table["ReduceMean"] = reduce_mean;
  table["ReduceSum"] = reduce_sum;
  table["ReduceMax"] = reduce_max;
  table["ReduceProd"] = [](Context& c) { reduce_constant(c, 1, wrapped_product); };
  table["ReduceMin"] = [](Context& c) {
    reduce_constant(c, std::numeric_limits<std::int64_t>::max(),
                    [](std::int64_t a, std::int64_t b) { return std::min(a, b); });
  };
  table["Softmax"] = [](Context& c) { c.give(softmax_of(c)); };
  table["LogSoftmax"] = [](Context& c) { c.give(c.b.add("Log", {softmax_of(c)})); };
  table["LayerNormalization"] = layer_norm;
}

}  // namespace steppe::graph
