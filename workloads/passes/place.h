// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/graph/graph.h"
#include "workloads/passes/lower.h"

namespace steppe::passes {

/// A model in three parts that run one after the other: on the host, on the card, on the host.
/// Values keep their names. `before` takes the model's inputs and makes the card's and what `after`
/// takes besides the card's outputs; `after` makes the model's outputs.
struct Placement {
  graph::Graph before;
  graph::Graph card;  ///< without nodes where the host does everything
  graph::Graph after;
  /// Why nodes are not on the card, by name; only those that the card cannot run.
  std::map<std::string, std::string> reasons;
  /// Those that stay on the host because of what they read, by name.
  std::vector<std::string> stranded;

  /// Whether the host does anything; otherwise `card` is the whole model.
  [[nodiscard]] bool hosted() const { return !after.outputs.empty(); }
};

/// Puts on the card what it can run in `options.precision`; where host operators part that into
/// pieces, the piece with the most multiply-accumulates. Throws ModelError where a model with
/// states has a node for the host.
Placement place(const graph::Graph& graph, const LowerOptions& options);

}  // namespace steppe::passes
