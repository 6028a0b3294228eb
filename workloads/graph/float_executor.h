// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workloads/graph/graph.h"
#include "workloads/operators/tensor.h"

namespace steppe::graph {

/// Runs a graph on the host, every value in its type: for the ranges of calibration, the accuracy
/// of the float model and the operators that the card has not. The result of every value stays
/// readable until the next run. States start as zeros and keep their elements from run to run.
/// Deterministic.
class FloatExecutor {
 public:
  /// Keeps a reference to the graph. Throws ModelError for a graph that breaks its promises, and
  /// where a constant has no elements.
  explicit FloatExecutor(const Graph& graph);
  explicit FloatExecutor(Graph&&) = delete;

  /// One array for every input, row major, by the input's name; whole numbers for integers and
  /// booleans. Throws ModelError for a missing or
  /// unknown input and for a wrong number of elements.
  void run(const std::map<std::string, std::vector<float>>& inputs);

  /// The elements of any fp32 value, row major; empty for integers, and before the first run.
  [[nodiscard]] const std::vector<float>& value(ValueId id) const;

  /// The elements of any value as fp32 numbers, row major: those of `value`, or of integers and
  /// booleans in `storage`.
  [[nodiscard]] const std::vector<float>& numbers(ValueId id, std::vector<float>& storage) const;

  /// As `run`, with inputs of any type.
  void run_tensors(const std::map<std::string, Tensor>& inputs);
  /// Any value with its type.
  [[nodiscard]] Tensor tensor(ValueId id) const;

  /// Sets all states to zero.
  void clear_states();
  /// Sets the elements of a state, row major.
  void set_state(ValueId id, std::vector<float> elements);

 private:
  void take(ValueId id, Tensor given);
  void run_node(const Node& node);
  void run_host_node(const Node& node);
  void run_movement_of_integers(const Node& node);

  const Graph& graph_;
  std::vector<Tensor> values_;  ///< by value; constants are copied where host operators read them
};

}  // namespace steppe::graph
