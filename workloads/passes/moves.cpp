// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/moves.h"

#include <algorithm>
#include <limits>

#include "models/base/error.h"
#include "workloads/passes/uses.h"

namespace steppe::passes {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

void transpose(const Graph&, const Node& node, Arranger& arranger) {
  const Pieces from = arranger.pieces(node.inputs[0]);
  const std::vector<std::int64_t>& perm = node.integers("perm");
  const Order order(perm.begin(), perm.end());
  Pieces to;
  to.axis = static_cast<std::size_t>(
      std::find(order.begin(), order.end(), static_cast<std::uint32_t>(from.axis)) - order.begin());
  for (const View& view : from.views) to.views.push_back(transposed(view, order));
  arranger.bind(node.outputs[0], std::move(to));
}

void reshape(const Graph& graph, const Node& node, Arranger& arranger) {
  const Extents dims = dims_of(graph.value(node.outputs[0]));
  std::optional<View> view = reshaped(arranger.single(node.inputs[0]), dims);
  if (!view) {
    const std::size_t rank = graph.value(node.inputs[0]).shape.size();
    view = reshaped(arranger.ordered(node.inputs[0], natural_order(rank)), dims);
  }
  if (!view) throw ModelError("{}: input and output have different sizes", described(node));
  arranger.bind(node.outputs[0], *view);
}

/// One axis of a Slice, within the axis' extent.
struct Cut {
  std::size_t axis;
  std::int64_t start, step;
  std::uint64_t count;
};

/// The part of a concatenation that a cut along its axis leaves.
std::optional<Pieces> cut_along(const Cut& cut, const Pieces& from) {
  if (cut.step != 1) return std::nullopt;
  Pieces to{from.axis, {}};
  std::int64_t first = 0;
  const std::int64_t end = cut.start + static_cast<std::int64_t>(cut.count);
  for (const View& view : from.views) {
    const auto size = static_cast<std::int64_t>(extent(view.axes[from.axis]));
    const std::int64_t low = std::max(cut.start, first);
    const std::int64_t high = std::min(end, first + size);
    if (low < high) {
      const auto count = static_cast<std::uint64_t>(high - low);
      const auto part = sliced(view, from.axis, low - first, 1, count);
      if (!part) return std::nullopt;
      to.views.push_back(*part);
    }
    first += size;
  }
  return to;
}

std::optional<Pieces> cut_pieces(const Cut& cut, const Pieces& from) {
  if (from.views.size() > 1 && cut.axis == from.axis) return cut_along(cut, from);
  Pieces to{from.axis, {}};
  for (const View& view : from.views) {
    const auto part = sliced(view, cut.axis, cut.start, cut.step, cut.count);
    if (!part) return std::nullopt;
    to.views.push_back(*part);
  }
  return to;
}

std::optional<Pieces> cut_all(const std::vector<Cut>& cuts, Pieces pieces) {
  for (const Cut& cut : cuts) {
    std::optional<Pieces> next = cut_pieces(cut, pieces);
    if (!next) return std::nullopt;
    pieces = std::move(*next);
  }
  return pieces;
}

/// Operand `input` of a node as constant integers, or the attribute `key` where it is one.
std::vector<std::int64_t> integers(const Graph& graph, const Node& node, std::size_t input,
                                   const char* key) {
  if (node.attributes.contains(key)) return node.integers(key);
  if (input >= node.inputs.size() || node.inputs[input] == graph::no_value) return {};
  const graph::Value& value = graph.value(node.inputs[input]);
  if (!value.int64) {
    throw ModelError("{}: '{}' must be a constant for the shapes to be known", described(node),
                     key);
  }
  return *value.int64;
}

void bind_cut(const Node& node, std::size_t output, const std::vector<Cut>& cuts,
              Arranger& arranger) {
  const ValueId value = node.inputs[0];
  std::optional<Pieces> pieces = cut_all(cuts, arranger.pieces(value));
  if (!pieces) {  // a row-major copy has one step for each axis
    const std::size_t rank = arranger.pieces(value).views.front().axes.size();
    pieces = cut_all(cuts, {0, {arranger.ordered(value, natural_order(rank))}});
  }
  STEPPE_CHECK(pieces.has_value());
  arranger.bind(node.outputs[output], std::move(*pieces));
}

void slice(const Graph& graph, const Node& node, Arranger& arranger) {
  const std::vector<std::int64_t> starts = integers(graph, node, 1, "starts");
  const std::vector<std::int64_t> axes = integers(graph, node, 3, "axes");
  const std::vector<std::int64_t> steps = integers(graph, node, 4, "steps");
  const std::vector<std::int64_t>& shape = graph.value(node.inputs[0]).shape;
  const std::vector<std::int64_t>& result = graph.value(node.outputs[0]).shape;
  std::vector<Cut> cuts;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    std::int64_t axis = axes.empty() ? static_cast<std::int64_t>(i) : axes[i];
    if (axis < 0) axis += static_cast<std::int64_t>(shape.size());
    const std::int64_t step = steps.empty() ? 1 : steps[i];
    const std::int64_t size = shape[static_cast<std::size_t>(axis)];
    std::int64_t start = starts[i] < 0 ? starts[i] + size : starts[i];
    start = std::clamp<std::int64_t>(start, 0, step < 0 ? size - 1 : size);
    const auto count = static_cast<std::uint64_t>(result[static_cast<std::size_t>(axis)]);
    if (start == 0 && step == 1 && count == static_cast<std::uint64_t>(size)) continue;
    cuts.push_back({static_cast<std::size_t>(axis), start, step, count});
  }
  bind_cut(node, 0, cuts, arranger);
}

void split(const Graph& graph, const Node& node, Arranger& arranger) {
  const auto axis = static_cast<std::size_t>(node.integer("axis"));
  std::int64_t start = 0;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == graph::no_value) continue;
    const std::int64_t count = graph.value(node.outputs[i]).shape[axis];
    bind_cut(node, i, {{axis, start, 1, static_cast<std::uint64_t>(count)}}, arranger);
    start += count;
  }
}

void concat(const Graph&, const Node& node, Arranger& arranger) {
  Pieces to;
  to.axis = static_cast<std::size_t>(node.integer("axis"));
  for (const ValueId value : node.inputs) {
    const Pieces from = arranger.pieces(value);
    if (from.views.size() > 1 && from.axis == to.axis) {
      to.views.insert(to.views.end(), from.views.begin(), from.views.end());
    } else {
      to.views.push_back(arranger.single(value));
    }
  }
  arranger.bind(node.outputs[0], std::move(to));
}

void expand(const Graph& graph, const Node& node, Arranger& arranger) {
  const Extents dims = dims_of(graph.value(node.outputs[0]));
  arranger.bind(node.outputs[0], broadcast(arranger.single(node.inputs[0]), dims));
}

}  // namespace

bool move_views(const Graph& graph, const Node& node, Arranger& arranger) {
  const std::string& op = node.op;
  if (op == "Transpose") {
    transpose(graph, node, arranger);
  } else if (op == "Reshape" || op == "Flatten" || op == "Squeeze" || op == "Unsqueeze" ||
             op == "Identity" || op == "Dropout" || op == "Cast") {
    reshape(graph, node, arranger);
  } else if (op == "Slice") {
    slice(graph, node, arranger);
  } else if (op == "Split") {
    split(graph, node, arranger);
  } else if (op == "Concat") {
    concat(graph, node, arranger);
  } else if (op == "Expand") {
    expand(graph, node, arranger);
  } else {
    return false;
  }
  return true;
}

}  // namespace steppe::passes
