// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "workloads/graph/graph.h"
#include "workloads/graph/shape.h"

namespace steppe::graph {

using Attributes = std::map<std::string, Attribute>;

/// The largest constant that is computed rather than read, in elements.
inline constexpr std::int64_t max_folded = std::int64_t{1} << 28;

/// Builds a graph node by node: shapes follow from operators, operations on constants are computed
/// at once and leave a constant.
class Builder {
 public:
  explicit Builder(std::string name) { graph_.name = std::move(name); }

  ValueId input(const std::string& name, DataType type, Shape shape);
  ValueId state(const std::string& name, Shape shape);
  /// A constant; without elements where only its shape is known.
  ValueId constant(const std::string& name, Shape shape, std::vector<float> elements);
  ValueId constant(const std::string& name, Shape shape);
  ValueId integers(const std::string& name, Shape shape, std::vector<std::int64_t> elements,
                   DataType type = DataType::int64);
  ValueId constant(Value value);
  ValueId scalar(float x);

  /// What nodes and values that are added next are named after: the first node has this name.
  void set_scope(const std::string& scope) { scope_ = scope; }

  /// Adds a canonical node and returns its result. `target` is the result's shape for Reshape and
  /// Expand. Throws ModelError naming the node where operands do not fit.
  ValueId add(const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {},
              const Shape& target = {});

  /// Adds a host operator by ONNX's name and returns its first `count` results; computes it at once
  /// where all operands are known. Shapes and types are found by a trial run on zeros. Throws
  /// ModelError naming the node, also where a shape depends on what is known only at run time.
  std::vector<ValueId> add_host(const std::string& op, std::vector<ValueId> inputs,
                                Attributes attributes, std::size_t count);

  ValueId reshape(ValueId x, const Shape& target);
  ValueId transpose(ValueId x, const Shape& perm) {
    return add("Transpose", {x}, {{"perm", perm}});
  }
  /// Elements [start, end) of one axis.
  ValueId slice(ValueId x, std::int64_t axis, std::int64_t start, std::int64_t end);

  [[nodiscard]] const Value& value(ValueId id) const { return graph_.values[id]; }
  [[nodiscard]] const Shape& shape(ValueId id) const { return graph_.values[id].shape; }
  /// Whether the elements are known.
  [[nodiscard]] bool known(ValueId id) const;
  void rename(ValueId id, const std::string& name);
  [[nodiscard]] Graph& graph() { return graph_; }

 private:
  ValueId add_value(Value value);
  void check_constants(const Node& node) const;
  void fold(const Node& node);
  std::string unique(const std::string& name, std::unordered_set<std::string>& taken);

  Graph graph_;
  std::string scope_;
  std::unordered_set<std::string> node_names_, value_names_;
};

}  // namespace steppe::graph
