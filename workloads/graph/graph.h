// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

/// A model as imported: float, ONNX operators, static shapes.
namespace steppe::graph {

using ValueId = std::uint32_t;
inline constexpr ValueId no_value = ~ValueId{0};  ///< an optional input that is absent

enum class DataType : std::uint8_t {
  fp32,
  int64,
  boolean,
  fp64,
  fp16,
  bf16,
  int8,
  int16,
  int32,
  uint8,
  uint16,
  uint32,
  uint64
};

/// An array in ONNX's axis order, row major.
struct Value {
  std::string name;
  DataType type = DataType::fp32;
  std::vector<std::int64_t> shape;
  /// Held by the card from run to run (a key-value cache of a zoo model).
  bool state = false;
  /// A constant. `fp32` holds its elements for fp32, fp16 and bf16, `fp64` for fp64, `int64` for
  /// integers and booleans. A constant without elements has a
  /// shape only: its values are not known and not needed (timing).
  bool constant = false;
  std::shared_ptr<const std::vector<float>> fp32;
  std::shared_ptr<const std::vector<double>> fp64;
  std::shared_ptr<const std::vector<std::int64_t>> int64;

  [[nodiscard]] std::uint64_t elements() const;
};

using Attribute =
    std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>>;

/// One operator. `op` is ONNX's name at opset 13 semantics, from the canonical set in
/// workloads/graph/README.md; attributes are complete (defaults filled in) and normalised: axes are
/// non-negative, pads explicit.
struct Node {
  std::string name;
  std::string op;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::map<std::string, Attribute> attributes;
  std::string refusal;  ///< of a host operator: why it is no canonical one, where that was tried

  [[nodiscard]] std::int64_t integer(const std::string& key) const;
  [[nodiscard]] float real(const std::string& key) const;
  [[nodiscard]] const std::vector<std::int64_t>& integers(const std::string& key) const;
};

/// Nodes stand in execution order; every value is an input, a constant, a state or the output of
/// one node.
struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;

  [[nodiscard]] const Value& value(ValueId id) const { return values.at(id); }
};

}  // namespace steppe::graph
