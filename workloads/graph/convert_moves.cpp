// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "workloads/graph/context.h"

namespace steppe::graph {
namespace {

/// 0 keeps the extent, -1 stands for what is left.
void reshape(Context& c) {
  const Shape from = c.shape(0);
  Shape to = c.integers(1, "shape", {});
  const bool keep_zero = c.integer("allowzero", 0) != 0;
  std::int64_t known = 1;
  std::size_t open = to.size();
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == 0 && !keep_zero) {
      if (i >= from.size())
        c.fail("axis {} of {} is to be kept, which has no such axis", i, text(from));
      to[i] = from[i];
    }
    if (to[i] == -1) {
      if (open < to.size()) c.fail("{} leaves two extents open", text(to));
      open = i;
      continue;
    }
    if (to[i] < 0 || (to[i] > 0 && known > max_elements / to[i])) {
      c.fail("{} is no shape for {}", text(to), text(from));
    }
    known *= to[i];
  }
  if (open < to.size()) {
    const std::int64_t size = checked_elements(from, c.raw.name);
    if (known == 0 || size % known != 0) c.fail("{} does not become {}", text(from), text(to));
    to[open] = size / known;
  }
  c.give(c.b.add("Reshape", {c.in(0)}, {}, to));
}

void flatten(Context& c) {
  const Shape from = c.shape(0);
  const std::int64_t rank = c.rank(0);
  const std::int64_t axis = c.integer("axis", 1);
  if (axis < -rank || axis > rank) c.fail("axis {} of {}", axis, text(from));
  const auto middle = from.begin() + (axis < 0 ? axis + rank : axis);
  const auto product = [](auto first, auto last) {
    return std::accumulate(first, last, std::int64_t{1}, std::multiplies<>());
  };
  c.give(c.b.reshape(c.in(0), {product(from.begin(), middle), product(middle, from.end())}));
}

void squeeze(Context& c) {
  const Shape from = c.shape(0);
  const Shape axes = c.axes(c.integers(1, "axes", {}), c.rank(0));
  const bool all = !c.has(1) && !c.given("axes");
  Shape to;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const bool named = std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(i));
    if (named && from[i] != 1) c.fail("axis {} of {} cannot be left out", i, text(from));
    if (!named && !(all && from[i] == 1)) to.push_back(from[i]);
  }
  c.give(c.b.reshape(c.in(0), to));
}

void unsqueeze(Context& c) {
  const Shape given = c.integers(1, "axes", {});
  Shape to = c.shape(0);
  for (const std::int64_t axis :
       c.axes(given, c.rank(0) + static_cast<std::int64_t>(given.size()))) {
    to.insert(to.begin() + axis, 1);
  }
  c.give(c.b.reshape(c.in(0), to));
}

void transpose(Context& c) {
  Shape reversed(c.shape(0).size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  c.give(c.b.transpose(c.in(0), c.integers("perm", reversed)));
}

void concat(Context& c) {
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < c.operands(); ++i) {
    // Empty arrays add nothing; some exporters concatenate them.
    if (c.operands() == 1 || c.b.value(c.in(i)).elements() > 0) parts.push_back(c.in(i));
  }
  if (parts.empty()) parts.push_back(c.in(0));
  const std::int64_t axis =
      c.axis(c.integer("axis", 1), static_cast<std::int64_t>(c.b.shape(parts[0]).size()));
  c.give(parts.size() == 1 ? parts[0] : c.b.add("Concat", parts, {{"axis", axis}}));
}

void split(Context& c) {
  const std::int64_t axis = c.axis(c.integer("axis", 0), c.rank(0));
  const std::int64_t size = c.shape(0)[static_cast<std::size_t>(axis)];
  const auto count = static_cast<std::int64_t>(c.raw.outputs.size());
  if (count == 0) c.fail("it has no outputs");
  const std::int64_t each = (size + count - 1) / count;
  Shape parts = c.integers(1, "split", {});
  for (std::int64_t i = 0; parts.size() < c.raw.outputs.size(); ++i) {
    if (c.has(1) || c.given("split")) break;
    parts.push_back(std::clamp<std::int64_t>(size - i * each, 0, each));
  }
  std::int64_t start = 0;
  for (const std::int64_t part : parts) {
    if (part < 0 || part > size - start) break;
    c.give(c.b.slice(c.in(0), axis, start, start + part));
    start += part;
  }
  if (parts.size() != c.raw.outputs.size() || start != size) {
    c.fail("{} does not split {} into {} outputs", text(parts), size, count);
  }
}

/// Where a Slice begins or ends on an axis, as ONNX clamps it.
std::int64_t clamped(std::int64_t position, std::int64_t size, std::int64_t step) {
  if (position < 0) position = position < -size ? -1 : position + size;
  if (step > 0) return std::clamp<std::int64_t>(position, 0, size);
  return std::clamp<std::int64_t>(position, -1, size - 1);
}

void slice(Context& c) {
  const Shape from = c.shape(0);
  Shape starts = c.integers(1, "starts", {});
  Shape ends = c.integers(2, "ends", {});
  Shape named(starts.size());
  std::iota(named.begin(), named.end(), 0);
  named = c.integers(3, "axes", named);
  const Shape steps = c.has(4) ? c.integers_in(4) : Shape(starts.size(), 1);
  if (ends.size() != starts.size() || named.size() != starts.size() ||
      steps.size() != starts.size()) {
    c.fail("starts, ends, axes and steps differ in number");
  }
  static_cast<void>(c.axes(named, c.rank(0)));  // judges them
  for (std::size_t i = 0; i < starts.size(); ++i) {
    named[i] = c.axis(named[i], c.rank(0));
    const std::int64_t size = from[static_cast<std::size_t>(named[i])];
    if (steps[i] == 0 || std::abs(steps[i] + 1) > max_elements) c.fail("a step of {}", steps[i]);
    starts[i] = clamped(starts[i], size, steps[i]);
    ends[i] = clamped(ends[i], size, steps[i]);
    if (starts[i] < 0) starts[i] = ends[i] = 0;  // a falling slice in front of the axis is empty
    if (steps[i] > 0) ends[i] = std::max(ends[i], starts[i]);
    if (steps[i] < 0 && size == 0) c.fail("a falling slice of an empty axis");
  }
  c.give(c.b.add("Slice", {c.in(0)},
                 {{"axes", named}, {"starts", starts}, {"ends", ends}, {"steps", steps}}));
}

constexpr std::size_t max_pieces = 64;  ///< a Gather of more stays one

/// Indices that rise by one are a slice, others slices side by side.
ValueId gather_slices(Context& c, std::int64_t axis, const std::vector<std::int64_t>& indices) {
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t end = i + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
    parts.push_back(c.b.slice(c.in(0), axis, indices[i], indices[end - 1] + 1));
    i = end;
  }
  return parts.size() == 1 ? parts[0] : c.b.add("Concat", parts, {{"axis", axis}});
}

void gather(Context& c) {
  const std::int64_t axis = c.axis(c.integer("axis", 0), c.rank(0));
  if (!c.is_constant(1)) {
    c.fail("the indices '{}' are not constant; feed the rows that they select instead",
           c.b.value(c.in(1)).name);
  }
  std::vector<std::int64_t> indices = c.integers_in(1);
  const Shape shape = c.shape(1);
  const std::int64_t size = c.shape(0)[static_cast<std::size_t>(axis)];
  for (std::int64_t& index : indices) {
    if (index < -size || index >= size) c.fail("index {} on an axis of {}", index, size);
    if (index < 0) index += size;
  }
  const bool plain = shape.size() < 2 && !indices.empty() && indices.size() <= max_pieces;
  if (c.is_constant(0) || !plain) {
    return c.give(c.b.add("Gather", {c.in(0), c.in(1)}, {{"axis", axis}}));
  }
  const ValueId slices = gather_slices(c, axis, indices);
  if (!shape.empty()) return c.give(slices);
  Shape to = c.b.shape(slices);
  to.erase(to.begin() + axis);
  c.give(c.b.reshape(slices, to));
}

void expand(Context& c) {
  const std::optional<Shape> to = broadcast_shape(c.shape(0), c.integers_in(1));
  if (!to) c.fail("{} cannot be repeated to {}", text(c.shape(0)), text(c.integers_in(1)));
  c.give(*to == c.shape(0) ? c.in(0) : c.b.add("Expand", {c.in(0)}, {}, *to));
}

/// Elements from `start` down to in front of `end`, which is -1 for the first.
ValueId falling(Builder& b, ValueId x, std::int64_t axis, std::int64_t start, std::int64_t end) {
  return b.add("Slice", {x},
               {{"axes", Shape{axis}},
                {"starts", Shape{start}},
                {"ends", Shape{end}},
                {"steps", Shape{-1}}});
}

/// Along one axis, `before` and `behind` it what lies at its ends: again, or mirrored.
ValueId continued(Context& c, ValueId x, std::int64_t axis, std::int64_t before,
                  std::int64_t behind, bool mirrored) {
  Builder& b = c.b;
  const Shape shape = b.shape(x);
  const std::int64_t size = shape[static_cast<std::size_t>(axis)];
  if (size == 0 || (mirrored && std::max(before, behind) >= size)) {
    c.fail("pads of {} and {} on an axis of {}", before, behind, size);
  }
  const auto repeated = [&](std::int64_t at, std::int64_t count) {
    Shape to = shape;
    to[static_cast<std::size_t>(axis)] = count;
    return b.add("Expand", {b.slice(x, axis, at, at + 1)}, {}, to);
  };
  std::vector<ValueId> parts{x};
  if (before != 0) {
    parts.insert(parts.begin(), mirrored ? falling(b, x, axis, before, 0) : repeated(0, before));
  }
  if (behind != 0) {
    parts.push_back(mirrored ? falling(b, x, axis, size - 2, size - 2 - behind)
                             : repeated(size - 1, behind));
  }
  return parts.size() == 1 ? x : b.add("Concat", parts, {{"axis", axis}});
}

void pad(Context& c) {
  const std::string mode = c.string("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect") {
    c.fail("the mode is '{}'; constant, edge and reflect are supported", mode);
  }
  const Shape given = c.integers(1, "pads", {});
  const auto rank = static_cast<std::size_t>(c.rank(0));
  Shape pads(2 * rank, 0);
  const bool some = c.has(3);
  const Shape axes = some ? c.integers_in(3) : Shape{};
  const std::size_t count = some ? axes.size() : rank;
  if (given.size() != 2 * count) c.fail("{} pads for {} axes", given.size(), count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = some ? static_cast<std::size_t>(c.axis(axes[i], c.rank(0))) : i;
    pads[at] = given[i];
    pads[at + rank] = given[i + count];
  }
  if (mode != "constant") {
    ValueId x = c.in(0);
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t behind = pads[i + rank];
      if (pads[i] < 0 || behind < 0) c.fail("a pad of {}", std::min(pads[i], behind));
      x = continued(c, x, static_cast<std::int64_t>(i), pads[i], behind, mode == "reflect");
    }
    return c.give(x);
  }
  const float value = c.has(2) ? c.scalar_in(2) : c.real("value", 0.0F);
  const bool none = std::all_of(pads.begin(), pads.end(), [](std::int64_t n) { return n == 0; });
  c.give(none ? c.in(0) : c.b.add("Pad", {c.in(0)}, {{"pads", pads}, {"value", value}}));
}

}  // namespace

void add_moves(Conversions& table) {
  table["Reshape"] = reshape;
  table["Flatten"] = flatten;
  table["Squeeze"] = squeeze;
  table["Unsqueeze"] = unsqueeze;
  table["Transpose"] = transpose;
  table["Concat"] = concat;
  table["Split"] = split;
  table["Slice"] = slice;
  table["Gather"] = gather;
  table["Expand"] = expand;
  table["Pad"] = pad;
}

}  // namespace steppe::graph
