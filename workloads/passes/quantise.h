// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "workloads/passes/arrange.h"
#include "workloads/passes/calibrate.h"
#include "workloads/passes/fuse.h"

namespace steppe::passes {

/// The symmetric int8 quantisation of a range: zero point 0, scale = magnitude / 127; scale 1 where
/// the range is empty.
net::Quant quant_of(const Range& range);

/// Gives every int8 tensor its quantisation. Tensors that a Permute, a Resize, a maximum Pool or a
/// CacheStore joins share one, of their common range. Returns the range of each tensor. `values`
/// may be empty where no tensor is int8.
std::vector<Range> set_quantisations(Layout& layout, const std::vector<Range>& values);

/// Fills in weights, biases, multipliers, bounds and tables, by models/numerics/README.md.
/// Weights are symmetric per output channel, scale = max |w| / 127, raised where the bias would
/// leave 31 bits otherwise.
void quantise(const graph::Graph& graph, const std::vector<Step>& steps,
              const std::vector<Range>& values, Layout& layout);

}  // namespace steppe::passes
