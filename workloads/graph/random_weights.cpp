// SPDX-License-Identifier: Apache-2.0
#include "workloads/graph/random_weights.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <unordered_map>

#include "models/base/error.h"
#include "workloads/graph/builder.h"

namespace steppe::graph {
namespace {

enum class Role : std::uint8_t { weights, near_zero, near_one };

struct Use {
  Role role = Role::weights;
  double fan_in = 1.0;
};

double product(const Shape& shape, std::size_t first) {
  double result = 1.0;
  for (std::size_t i = first; i < shape.size(); ++i) result *= static_cast<double>(shape[i]);
  return std::max(result, 1.0);
}

/// What operand `i` of a node is to it; empty where it is no weight.
std::optional<Use> use_of(const RawNode& node, std::size_t i, const Shape& shape) {
  if (node.op == "Conv") {
    return i == 1 ? Use{Role::weights, product(shape, 1)} : Use{Role::near_zero};
  }
  if (node.op == "Gemm" && shape.size() == 2 && i == 1) {
    const auto found = node.attributes.find("transB");
    const auto* turn =
        found == node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
    const bool turned = turn != nullptr && *turn != 0;
    return Use{Role::weights, static_cast<double>(shape[turned ? 1 : 0])};
  }
  if (node.op == "Gemm" && i == 2) return Use{Role::near_zero};
  if (node.op == "MatMul" && shape.size() >= 2) {
    return Use{Role::weights, static_cast<double>(shape[shape.size() - (i == 1 ? 2 : 1)])};
  }
  if (node.op == "BatchNormalization" && i > 0) {
    return Use{i == 1 || i == 4 ? Role::near_one : Role::near_zero};
  }
  if (node.op == "LayerNormalization" && i > 0) {
    return Use{i == 1 ? Role::near_one : Role::near_zero};
  }
  return std::nullopt;
}

bool is_stub(const std::vector<float>& elements) {
  return std::all_of(elements.begin(), elements.end(), [&](float x) { return x == elements[0]; });
}

std::vector<float> drawn(Random& random, std::size_t count, const Use& use) {
  if (use.role == Role::weights) return he_weights(random, count, use.fan_in);
  std::vector<float> result(count);
  for (float& x : result) {
    const float small = 0.05F * random.normal();
    x = use.role == Role::near_zero ? small : std::clamp(1.0F + small, 0.5F, 1.5F);
  }
  return result;
}

/// A ConstantOfShape with known shape and real elements, as the constant it makes.
std::optional<Value> stub_of(const RawNode& node,
                             const std::unordered_map<std::string, Value*>& known) {
  if (node.op != "ConstantOfShape" || node.inputs.size() != 1) return std::nullopt;
  const auto shape = known.find(node.inputs[0]);
  const auto attribute = node.attributes.find("value");
  if (shape == known.end() || !shape->second->int64 || attribute == node.attributes.end()) {
    return std::nullopt;
  }
  const auto* filler = std::get_if<Value>(&attribute->second);
  if (filler == nullptr || !filler->fp32 || filler->fp32->size() != 1) return std::nullopt;
  Value value;
  value.shape = *shape->second->int64;
  const std::int64_t size = checked_elements(value.shape, fmt::format("node '{}'", node.name));
  if (size > max_folded) return std::nullopt;
  value.fp32 = std::make_shared<const std::vector<float>>(static_cast<std::size_t>(size),
                                                          filler->fp32->front());
  return value;
}

std::optional<Value> constant_of(const RawNode& node,
                                 const std::unordered_map<std::string, Value*>& known) {
  if (node.outputs.size() != 1) return std::nullopt;
  const auto attribute = node.attributes.find("value");
  if (node.op != "Constant" || attribute == node.attributes.end()) return stub_of(node, known);
  const auto* value = std::get_if<Value>(&attribute->second);
  return value == nullptr ? std::nullopt : std::optional<Value>(*value);
}

}  // namespace

Random::Random(std::uint64_t seed, const std::string& name) : state_(seed) {
  for (const char c : name) {  // FNV-1a
    state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
}

double Random::uniform() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return static_cast<double>(((z ^ (z >> 31U)) >> 11U) + 1) * 0x1p-53;
}

float Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log(uniform()));
  return static_cast<float>(radius * std::cos(2.0 * std::numbers::pi * uniform()));
}

std::vector<float> he_weights(Random& random, std::size_t count, double fan_in) {
  const auto deviation = static_cast<float>(std::sqrt(2.0 / fan_in));
  std::vector<float> result(count);
  for (float& x : result) x = deviation * random.normal();
  return result;
}

void hoist_constants(RawModel& model) {
  std::unordered_map<std::string, Value*> known;
  for (Value& value : model.initialisers) known[value.name] = &value;
  std::vector<Value> hoisted;
  std::erase_if(model.nodes, [&](const RawNode& node) {
    std::optional<Value> value = constant_of(node, known);
    if (!value || known.contains(node.outputs[0])) return false;
    value->name = node.outputs[0];
    value->constant = true;
    hoisted.push_back(std::move(*value));
    return true;
  });
  model.initialisers.insert(model.initialisers.end(), hoisted.begin(), hoisted.end());
}

void randomise(RawModel& model, std::uint64_t seed, bool all) {
  std::unordered_map<std::string, Value*> known;
  for (Value& value : model.initialisers) {
    if (value.fp32 && !value.fp32->empty()) known[value.name] = &value;
  }
  for (const RawNode& node : model.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto found = known.find(node.inputs[i]);
      if (found == known.end()) continue;
      Value& value = *found->second;
      const std::optional<Use> use = use_of(node, i, value.shape);
      if (!use || !(all || is_stub(*value.fp32))) continue;
      Random random(seed, value.name);
      value.fp32 =
          std::make_shared<const std::vector<float>>(drawn(random, value.fp32->size(), *use));
      known.erase(found);
    }
  }
}

}  // namespace steppe::graph
