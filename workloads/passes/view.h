// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/net/net.h"

/// Arrays as strided windows on tensors: transposes, slices and most reshapes move no byte until an
/// operator asks for another order.
namespace steppe::passes {

using Extents = std::vector<std::uint64_t>;
using Order = std::vector<std::uint32_t>;  ///< axes, outermost first

/// `size` elements, `step` elements apart; a step of 0 repeats.
struct Factor {
  std::uint64_t size = 1;
  std::int64_t step = 0;
  bool operator==(const Factor&) const = default;
};
/// One axis of an array: an index runs through its factors row major, outermost first. Factors of
/// size 1 are left out, neighbours that step evenly are one.
using Axis = std::vector<Factor>;

std::uint64_t extent(const Axis& axis);
/// Drops factors of size 1 and joins neighbours that step evenly.
Axis joined(const Axis& axis);

/// An array whose elements lie in `tensor`, from element `offset` on.
struct View {
  net::TensorId tensor = net::no_tensor;
  std::int64_t offset = 0;
  std::vector<Axis> axes;
};

std::uint64_t elements(const View& view);
Extents extents(const View& view);

/// The array of `dims` that fills a tensor row major after its axes were put into `order`.
View dense_view(net::TensorId tensor, const Extents& dims, const Order& order);
Order natural_order(std::size_t rank);
/// The axes by falling step: the order in which they lie in memory.
Order memory_order(const View& view);
/// Whether the array is all of its tensor of `tensor_elements`, each element once.
bool is_dense(const View& view, std::uint64_t tensor_elements);
/// Whether the array, its axes in `order`, is its tensor from first to last element.
bool is_dense_in(const View& view, const Order& order, std::uint64_t tensor_elements);

View transposed(const View& view, const Order& perm);
/// Empty where the elements do not step evenly enough for the new extents.
std::optional<View> reshaped(const View& view, const Extents& dims);
/// Elements start, start + step, … of one axis; empty where the axis is not evenly stepped.
std::optional<View> sliced(const View& view, std::size_t axis, std::int64_t start,
                           std::int64_t step, std::uint64_t count);
/// Repeats axes of extent 1 and adds leading ones (ONNX broadcasting) to reach `dims`.
View broadcast(const View& view, const Extents& dims);

/// Splits the factors of two axes of one extent until they have equal sizes; false where that
/// cannot be done.
bool refine(Axis& a, Axis& b);

/// Copies of `from` into the positions of `to` (arrays of one shape), five steps at most each.
/// Empty where the axes cannot be refined.
std::optional<std::vector<net::PermutePart>> copies(const View& from, const View& to);

}  // namespace steppe::passes
