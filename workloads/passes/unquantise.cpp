// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/unquantise.h"

#include <optional>
#include <vector>

#include "workloads/graph/simplify.h"
#include "workloads/operators/host.h"
#include "workloads/passes/uses.h"

namespace steppe::passes {
namespace {

using graph::DataType;
using graph::Graph;
using graph::Node;
using graph::ValueId;

/// Scale and zero point of all elements.
struct Quantisation {
  float scale = 1.0F;
  std::int64_t zero = 0;
  bool operator==(const Quantisation&) const = default;
};

std::optional<Quantisation> quantisation_of(const Graph& graph, const Node& node) {
  const graph::Value& scale = graph.value(node.inputs.at(1));
  if (!scale.fp32 || scale.fp32->size() != 1) return {};
  Quantisation result{.scale = scale.fp32->front()};
  if (node.inputs.size() < 3 || node.inputs[2] == graph::no_value) return result;
  const graph::Value& zero = graph.value(node.inputs[2]);
  if (!zero.int64 || zero.int64->size() != 1) return {};
  result.zero = zero.int64->front();
  return result;
}

std::optional<Range> range_held(const Quantisation& quantisation, DataType type) {
  if (type != DataType::int8 && type != DataType::uint8) return {};
  const std::int64_t lowest = type == DataType::int8 ? -128 : 0;
  const auto number = [&](std::int64_t q) {
    return static_cast<float>(q - quantisation.zero) * quantisation.scale;
  };
  return Range{number(lowest), number(lowest + 255)};
}

}  // namespace

std::map<std::string, Range> unquantise(Graph& graph) {
  const Uses uses(graph);
  const std::string quantise = graph::host_prefix + "QuantizeLinear";
  const std::string dequantise = graph::host_prefix + "DequantizeLinear";
  std::map<std::string, Range> ranges;
  std::vector<ValueId> stands_for(graph.values.size());
  for (ValueId id = 0; id < stands_for.size(); ++id) stands_for[id] = id;
  for (const Node& back : graph.nodes) {  // in order: what is in front is known
    if (back.op != dequantise || uses.output[back.outputs[0]]) continue;
    const std::size_t maker = uses.producer[back.inputs[0]];
    if (maker == no_node || graph.nodes[maker].op != quantise) continue;
    const Node& there = graph.nodes[maker];
    const auto quantisation = quantisation_of(graph, there);
    if (!quantisation || quantisation != quantisation_of(graph, back)) continue;
    const auto range = range_held(*quantisation, graph.value(there.outputs[0]).type);
    const ValueId value = stands_for[there.inputs[0]];
    if (!range || graph.value(value).type != DataType::fp32) continue;
    stands_for[back.outputs[0]] = value;
    ranges[graph.value(value).name].include(*range);
  }
  for (Node& node : graph.nodes) {
    for (ValueId& id : node.inputs) {
      if (id != graph::no_value) id = stands_for[id];
    }
  }
  graph::drop_unused(graph);  // the pairs
  return ranges;
}

}  // namespace steppe::passes
