// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"
#include "workloads/passes/arrange.h"
#include "workloads/passes/fuse.h"
#include "workloads/passes/limits.h"
#include "workloads/passes/uses.h"

namespace steppe::passes {

/// What the layout of one step needs, whatever its operator.
class StepLayout {
 protected:
  StepLayout(const graph::Graph& graph, const Step& step, std::size_t index, Arranger& arranger)
      : graph_(graph), step_(step), node_(graph.nodes[step.node]), arranger_(arranger) {
    source_.step = index;
  }

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw ModelError("{}: {}", described(node_), fmt::format(format, std::forward<Args>(args)...));
  }

  [[nodiscard]] const graph::Value& value(graph::ValueId id) const { return graph_.value(id); }
  [[nodiscard]] std::size_t rank(graph::ValueId id) const { return value(id).shape.size(); }
  [[nodiscard]] const net::Shape& shape(const View& view) const {
    return arranger_.tensor(view.tensor).shape;
  }

  /// Adds the tensor of the step's result, the layer that `op` becomes, and binds the result.
  template <typename Op>
  void emit(Op op, View out, net::Shape out_shape) {
    emit(std::move(op), out, out_shape, step_.type);
  }
  template <typename Op>
  void emit(Op op, View out, net::Shape out_shape, net::Type type) {
    out.tensor = op.out = arranger_.add_tensor(value(step_.out).name, out_shape, step_.out, type);
    add_layer(std::move(op));
    arranger_.bind(step_.out, out);
  }

  /// As `emit`, of a value on the way to the step's result; `range`: the value whose range it has,
  /// where it has to have one.
  template <typename Op>
  View emit_between(Op op, View out, net::Shape out_shape, graph::ValueId range = graph::no_value) {
    const std::string& name = value(step_.out).name;
    out.tensor = op.out = arranger_.add_tensor(name + ".part", out_shape, range, step_.type);
    add_layer(std::move(op));
    return out;
  }

  template <typename Op>
  void add_layer(Op op) {
    const std::string beyond = beyond_limits(arranger_.layout().net, op);
    if (!beyond.empty()) fail("{}", beyond);
    std::vector<std::string> nodes;
    for (const std::size_t node : step_.nodes) nodes.push_back(graph_.nodes[node].name);
    const std::string& name = node_.name.empty() ? value(step_.out).name : node_.name;
    arranger_.add_layer(name, std::move(nodes), std::move(op), source_);
  }

  /// A value of three or four axes as images; its view and tensor in NHWC.
  struct Pixels {
    View view;
    net::Shape shape;
  };
  [[nodiscard]] Pixels pixels_of(graph::ValueId id) const {
    const Extents dims = dims_of(value(id));
    if (dims.size() != 3 && dims.size() != 4) {
      fail("'{}' has {} axes; images have 3 (batch, channels, rows) or 4 (and pixels)",
           value(id).name, dims.size());
    }
    const bool flat = dims.size() == 3;
    const Order order = flat ? Order{0, 2, 1} : Order{0, 2, 3, 1};
    return {dense_view(net::no_tensor, dims, order), canonical_shape(dims, order)};
  }
  Pixels place_pixels(graph::ValueId id) {
    Pixels pixels = pixels_of(id);
    pixels.view.tensor = arranger_.place(id, pixels.view, pixels.shape);
    return pixels;
  }

  /// kernel, strides, pads of a window over one or two axes; one axis runs over the rows.
  template <typename Op>
  void take_window(Op& op) const {
    const std::vector<std::int64_t>& kernel = node_.integers("kernel_shape");
    const std::vector<std::int64_t>& strides = node_.integers("strides");
    const std::vector<std::int64_t>& pads = node_.integers("pads");
    op.kernel_h = static_cast<std::uint32_t>(kernel.at(0));
    op.stride_h = static_cast<std::uint32_t>(strides.at(0));
    op.pad_top = static_cast<std::uint32_t>(pads.at(0));
    if (kernel.size() < 2) return;
    op.kernel_w = static_cast<std::uint32_t>(kernel.at(1));
    op.stride_w = static_cast<std::uint32_t>(strides.at(1));
    op.pad_left = static_cast<std::uint32_t>(pads.at(1));
  }

  [[nodiscard]] std::size_t axis_attribute() const {
    const std::int64_t axis = node_.integer("axis");
    const auto axes = static_cast<std::int64_t>(rank(node_.inputs[0]));
    return static_cast<std::size_t>(axis < 0 ? axis + axes : axis);
  }

  const graph::Graph& graph_;
  const Step& step_;
  const graph::Node& node_;
  Arranger& arranger_;
  LayerSource source_;
};

}  // namespace steppe::passes
