// SPDX-License-Identifier: Apache-2.0
#include "workloads/graph/graph.h"

#include "models/base/error.h"
#include "workloads/graph/shape.h"

namespace steppe::graph {
namespace {

template <typename T>
const T& attribute(const Node& node, const std::string& key, const char* kind) {
  const auto found = node.attributes.find(key);
  if (found == node.attributes.end()) {
    throw ModelError("{}: the attribute '{}' is missing", described(node), key);
  }
  const T* value = std::get_if<T>(&found->second);
  if (value == nullptr) throw ModelError("{}: '{}' is not {}", described(node), key, kind);
  return *value;
}

}  // namespace

std::uint64_t Value::elements() const {
  std::uint64_t product = 1;
  for (const std::int64_t extent : shape) product *= static_cast<std::uint64_t>(extent);
  return product;
}

std::int64_t Node::integer(const std::string& key) const {
  return attribute<std::int64_t>(*this, key, "an integer");
}

float Node::real(const std::string& key) const {
  return attribute<float>(*this, key, "a real number");
}

const std::vector<std::int64_t>& Node::integers(const std::string& key) const {
  return attribute<std::vector<std::int64_t>>(*this, key, "a list of integers");
}

std::string described(const Node& node) {
  return fmt::format("node '{}' ({})", node.name, node.op);
}

}  // namespace steppe::graph
