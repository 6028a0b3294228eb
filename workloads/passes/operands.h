// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/net/net.h"
#include "workloads/passes/view.h"

namespace steppe::passes {

/// The factors of an axis by falling position in memory, each with the distance between its
/// elements in the axis' own index.
Axis in_memory_order(const Axis& axis);

/// The second operand of an Eltwise: its shape, and where its elements lie in a tensor of that
/// shape. The view has the axes of the result; those that it repeats have what `shape` still wants.
struct Operand {
  net::Shape shape;
  View view;
};
/// For a result that lies as `out` in a tensor of `shape`, and an operand of `dims` that ONNX's
/// rules broadcast to it: the smallest operand that repeats along rows, pixels and images.
Operand repeat_operand(const View& out, const net::Shape& shape, const Extents& dims);

/// The steps through a row-major constant of `dims` that give the operand's elements in order.
Axis constant_steps(const Operand& operand, const Extents& dims);

}  // namespace steppe::passes
