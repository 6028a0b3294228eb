// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/base/error.h"
#include "workloads/graph/shape.h"

/// Operators that move elements and compute nothing, for elements of any type.
namespace steppe::graph {

/// out[i . out_steps] = in[i . in_steps] for every index i below `extents`.
template <typename T>
void copy_strided(const Shape& extents, const T* in, const Shape& in_steps, T* out,
                  const Shape& out_steps) {
  for (const std::int64_t extent : extents) {
    if (extent == 0) return;
  }
  const std::size_t outer = extents.empty() ? 0 : extents.size() - 1;
  const std::int64_t inner = extents.empty() ? 1 : extents.back();
  const std::int64_t in_step = extents.empty() ? 0 : in_steps.back();
  const std::int64_t out_step = extents.empty() ? 0 : out_steps.back();
  Shape index(outer, 0);
  std::int64_t from = 0;
  std::int64_t to = 0;
  while (true) {
    for (std::int64_t i = 0; i < inner; ++i) out[to + i * out_step] = in[from + i * in_step];
    std::size_t axis = outer;
    while (axis-- > 0) {
      from += in_steps[axis];
      to += out_steps[axis];
      if (++index[axis] < extents[axis]) break;
      from -= in_steps[axis] * extents[axis];
      to -= out_steps[axis] * extents[axis];
      index[axis] = 0;
    }
    if (axis == static_cast<std::size_t>(-1)) return;
  }
}

/// A node with its operands' elements (null for an absent one) and room for its result's.
template <typename T>
struct Call {
  const Graph& graph;
  const Node& node;
  std::vector<const T*> in;
  T* out;

  [[nodiscard]] const Shape& in_shape(std::size_t i) const {
    return graph.value(node.inputs[i]).shape;
  }
  [[nodiscard]] const Shape& out_shape() const { return graph.value(node.outputs[0]).shape; }
  [[nodiscard]] std::size_t in_size(std::size_t i) const {
    return graph.value(node.inputs[i]).elements();
  }
  [[nodiscard]] std::size_t out_size() const { return graph.value(node.outputs[0]).elements(); }
  /// The product of the extents in front of an axis of the first operand.
  [[nodiscard]] std::int64_t in_front(std::int64_t axis) const {
    std::int64_t product = 1;
    for (std::int64_t i = 0; i < axis; ++i) product *= in_shape(0)[static_cast<std::size_t>(i)];
    return product;
  }
};

namespace move {

template <typename T>
void reshape(const Call<T>& call) {
  std::copy_n(call.in[0], call.out_size(), call.out);
}

template <typename T>
void transpose(const Call<T>& call) {
  const Shape from = row_major_steps(call.in_shape(0));
  Shape steps;
  for (const std::int64_t axis : call.node.integers("perm")) {
    steps.push_back(from[static_cast<std::size_t>(axis)]);
  }
  copy_strided(call.out_shape(), call.in[0], steps, call.out, row_major_steps(call.out_shape()));
}

template <typename T>
void expand(const Call<T>& call) {
  const Shape& shape = call.out_shape();
  copy_strided(shape, call.in[0], broadcast_steps(call.in_shape(0), shape), call.out,
               row_major_steps(shape));
}

template <typename T>
void slice(const Call<T>& call) {
  Shape steps = row_major_steps(call.in_shape(0));
  const Shape& axes = call.node.integers("axes");
  std::int64_t start = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::int64_t& step = steps[static_cast<std::size_t>(axes[i])];
    start += call.node.integers("starts")[i] * step;
    step *= call.node.integers("steps")[i];
  }
  copy_strided(call.out_shape(), call.in[0] + start, steps, call.out,
               row_major_steps(call.out_shape()));
}

template <typename T>
void concat(const Call<T>& call) {
  const Shape steps = row_major_steps(call.out_shape());
  const auto axis = static_cast<std::size_t>(call.node.integer("axis"));
  T* out = call.out;
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    const Shape& shape = call.in_shape(i);
    copy_strided(shape, call.in[i], row_major_steps(shape), out, steps);
    out += shape[axis] * steps[axis];
  }
}

/// `indices` row major, negative ones counted from the end.
template <typename T>
void gather(const Call<T>& call, const std::vector<std::int64_t>& indices) {
  const std::int64_t axis = call.node.integer("axis");
  const std::int64_t size = call.in_shape(0)[static_cast<std::size_t>(axis)];
  const std::int64_t behind = row_major_steps(call.in_shape(0))[static_cast<std::size_t>(axis)];
  T* out = call.out;
  for (std::int64_t front = 0; front < call.in_front(axis); ++front) {
    for (const std::int64_t raw : indices) {
      const std::int64_t index = raw < 0 ? raw + size : raw;
      if (index < 0 || index >= size) {
        throw ModelError("{}: index {} on an axis of {}", described(call.node), raw, size);
      }
      out = std::copy_n(call.in[0] + (front * size + index) * behind, behind, out);
    }
  }
}

/// The result is filled already; only the operand is copied.
template <typename T>
void pad(const Call<T>& call) {
  const Shape steps = row_major_steps(call.out_shape());
  const Shape& pads = call.node.integers("pads");
  std::int64_t start = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) start += pads[i] * steps[i];
  copy_strided(call.in_shape(0), call.in[0], row_major_steps(call.in_shape(0)), call.out + start,
               steps);
}

}  // namespace move

/// Runs a node that only moves elements; false where it is another.
template <typename T>
bool run_movement(const Call<T>& call) {
  const std::string& op = call.node.op;
  if (op == "Reshape") {
    move::reshape(call);
  } else if (op == "Transpose") {
    move::transpose(call);
  } else if (op == "Expand") {
    move::expand(call);
  } else if (op == "Slice") {
    move::slice(call);
  } else if (op == "Concat") {
    move::concat(call);
  } else if (op == "Gather") {
    const Value& indices = call.graph.value(call.node.inputs[1]);
    if (!indices.int64) throw ModelError("{}: its indices are not known", described(call.node));
    move::gather(call, *indices.int64);
  } else if (op == "Pad") {
    std::fill_n(call.out, call.out_size(), static_cast<T>(call.node.real("value")));
    move::pad(call);
  } else {
    return false;
  }
  return true;
}

}  // namespace steppe::graph
