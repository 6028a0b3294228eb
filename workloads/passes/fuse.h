// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "workloads/graph/graph.h"
#include "workloads/net/net.h"
#include "workloads/passes/pointwise.h"

/// Groups the nodes of a graph into steps: what one layer of the card does.
namespace steppe::passes {

enum class StepKind : std::uint8_t {
  conv,      ///< Conv; or a product with constant weights (`dense`)
  dense,     ///< MatMul or Gemm with constant weights
  function,  ///< a function of one value on its own
  other      ///< the node as it is
};

struct Step {
  StepKind kind = StepKind::other;
  net::Type type = net::Type::int8;  ///< it computes in
  std::size_t node = 0;              ///< the main node
  std::vector<std::size_t> nodes;    ///< all that it covers, rising
  graph::ValueId in = graph::no_value;
  graph::ValueId out = graph::no_value;  ///< behind everything fused
  // Of conv and dense:
  std::vector<graph::ValueId> biases;  ///< constants added per output channel
  graph::ValueId residual = graph::no_value;
  graph::ValueId sum = graph::no_value;  ///< the value in front of the function
  /// Of conv, dense, a MatMul of two activations (factor and bounds only), and function.
  std::optional<Function> function;
  std::optional<ScaleClamp> scale_clamp;  ///< where the function is of that form
};

/// Whether a node multiplies by constant weights of two axes (leading ones of extent 1 aside).
bool has_constant_weights(const graph::Graph& graph, const graph::Node& node);

/// The steps in execution order; every node is in one step. `types` says what each node computes
/// in, int8 where it is empty. Only int8 has tables; the result of an fp32 product is stored as it
/// is.
std::vector<Step> fuse(const graph::Graph& graph, const std::vector<net::Type>& types = {});

}  // namespace steppe::passes
