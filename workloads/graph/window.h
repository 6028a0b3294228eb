// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/graph/context.h"

namespace steppe::graph {

/// kernel_shape, strides, dilations and explicit pads of a Conv or a pool, from pads or auto_pad.
/// `ceil_mode` pads the end so that the window fits once more where ONNX rounds up.
Attributes window_attributes(const Context& c, const Shape& kernel, bool ceil_mode = false);

}  // namespace steppe::graph
