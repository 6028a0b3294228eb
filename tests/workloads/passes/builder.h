// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "workloads/graph/graph.h"

namespace steppe::passes::test {

using Dims = std::vector<std::int64_t>;

/// Builds small graphs by hand. Constants count up in small steps around zero unless given.
class Builder {
 public:
  graph::Graph graph;

  graph::ValueId value(const std::string& name, Dims shape) {
    graph::Value v;
    v.name = name;
    v.shape = std::move(shape);
    graph.values.push_back(v);
    return static_cast<graph::ValueId>(graph.values.size() - 1);
  }
  graph::ValueId input(const std::string& name, Dims shape) {
    graph.inputs.push_back(value(name, std::move(shape)));
    return graph.inputs.back();
  }
  graph::ValueId constant(const std::string& name, Dims shape, std::vector<float> data = {}) {
    const graph::ValueId id = value(name, std::move(shape));
    graph::Value& v = graph.values[id];
    v.constant = true;
    std::uint64_t count = 1;
    for (const std::int64_t extent : v.shape) count *= static_cast<std::uint64_t>(extent);
    for (std::uint64_t i = data.size(); i < count; ++i) {
      data.push_back(static_cast<float>((i * 7 + count) % 13) / 8.0F - 0.75F);
    }
    v.fp32 = std::make_shared<const std::vector<float>>(std::move(data));
    return id;
  }
  graph::ValueId scalar(float x) {
    return constant(fmt::format("c{}", graph.values.size()), {}, {x});
  }

  graph::ValueId node(const std::string& op, std::vector<graph::ValueId> inputs, Dims shape,
                      std::map<std::string, graph::Attribute> attributes = {}) {
    const std::string name = fmt::format("{}{}", op, graph.nodes.size());
    const graph::ValueId out = value(name + ":0", std::move(shape));
    graph.nodes.push_back({name, op, std::move(inputs), {out}, std::move(attributes)});
    return out;
  }
  graph::ValueId conv(graph::ValueId x, std::int64_t oc, std::int64_t kernel, std::int64_t pad,
                      std::int64_t group = 1) {
    const Dims in = graph.value(x).shape;
    const graph::ValueId w =
        constant(fmt::format("w{}", graph.nodes.size()), {oc, in[1] / group, kernel, kernel});
    return node("Conv", {x, w},
                {in[0], oc, in[2] + 2 * pad - kernel + 1, in[3] + 2 * pad - kernel + 1},
                {{"kernel_shape", Dims{kernel, kernel}},
                 {"strides", Dims{1, 1}},
                 {"pads", Dims{pad, pad, pad, pad}},
                 {"dilations", Dims{1, 1}},
                 {"group", group}});
  }
  /// Transpose, Reshape and the like.
  graph::ValueId transpose(graph::ValueId x, Dims perm) {
    Dims shape;
    for (const std::int64_t axis : perm) {
      shape.push_back(graph.value(x).shape[static_cast<std::size_t>(axis)]);
    }
    return node("Transpose", {x}, shape, {{"perm", perm}});
  }
  graph::ValueId reshape(graph::ValueId x, Dims shape) {
    return node("Reshape", {x}, std::move(shape));
  }

  graph::Graph& finish(std::vector<graph::ValueId> outputs) {
    graph.name = "test";
    graph.outputs = std::move(outputs);
    return graph;
  }
};

}  // namespace steppe::passes::test
