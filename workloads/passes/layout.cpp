// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/layout.h"

#include <algorithm>

#include "models/base/error.h"
#include "workloads/operators/tensor.h"
#include "workloads/passes/moves.h"
#include "workloads/passes/operators.h"

namespace steppe::passes {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

/// The order in which the readers of an input want it; empty where they do not care.
Order wanted_order(const Graph& graph, const Uses& uses, ValueId value, int depth) {
  const std::size_t rank = graph.value(value).shape.size();
  if (depth == 0) return {};
  for (const std::size_t index : uses.consumers[value]) {
    const Node& node = graph.nodes[index];
    if (reads_pixels(node.op)) return rank == 4 ? Order{0, 2, 3, 1} : Order{0, 2, 1};
    if (node.outputs.size() != 1 || graph.value(node.outputs[0]).shape.size() != rank) continue;
    Order behind = wanted_order(graph, uses, node.outputs[0], depth - 1);
    if (behind.empty()) continue;
    if (node.op != "Transpose") return behind;
    Order order;
    for (const std::uint32_t axis : behind) {
      order.push_back(static_cast<std::uint32_t>(node.integers("perm")[axis]));
    }
    return order;
  }
  return {};
}

net::Shape port_shape(const Extents& dims, const Order& order, bool pixels) {
  if (!pixels || dims.size() != 4) return canonical_shape(dims, order);
  const auto at = [&](std::size_t i) { return static_cast<std::uint32_t>(dims[order[i]]); };
  return {at(0), at(1), at(2), at(3)};
}

/// Of a port's array. Throws ModelError where no port has such.
net::UserType user_type(const graph::Value& value) {
  switch (value.type) {
    case graph::DataType::fp32:
      return net::UserType::fp32;
    case graph::DataType::boolean:
      return net::UserType::boolean;
    case graph::DataType::int32:
      return net::UserType::int32;
    case graph::DataType::int64:
      return net::UserType::int64;
    default:
      throw ModelError("'{}' is of {}, which the card does not take", value.name,
                       graph::text(value.type));
  }
}

void add_input(const Graph& graph, const Uses& uses, Arranger& arranger, ValueId value,
               net::Type type) {
  const graph::Value& v = graph.value(value);
  const net::UserType user = user_type(v);
  // Integers keep more digits than bf16 has; what reads them converts them.
  if (user == net::UserType::int32 || user == net::UserType::int64) type = net::Type::fp32;
  const Extents dims = dims_of(v);
  Order order = wanted_order(graph, uses, value, 8);
  const bool pixels = !order.empty();
  if (!pixels) order = natural_order(dims.size());
  const net::TensorId tensor =
      arranger.add_tensor(v.name, port_shape(dims, order, pixels), value, type);
  arranger.bind(value, dense_view(tensor, dims, order));
  arranger.layout().net.inputs.push_back({v.name, tensor, dims, order, user});
}

void add_state(const Graph& graph, Arranger& arranger, ValueId value, net::Type type) {
  const graph::Value& v = graph.value(value);
  const Extents dims = dims_of(v);
  const Order order = natural_order(dims.size());
  const net::TensorId tensor =
      arranger.add_tensor(v.name, canonical_shape(dims, order), value, type);
  arranger.layout().net.tensors[tensor].resident_in_dram = true;
  arranger.bind(value, dense_view(tensor, dims, order));
}

void add_output(const Graph& graph, Arranger& arranger, ValueId value) {
  const Extents dims = dims_of(graph.value(value));
  View view = arranger.whole(value);
  Order order = memory_order(view);
  if (!is_dense_in(view, order, elements(view))) {
    order = natural_order(dims.size());
    view = arranger.ordered(value, order);
  }
  const graph::Value& v = graph.value(value);
  net::Net& net = arranger.layout().net;
  const auto has_port = [&](const std::vector<net::Port>& ports) {
    return std::ranges::find(ports, view.tensor, &net::Port::tensor) != ports.end();
  };
  if (has_port(net.inputs) || has_port(net.outputs)) {  // each port has a place of its own
    const net::Tensor in = net.tensor(view.tensor);
    net::Map copy;
    copy.operands = {{.tensor = view.tensor, .constant = {}, .shape = in.shape}};
    copy.out = arranger.add_tensor(v.name, in.shape, value, in.type);
    arranger.add_layer(v.name + ".copy", {}, copy, {});
    view.tensor = copy.out;
  }
  net.outputs.push_back({v.name, view.tensor, dims, order, user_type(v)});
}

/// The text without the node's description in front.
std::string without(const std::string& description, const std::string& text) {
  const std::string front = description + ": ";
  return text.starts_with(front) ? text.substr(front.size()) : text;
}

}  // namespace

UnsupportedNode::UnsupportedNode(std::size_t index, const Node& node, const std::string& text)
    : ModelError("{}: {}", described(node), without(described(node), text)),
      node_(index),
      reason_(without(described(node), text)) {}

Layout lay_out(const Graph& graph, const std::vector<Step>& steps, net::Type type) {
  Arranger arranger(graph);
  const Uses uses(graph);
  for (const ValueId value : graph.inputs) add_input(graph, uses, arranger, value, type);
  for (ValueId value = 0; value < graph.values.size(); ++value) {
    if (!graph.value(value).state) continue;
    add_state(graph, arranger, value, type == net::Type::fp32 ? net::Type::bf16 : type);
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Node& node = graph.nodes[steps[i].node];
    arranger.want(std::nullopt);
    try {
      if (steps[i].kind == StepKind::other && move_views(graph, node, arranger)) continue;
      arranger.want(steps[i].type);
      lay_out_operator(graph, steps[i], i, arranger);
    } catch (const ModelError& error) {
      throw UnsupportedNode(steps[i].node, node, error.what());
    }
  }
  arranger.want(std::nullopt);
  for (const ValueId value : graph.outputs) add_output(graph, arranger, value);
  for (ValueId value = 0; value < graph.values.size(); ++value) {
    if (const Pieces* pieces = arranger.find(value);
        pieces != nullptr && pieces->views.size() == 1) {
      arranger.layout().places.emplace(value, pieces->views.front());
    }
  }
  return std::move(arranger.layout());
}

}  // namespace steppe::passes
