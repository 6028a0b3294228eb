// SPDX-License-Identifier: Apache-2.0
#include "workloads/graph/cost.h"

#include <algorithm>
#include <string_view>

#include "workloads/operators/host.h"

namespace steppe::graph {
namespace {

double elements(const Shape& shape, std::size_t from = 0) {
  double product = 1;
  for (std::size_t i = from; i < shape.size(); ++i) product *= static_cast<double>(shape[i]);
  return product;
}

bool one_of(std::string_view op, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, op) != names.end();
}

/// Multiply-accumulates of one element of the result; 0 for what is no product.
double depth(const Graph& graph, const Node& node, std::string_view op) {
  const auto shape = [&](std::size_t i) -> Shape {
    return i < node.inputs.size() && node.inputs[i] != no_value ? graph.value(node.inputs[i]).shape
                                                                : Shape{};
  };
  if (one_of(op, {"Conv", "ConvInteger"})) return elements(shape(1), 1);
  if (op == "QLinearConv") return elements(shape(3), 1);
  // Every element of the input meets all of its weights: as many as the result's share of them.
  if (op == "ConvTranspose") {
    const double out = elements(graph.value(node.outputs[0]).shape);
    return out > 0 ? elements(shape(0)) * elements(shape(1), 1) / out : 0;
  }
  if (one_of(op, {"MatMul", "MatMulInteger", "Gemm", "QLinearMatMul"})) {
    const Shape a = shape(0);
    if (a.empty()) return 0;
    const auto transposed = node.attributes.find("transA");
    const bool first = op == "Gemm" && transposed != node.attributes.end() &&
                       std::get_if<std::int64_t>(&transposed->second) != nullptr &&
                       std::get<std::int64_t>(transposed->second) != 0;
    return static_cast<double>(first ? a.front() : a.back());
  }
  // Operands X [sequence, batch, inputs], W [directions, gates * hidden, inputs], R likewise: the
  // last result has one element where the gates have several.
  if (one_of(op, {"LSTM", "GRU", "RNN"})) {
    const double out = elements(graph.value(node.outputs[0]).shape);
    const Shape x = shape(0);
    if (x.size() != 3 || out == 0) return 0;
    const double steps = static_cast<double>(x[0]) * static_cast<double>(x[1]);
    return steps * (elements(shape(1)) + elements(shape(2))) / out;
  }
  return 0;
}

}  // namespace

Cost cost_of(const Graph& graph, const Node& node) {
  Cost cost;
  double largest = 0;
  for (const std::vector<ValueId>* list : {&node.inputs, &node.outputs}) {
    for (const ValueId id : *list) {
      if (id == no_value) continue;
      const Value& value = graph.value(id);
      const double size = elements(value.shape);
      largest = std::max(largest, size);
      cost.bytes += size * static_cast<double>((bits_of(value.type) + 7) / 8);
    }
  }
  std::string_view op = node.op;
  if (op.starts_with(host_prefix)) op.remove_prefix(host_prefix.size());
  const double macs = depth(graph, node, op) * elements(graph.value(node.outputs[0]).shape);
  cost.operations = macs > 0 ? 2 * macs : largest;
  return cost;
}

}  // namespace steppe::graph
