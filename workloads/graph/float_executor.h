// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workloads/graph/graph.h"

namespace steppe::graph {

/// Runs a graph in fp32: for the ranges of calibration and the accuracy of the float model. The
/// result of every value stays readable until the next run. States start as zeros and keep their
/// elements from run to run. Deterministic.
class FloatExecutor {
 public:
  /// Keeps a reference to the graph. Throws ModelError for a graph that breaks its promises, and
  /// where a constant has no elements.
  explicit FloatExecutor(const Graph& graph);
  explicit FloatExecutor(Graph&&) = delete;

  /// One array for every input, row major, by the input's name. Throws ModelError for a missing or
  /// unknown input and for a wrong number of elements.
  void run(const std::map<std::string, std::vector<float>>& inputs);

  /// The elements of any fp32 value, row major; empty for integers, and before the first run.
  [[nodiscard]] const std::vector<float>& value(ValueId id) const;

  /// Sets all states to zero.
  void clear_states();
  /// Sets the elements of a state, row major.
  void set_state(ValueId id, std::vector<float> elements);

 private:
  void run_node(const Node& node);

  const Graph& graph_;
  std::vector<std::vector<float>> values_;  ///< by value; empty for constants
};

}  // namespace steppe::graph
