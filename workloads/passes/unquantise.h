// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "workloads/graph/graph.h"
#include "workloads/passes/calibrate.h"

namespace steppe::passes {

/// Takes the quantisation of activations out of a QDQ model: where a DequantizeLinear undoes a
/// QuantizeLinear to int8 or uint8 with the same scale and zero point, one for all elements, both
/// go, and the numbers between the lowest and the highest that it can hold become the range of the
/// value in front. Pairs in front of an output of the graph stay. Returns the ranges by value.
std::map<std::string, Range> unquantise(graph::Graph& graph);

}  // namespace steppe::passes
