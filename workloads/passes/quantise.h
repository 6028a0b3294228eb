// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "workloads/passes/arrange.h"
#include "workloads/passes/calibrate.h"
#include "workloads/passes/fuse.h"

namespace steppe::passes {

/// The int8 quantisation of a range. Symmetric: zero point 0, scale = magnitude / 127. Else scale =
/// width / 255, and the zero point that takes the lower end to -128. Scale 1 where the range is
/// empty.
net::Quant quant_of(const Range& range, bool symmetric);

/// Gives every int8 tensor its quantisation. Tensors that a Permute, a Resize, a maximum Pool or a
/// CacheStore joins share one, of their common range; those that a MatMul reads are symmetric.
/// Returns the range of each tensor. `values` may be empty where no tensor is int8.
std::vector<Range> set_quantisations(Layout& layout, const std::vector<Range>& values,
                                     bool symmetric);

/// Fills in weights, biases, multipliers, bounds and tables, by models/numerics/README.md.
/// Weights are symmetric per output channel, scale = max |w| / 127, raised where the bias would
/// leave 31 bits otherwise.
void quantise(const graph::Graph& graph, const std::vector<Step>& steps,
              const std::vector<Range>& values, Layout& layout, bool symmetric);

}  // namespace steppe::passes
