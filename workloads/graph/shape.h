// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/graph/graph.h"

namespace steppe::graph {

using Shape = std::vector<std::int64_t>;

/// The largest array that is taken, in elements: sums of a few such sizes stay within 64 bits.
inline constexpr std::int64_t max_elements = std::int64_t{1} << 40;

/// Product of the extents. Throws ModelError naming `what` for negative extents and for products
/// above `max_elements`.
std::int64_t checked_elements(const Shape& shape, const std::string& what);

/// ONNX's multidirectional broadcasting; empty where the shapes do not fit.
std::optional<Shape> broadcast_shape(const Shape& a, const Shape& b);

/// Elements from one index of each axis to the next in a row-major array.
Shape row_major_steps(const Shape& shape);
/// As above, 0 where an axis is repeated, to read an array of `shape` as one of `target` extents.
Shape broadcast_steps(const Shape& shape, const Shape& target);

/// "[1,3,224,224]"
std::string text(const Shape& shape);

/// Shape of the output of a canonical node with inputs of the given shapes (empty for an absent
/// input). `declared` is the answer for the operators whose output says the shape (Reshape,
/// Expand, Split), once it is compatible with the input. Throws ModelError naming the node.
Shape infer_shape(const Node& node, const std::vector<Shape>& inputs, const Shape& declared = {});

/// Type of the output of a canonical node of a graph. Throws ModelError naming the node where its
/// operands have other types than it takes.
DataType infer_type(const Graph& graph, const Node& node);

/// Whether ../operators says what a canonical operator computes; the others have kernels.
bool computed_by_operators(std::string_view op);

/// Throws ModelError naming the node where a graph breaks its promises: operators, order, shapes,
/// sizes of constants.
void check(const Graph& graph);

/// The operators that a Graph may hold, sorted.
const std::vector<std::string>& canonical_operators();

/// "node 'conv1' (Conv)", for messages.
std::string described(const Node& node);

}  // namespace steppe::graph
