// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "workloads/passes/arrange.h"
#include "workloads/passes/fuse.h"

namespace steppe::passes {

/// Whether the operator works on images in NCHW, which lie on the card as NHWC.
bool reads_pixels(std::string_view op);

/// Adds the layer of a step and binds its output. Throws ModelError where there is none.
void lay_out_operator(const graph::Graph& graph, const Step& step, std::size_t index,
                      Arranger& arranger);

}  // namespace steppe::passes
