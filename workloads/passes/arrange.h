// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "workloads/graph/graph.h"
#include "workloads/net/net.h"
#include "workloads/passes/view.h"

/// Where each value of the graph lies on the card while the layers are being laid out.
namespace steppe::passes {

inline constexpr std::size_t no_step = ~std::size_t{0};

/// What the constants of a layer are made from.
struct LayerSource {
  std::size_t step = no_step;  ///< none for copies
  /// Weights in the engine's order [oc][kh][kw][ic], as steps through the graph's array.
  Axis weights;
  /// Constant operands of a Map, or gain and shift of a LayerNorm, likewise.
  struct Operand {
    std::size_t number = 0;  ///< of the layer's operands
    graph::ValueId value = graph::no_value;
    Axis steps;
  };
  std::vector<Operand> operands;
};

/// A network with shapes and references, and what is needed to fill in its numbers.
struct Layout {
  net::Net net;
  std::vector<LayerSource> sources;       ///< by layer
  std::vector<graph::ValueId> values;     ///< by tensor: whose range it has; no_value for copies
  std::map<graph::ValueId, View> places;  ///< of values that lie in one piece
};

/// An array in one piece, or concatenated along an axis from several.
struct Pieces {
  std::size_t axis = 0;
  std::vector<View> views;
};

Extents dims_of(const graph::Value& value);
/// How an array of `dims`, axes in `order`, is stored: the last axis is the channels; NCHW arrays
/// in the order N, H, W, C keep their four extents; else rows are single pixels and leading axes
/// are images.
net::Shape canonical_shape(const Extents& dims, const Order& order);

class Arranger {
 public:
  explicit Arranger(const graph::Graph& graph) : graph_(graph) { layout_.net.name = graph.name; }

  /// What is asked for from here on is given in this type, converted where it has another; without
  /// one it is given as it is.
  void want(std::optional<net::Type> type) { want_ = type; }

  net::TensorId add_tensor(const std::string& name, const net::Shape& shape, graph::ValueId value,
                           net::Type type);
  void add_layer(const std::string& name, std::vector<std::string> nodes,
                 decltype(net::Layer::op) op, LayerSource source);

  /// Says where a value lies; the view may lack or have axes of extent 1.
  void bind(graph::ValueId value, const View& view);
  void bind(graph::ValueId value, Pieces pieces) { places_[value] = std::move(pieces); }
  /// Throws ModelError for a constant: the card has none as tensors.
  Pieces pieces(graph::ValueId value);
  /// As it is; null where it has no place.
  [[nodiscard]] const Pieces* find(graph::ValueId value) const {
    const auto found = places_.find(value);
    return found == places_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] const net::Tensor& tensor(net::TensorId id) const { return layout_.net.tensor(id); }
  [[nodiscard]] bool fills_tensor(const View& view) const;

  /// In one piece; copied where it was not.
  View single(graph::ValueId value);
  /// In one piece that is all of its tensor, in any order.
  View whole(graph::ValueId value);
  /// As `whole`, with exactly `axis` in the channels; arrays of up to three axes have rows of one
  /// pixel.
  View rows(graph::ValueId value, std::size_t axis);
  /// As `whole`, row major in `order`.
  View ordered(graph::ValueId value, const Order& order);
  /// The tensor of `shape` that holds the array as `target` says (its tensor is not looked at):
  /// the one where it lies, or a copy.
  net::TensorId place(const Pieces& pieces, const View& target, const net::Shape& shape,
                      const std::string& name);
  net::TensorId place(graph::ValueId value, const View& target, const net::Shape& shape) {
    return place(pieces(value), target, shape, graph_.value(value).name);
  }

  Layout& layout() { return layout_; }

 private:
  std::string unique(const std::string& name, std::unordered_set<std::string>& taken);
  net::TensorId convert(net::TensorId tensor, net::Type type);
  /// All pieces in one type: the one given, or the widest of theirs.
  Pieces converted(Pieces pieces, std::optional<net::Type> type);
  net::TensorId copy(const Pieces& pieces, const View& target, const net::Shape& shape,
                     const std::string& name);

  const graph::Graph& graph_;
  Layout layout_;
  std::unordered_map<graph::ValueId, Pieces> places_;
  std::optional<net::Type> want_;
  std::map<std::string, net::TensorId> copies_;  ///< by what was copied and how
  std::map<std::pair<net::TensorId, net::Type>, net::TensorId> conversions_;
  std::unordered_set<std::string> tensor_names_, layer_names_;
};

}  // namespace steppe::passes
