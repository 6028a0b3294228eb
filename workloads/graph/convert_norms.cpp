// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "workloads/graph/context.h"

namespace steppe::graph {
namespace {

std::int64_t product(Shape::const_iterator begin, Shape::const_iterator end) {
  return std::accumulate(begin, end, std::int64_t{1}, std::multiplies<>());
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
  const ValueId rows =
      c.b.reshape(c.in(0), {product(shape.begin(), first), product(first, shape.end())});
  return c.b.reshape(c.b.add("Softmax", {rows}, {{"axis", std::int64_t{1}}}), shape);
}

/// Several axes are one in a row of their own. Mean and inverse deviation are results, too.
void layer_norm(Context& c) {
  Builder& b = c.b;
  const Shape shape = c.shape(0);
  const std::int64_t axis = c.axis(c.integer("axis", -1), c.rank(0));
  const float epsilon = c.real("epsilon", 1e-5F);
  Shape flat(shape.begin(), shape.begin() + axis);
  flat.push_back(product(shape.begin() + axis, shape.end()));
  std::vector<ValueId> inputs{b.reshape(c.in(0), flat)};
  // Gain and shift that are no constants of this size are operands of their own.
  const auto plain = [&](std::size_t i) {
    return !c.has(i) || (c.is_constant(i) &&
                         b.value(c.in(i)).elements() == static_cast<std::uint64_t>(flat.back()));
  };
  const bool joined = plain(1) && plain(2);
  for (std::size_t i = 1; i < 3 && joined && c.has(i); ++i) {
    inputs.push_back(b.reshape(c.in(i), {flat.back()}));
  }
  ValueId y = b.add("LayerNormalization", inputs, {{"axis", axis}, {"epsilon", epsilon}});
  y = b.reshape(y, shape);
  if (!joined) {
    y = b.add("Mul", {y, c.in(1)});
    if (c.has(2)) y = b.add("Add", {y, c.in(2)});
  }
  c.give(y);
  if (c.raw.outputs.size() < 2) return;
  Shape axes;
  for (std::int64_t i = axis; i < c.rank(0); ++i) axes.push_back(i);
  const Attributes over{{"axes", axes}, {"keepdims", std::int64_t{1}}};
  const ValueId mean = b.add("ReduceMean", {c.in(0)}, over);
  const ValueId off = b.add("Sub", {c.in(0), mean});
  const ValueId variance = b.add("ReduceMean", {b.add("Mul", {off, off})}, over);
  c.give(mean);
  c.give(b.add("Reciprocal", {b.add("Sqrt", {b.add("Add", {variance, b.scalar(epsilon)})})}));
}

/// Each channel of each image to mean 0 and deviation 1, times a gain, plus a shift.
void instance_norm(Context& c) {
  Builder& b = c.b;
  const Shape shape = c.shape(0);
  if (shape.size() < 3) c.fail("input {}; it takes 3 axes or more", text(shape));
  const std::int64_t pixels = product(shape.begin() + 2, shape.end());
  const ValueId rows = b.reshape(c.in(0), {shape[0], shape[1], pixels});
  const ValueId even =
      b.reshape(b.add("LayerNormalization", {rows},
                      {{"axis", std::int64_t{2}}, {"epsilon", c.real("epsilon", 1e-5F)}}),
                shape);
  Shape channels(shape.size() - 1, 1);
  channels[0] = shape[1];
  const ValueId scaled = b.add("Mul", {even, b.reshape(c.in(1), channels)});
  c.give(b.add("Add", {scaled, b.reshape(c.in(2), channels)}));
}

/// (x - mean) / (deviation + 1e-9) over some axes.
void mean_variance_norm(Context& c) {
  Builder& b = c.b;
  const Attributes over{{"axes", c.axes(c.integers("axes", {0, 2, 3}), c.rank(0))},
                        {"keepdims", std::int64_t{1}}};
  const ValueId off = b.add("Sub", {c.in(0), b.add("ReduceMean", {c.in(0)}, over)});
  const ValueId variance = b.add("ReduceMean", {b.add("Mul", {off, off})}, over);
  c.give(b.add("Div", {off, b.add("Add", {b.add("Sqrt", {variance}), b.scalar(1e-9F)})}));
}

/// x / (bias + alpha / size * the squares of `size` channels around)^beta.
void local_response_norm(Context& c) {
  Builder& b = c.b;
  const Shape shape = c.shape(0);
  const std::int64_t size = c.integer("size", 0);
  if (shape.size() < 3 || size < 1) c.fail("a size of {} on {}", size, text(shape));
  const std::int64_t pixels = product(shape.begin() + 2, shape.end());
  const ValueId square =
      b.reshape(b.add("Mul", {c.in(0), c.in(0)}), {shape[0], 1, shape[1], pixels});
  const ValueId around = b.add("AveragePool", {square},
                               {{"kernel_shape", Shape{size, 1}},
                                {"strides", Shape{1, 1}},
                                {"pads", Shape{(size - 1) / 2, 0, size / 2, 0}},
                                {"dilations", Shape{1, 1}},
                                {"count_include_pad", std::int64_t{1}}});
  const ValueId grown = b.add("Add", {b.add("Mul", {around, b.scalar(c.real("alpha", 1e-4F))}),
                                      b.scalar(c.real("bias", 1.0F))});
  const ValueId power = b.add("Pow", {grown, b.scalar(-c.real("beta", 0.75F))});
  c.give(b.add("Mul", {c.in(0), b.reshape(power, shape)}));
}

}  // namespace

void add_norms(Conversions& table) {
  table["Softmax"] = [](Context& c) { c.give(softmax_of(c)); };
  table["LogSoftmax"] = [](Context& c) { c.give(c.b.add("Log", {softmax_of(c)})); };
  table["LayerNormalization"] = layer_norm;
  table["InstanceNormalization"] = instance_norm;
  table["MeanVarianceNormalization"] = mean_variance_norm;
  table["LRN"] = local_response_norm;
}

}  // namespace steppe::graph
