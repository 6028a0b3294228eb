// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "workloads/graph/graph.h"

/// What an ONNX file holds, free of protobuf, not judged yet.
namespace steppe::graph {

struct RawModel;

/// A list of strings is one string with commas between. `monostate` stands for kinds that no
/// supported operator has (sparse tensors).
/// A body of a control operator is a model without operator set.
using RawAttribute =
    std::variant<std::monostate, std::int64_t, float, std::string, std::vector<std::int64_t>,
                 std::vector<float>, Value, std::shared_ptr<const RawModel>>;

struct RawNode {
  std::string name;
  std::string op;                   ///< "domain::op" outside the default domain
  std::vector<std::string> inputs;  ///< empty: absent
  std::vector<std::string> outputs;
  std::map<std::string, RawAttribute> attributes;
};

/// The node's attribute; null where it is absent or of another kind.
template <typename T>
const T* attribute_of(const RawNode& node, const std::string& key) {
  const auto found = node.attributes.find(key);
  return found == node.attributes.end() ? nullptr : std::get_if<T>(&found->second);
}

struct RawAxis {
  std::int64_t extent = -1;  ///< negative: not fixed
  std::string symbol;        ///< of an extent that is not fixed, where it has one
};

struct RawInput {
  std::string name;
  DataType type = DataType::fp32;
  bool shaped = false;  ///< whether the file says anything about the axes
  std::vector<RawAxis> axes;
};

struct RawModel {
  std::string name;
  std::int64_t opset = 0;  ///< of the default domain
  std::vector<Value> initialisers;
  std::vector<RawInput> inputs;  ///< without those that are initialisers
  std::vector<RawNode> nodes;
  std::vector<std::string> outputs;
  std::vector<RawInput> declared;  ///< what the file says of outputs; not of all, nor of a body's
};

/// With `widen`, fp16, bf16 and fp64 become fp32. Throws ConfigError where the file cannot be read,
/// ModelError where it is no ONNX model or one of its tensors is broken.
RawModel read_onnx(const std::filesystem::path& path, bool widen = true);

}  // namespace steppe::graph
