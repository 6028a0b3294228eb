// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "workloads/graph/graph.h"
#include "workloads/passes/calibrate.h"

namespace steppe::passes {

/// Moves the difficulty of outliers from activations to weights (SmoothQuant: G. Xiao et al.,
/// 2023): where only products with constant weights read a LayerNormalization, channel j of its
/// gain and shift is divided by s_j = max |x_j|^alpha / max |w_j|^(1 - alpha) and row j of the
/// weights multiplied by it, x_j over the samples and w_j over all those products. The graph
/// computes what it did, to rounding. Returns the names of the normalisations so treated. alpha is
/// in [0, 1]; throws ModelError where constants lack data.
std::vector<std::string> smooth(graph::Graph& graph, const std::vector<Sample>& samples,
                                double alpha);

}  // namespace steppe::passes
