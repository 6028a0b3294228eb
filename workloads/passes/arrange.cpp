// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/arrange.h"

#include <algorithm>

#include "models/base/error.h"

namespace steppe::passes {
namespace {

using net::Shape;
using net::TensorId;

void describe(std::string& key, const View& view) {
  key += fmt::format("t{}+{}", view.tensor, view.offset);
  for (const Axis& axis : view.axes) {
    key += '[';
    for (const Factor& factor : axis) key += fmt::format("{}*{},", factor.size, factor.step);
    key += ']';
  }
}

/// One view of the target for each piece.
std::vector<View> split(const View& target, const Pieces& pieces) {
  if (pieces.views.size() == 1) return {target};
  std::vector<View> result;
  std::int64_t start = 0;
  for (const View& piece : pieces.views) {
    const std::uint64_t count = extent(piece.axes[pieces.axis]);
    const std::optional<View> part = sliced(target, pieces.axis, start, 1, count);
    STEPPE_CHECK(part.has_value());
    result.push_back(*part);
    start += static_cast<std::int64_t>(count);
  }
  return result;
}

Extents dims_of(const Pieces& pieces) {
  Extents dims = extents(pieces.views.front());
  if (pieces.views.size() == 1) return dims;
  dims[pieces.axis] = 0;
  for (const View& view : pieces.views) dims[pieces.axis] += extent(view.axes[pieces.axis]);
  return dims;
}

std::uint32_t narrow(std::uint64_t extent, const std::string& where) {
  if (extent > 0xffffffffU) throw ModelError("'{}': an extent of {} is too large", where, extent);
  return static_cast<std::uint32_t>(extent);
}

}  // namespace

Extents dims_of(const graph::Value& value) {
  Extents dims;
  for (const std::int64_t extent : value.shape) {
    if (extent <= 0) {
      throw ModelError("value '{}' has an extent of {}; every extent must be known and positive",
                       value.name, extent);
    }
    dims.push_back(narrow(static_cast<std::uint64_t>(extent), value.name));
  }
  return dims;
}

Shape canonical_shape(const Extents& dims, const Order& order) {
  const auto at = [&](std::size_t i) { return static_cast<std::uint32_t>(dims[order[i]]); };
  const std::size_t rank = order.size();
  if (order == Order{0, 2, 3, 1}) return {at(0), at(1), at(2), at(3)};
  Shape shape;
  if (rank > 0) shape.c = at(rank - 1);
  if (rank > 1) shape.h = at(rank - 2);
  for (std::size_t i = 0; i + 2 < rank; ++i) shape.n *= at(i);
  return shape;
}

std::string Arranger::unique(const std::string& name, std::unordered_set<std::string>& taken) {
  std::string result = name;
  for (int i = 2; !taken.insert(result).second; ++i) result = fmt::format("{}.{}", name, i);
  return result;
}

TensorId Arranger::add_tensor(const std::string& name, const Shape& shape, graph::ValueId value,
                              net::Type type) {
  layout_.net.tensors.push_back({unique(name, tensor_names_), shape, type, {}, false});
  layout_.values.push_back(value);
  return static_cast<TensorId>(layout_.net.tensors.size() - 1);
}

void Arranger::add_layer(const std::string& name, std::vector<std::string> nodes,
                         decltype(net::Layer::op) op, LayerSource source) {
  layout_.net.layers.push_back({unique(name, layer_names_), std::move(nodes), std::move(op)});
  layout_.sources.push_back(std::move(source));
}

void Arranger::bind(graph::ValueId value, const View& view) {
  const Extents dims = dims_of(graph_.value(value));
  if (extents(view) == dims) {
    places_[value] = {0, {view}};
    return;
  }
  const std::optional<View> fitting = reshaped(view, dims);
  STEPPE_CHECK(fitting.has_value(), "{}", graph_.value(value).name);
  places_[value] = {0, {*fitting}};
}

TensorId Arranger::convert(TensorId id, net::Type type) {
  const net::Tensor from = tensor(id);
  if (from.type == type) return id;
  const auto [found, fresh] = conversions_.try_emplace({id, type}, net::no_tensor);
  if (!fresh) return found->second;
  net::Map op;
  op.operands = {{.tensor = id, .constant = {}, .shape = from.shape}};
  const std::string name = fmt::format("{}.{}", from.name, net::name_of(type));
  op.out = found->second = add_tensor(name, from.shape, layout_.values[id], type);
  add_layer(name, {}, op, {});
  return op.out;
}

Pieces Arranger::converted(Pieces pieces, std::optional<net::Type> type) {
  if (!type) {
    // Of int8, bf16 and fp32 the one that holds all others.
    const auto width = [&](const View& view) { return tensor(view.tensor).item_bytes(); };
    const auto widest = std::ranges::max_element(pieces.views, {}, width);
    type = tensor(widest->tensor).type;
  }
  for (View& view : pieces.views) view.tensor = convert(view.tensor, *type);
  return pieces;
}

Pieces Arranger::pieces(graph::ValueId value) {
  const auto found = places_.find(value);
  if (found != places_.end()) {
    return want_ ? converted(found->second, want_) : found->second;
  }
  const graph::Value& v = graph_.value(value);
  throw ModelError(
      "constant '{}' is used as a tensor; constants may be weights, biases and second "
      "operands of arithmetic",
      v.name);
}

bool Arranger::fills_tensor(const View& view) const {
  return is_dense(view, tensor(view.tensor).shape.elements());
}

View Arranger::single(graph::ValueId value) {
  const Pieces all = pieces(value);
  if (all.views.size() == 1) return all.views.front();
  return ordered(value, memory_order(all.views.front()));
}

View Arranger::whole(graph::ValueId value) {
  View view = single(value);
  return fills_tensor(view) ? view : ordered(value, memory_order(view));
}

View Arranger::rows(graph::ValueId value, std::size_t axis) {
  View view = single(value);
  const Shape& shape = tensor(view.tensor).shape;
  const Axis& channels = view.axes[axis];
  const bool innermost = std::all_of(channels.begin(), channels.end(), [&](const Factor& factor) {
    return factor.step * static_cast<std::int64_t>(factor.size) <= std::int64_t{shape.c};
  });
  const bool in_place = fills_tensor(view) && extent(channels) == shape.c && innermost &&
                        (view.axes.size() > 3 || shape.w == 1);
  if (in_place) return view;
  Order order = natural_order(view.axes.size());
  order.erase(order.begin() + static_cast<std::ptrdiff_t>(axis));
  order.push_back(static_cast<std::uint32_t>(axis));
  return ordered(value, order);
}

View Arranger::ordered(graph::ValueId value, const Order& order) {
  const Extents dims = dims_of(pieces(value));
  View target = dense_view(net::no_tensor, dims, order);
  target.tensor = place(value, target, canonical_shape(dims, order));
  return target;
}

TensorId Arranger::place(const Pieces& given, const View& target, const Shape& shape,
                         const std::string& name) {
  const Pieces pieces = converted(given, std::nullopt);
  if (pieces.views.size() == 1) {
    const View& view = pieces.views.front();
    bool same = view.offset == target.offset && tensor(view.tensor).shape == shape;
    for (std::size_t i = 0; same && i < view.axes.size(); ++i) {
      Axis a = view.axes[i];
      Axis b = target.axes[i];
      same = refine(a, b) && a == b;
    }
    if (same && elements(view) == shape.elements()) return view.tensor;
  }
  std::string key;
  for (const View& view : pieces.views) describe(key, view);
  key += fmt::format("|{}|{},{},{},{}|", pieces.axis, shape.n, shape.h, shape.w, shape.c);
  View unbound = target;
  unbound.tensor = net::no_tensor;
  describe(key, unbound);
  const auto found = copies_.find(key);
  if (found != copies_.end()) return found->second;
  const TensorId result = copy(pieces, target, shape, name);
  copies_.emplace(key, result);
  return result;
}

TensorId Arranger::copy(const Pieces& pieces, const View& target, const Shape& shape,
                        const std::string& name) {
  net::Permute permute;
  const bool splits = pieces.views.size() == 1 || target.axes[pieces.axis].size() <= 1;
  const std::vector<View> parts = splits ? split(target, pieces) : std::vector<View>{};
  bool even = splits;
  for (std::size_t i = 0; i < parts.size() && even; ++i) {
    const auto moves = copies(pieces.views[i], parts[i]);
    even = moves.has_value();
    if (even) permute.parts.insert(permute.parts.end(), moves->begin(), moves->end());
  }
  if (!even) {  // a row-major copy in between has one step for each axis
    const Extents dims = dims_of(pieces);
    const Order order = natural_order(dims.size());
    View flat = dense_view(net::no_tensor, dims, order);
    flat.tensor = place(pieces, flat, canonical_shape(dims, order), name);
    return place({0, {flat}}, target, shape, name);
  }
  permute.out =
      add_tensor(name + ".moved", shape, graph::no_value, tensor(pieces.views.front().tensor).type);
  add_layer(name + ".permute", {}, permute, {});
  return permute.out;
}

}  // namespace steppe::passes
