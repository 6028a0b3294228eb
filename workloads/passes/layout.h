// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"
#include "workloads/passes/arrange.h"
#include "workloads/passes/fuse.h"

namespace steppe::passes {

/// The card cannot run a node of the graph.
class UnsupportedNode : public ModelError {
 public:
  /// `text` may begin with the node's description.
  UnsupportedNode(std::size_t index, const graph::Node& node, const std::string& text);
  [[nodiscard]] std::size_t node() const { return node_; }  ///< its place in the graph
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  std::size_t node_;
  std::string reason_;
};

/// Lays the steps out as layers on NHWC tensors, with as few copies as the operators allow; inputs
/// and states are of `type` (states bf16 instead of fp32, which the engines do not read). Constants
/// of the graph have their sizes only; quantisations are left at 1. Throws UnsupportedNode where an
/// operator or a shape has no layer.
Layout lay_out(const graph::Graph& graph, const std::vector<Step>& steps,
               net::Type type = net::Type::int8);

}  // namespace steppe::passes
