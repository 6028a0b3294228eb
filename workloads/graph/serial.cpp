// SPDX-License-Identifier: Apache-2.0
#include "workloads/graph/serial.h"

#include "graph_generated.h"
#include "models/base/error.h"
#include "workloads/graph/shape.h"
#include "workloads/wire.h"

namespace steppe::graph {
namespace {

template <typename T>
using Offset = flatbuffers::Offset<T>;

Offset<wire::Value> add(flatbuffers::FlatBufferBuilder& builder, const Value& value) {
  const auto list = [](const auto& elements) { return elements ? elements.get() : nullptr; };
  return wire::CreateValueDirect(
      builder, value.name.c_str(), static_cast<wire::DataType>(value.type), &value.shape,
      value.constant, list(value.fp32), list(value.fp64), list(value.int64));
}

Offset<wire::Attribute> add(flatbuffers::FlatBufferBuilder& builder, const std::string& key,
                            const Attribute& attribute) {
  std::vector<std::int64_t> integers;
  std::vector<float> reals;
  std::string words;
  if (const auto* integer = std::get_if<std::int64_t>(&attribute)) integers = {*integer};
  if (const auto* real = std::get_if<float>(&attribute)) reals = {*real};
  if (const auto* text = std::get_if<std::string>(&attribute)) words = *text;
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute)) integers = *list;
  if (const auto* list = std::get_if<std::vector<float>>(&attribute)) reals = *list;
  return wire::CreateAttributeDirect(builder, key.c_str(),
                                     static_cast<wire::AttributeKind>(attribute.index()), &integers,
                                     &reals, words.c_str());
}

Offset<wire::Node> add(flatbuffers::FlatBufferBuilder& builder, const Node& node) {
  std::vector<Offset<wire::Attribute>> attributes;
  for (const auto& [key, attribute] : node.attributes) {
    attributes.push_back(add(builder, key, attribute));
  }
  return wire::CreateNodeDirect(builder, node.name.c_str(), node.op.c_str(), &node.inputs,
                                &node.outputs, &attributes);
}

using steppe::wire::for_each;
using steppe::wire::numbers;
using steppe::wire::text;

template <typename T>
std::shared_ptr<const std::vector<T>> shared(const flatbuffers::Vector<T>* vector) {
  return std::make_shared<const std::vector<T>>(numbers(vector));
}

Value value_of(const wire::Value& from) {
  Value value{.name = text(from.name()),
              .type = static_cast<DataType>(from.type()),
              .shape = numbers(from.shape())};
  if (from.type() > wire::DataType::MAX) {
    throw ModelError("value '{}' has the type {}, which is none", value.name,
                     static_cast<unsigned>(from.type()));
  }
  value.constant = from.constant();
  if (!value.constant) return value;
  switch (value.type) {
    case DataType::fp32:
    case DataType::fp16:
    case DataType::bf16:
      value.fp32 = shared(from.reals());
      break;
    case DataType::fp64:
      value.fp64 = shared(from.doubles());
      break;
    default:
      value.int64 = shared(from.integers());
  }
  return value;
}

Attribute attribute_of(const wire::Attribute& from, const std::string& node) {
  const std::vector<std::int64_t> integers = numbers(from.integers());
  const std::vector<float> reals = numbers(from.reals());
  switch (from.kind()) {
    case wire::AttributeKind::integer:
      if (integers.size() == 1) return integers[0];
      break;
    case wire::AttributeKind::real:
      if (reals.size() == 1) return reals[0];
      break;
    case wire::AttributeKind::text:
      return text(from.text());
    case wire::AttributeKind::integers:
      return integers;
    case wire::AttributeKind::reals:
      return reals;
  }
  throw ModelError("node '{}': the attribute '{}' has no value of its kind", node,
                   text(from.key()));
}

Node node_of(const wire::Node& from) {
  Node node{.name = text(from.name()),
            .op = text(from.op()),
            .inputs = numbers(from.inputs()),
            .outputs = numbers(from.outputs()),
            .attributes = {}};
  for_each(from.attributes(), [&](const wire::Attribute& attribute, std::size_t) {
    node.attributes[text(attribute.key())] = attribute_of(attribute, node.name);
  });
  return node;
}

}  // namespace

std::vector<std::uint8_t> serialise(const Graph& graph) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<Offset<wire::Value>> values;
  for (const Value& value : graph.values) {
    STEPPE_CHECK(!value.state, "{}", value.name);
    values.push_back(add(builder, value));
  }
  std::vector<Offset<wire::Node>> nodes;
  for (const Node& node : graph.nodes) nodes.push_back(add(builder, node));
  builder.Finish(wire::CreateGraphDirect(builder, graph.name.c_str(), &values, &nodes,
                                         &graph.inputs, &graph.outputs),
                 wire::GraphIdentifier());
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

Graph deserialise(std::span<const std::uint8_t> bytes) {
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), 64, 1U << 28U);
  if (!wire::VerifyGraphBuffer(verifier)) throw ModelError("the bytes are no graph");
  const wire::Graph& from = *wire::GetGraph(bytes.data());
  Graph graph;
  graph.name = text(from.name());
  for_each(from.values(),
           [&](const wire::Value& value, std::size_t) { graph.values.push_back(value_of(value)); });
  for_each(from.nodes(),
           [&](const wire::Node& node, std::size_t) { graph.nodes.push_back(node_of(node)); });
  graph.inputs = numbers(from.inputs());
  graph.outputs = numbers(from.outputs());
  for (const std::vector<ValueId>* list : {&graph.inputs, &graph.outputs}) {
    for (const ValueId id : *list) {
      if (id >= graph.values.size()) throw ModelError("there is no value {}", id);
    }
  }
  check(graph);
  return graph;
}

}  // namespace steppe::graph
