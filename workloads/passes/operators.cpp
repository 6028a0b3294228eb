// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/operators.h"

#include <algorithm>
#include <map>
#include <set>

#include "models/base/error.h"
#include "workloads/passes/maps.h"
#include "workloads/passes/operands.h"
#include "workloads/passes/products.h"
#include "workloads/passes/step_layout.h"

namespace steppe::passes {
namespace {

using graph::Graph;
using graph::ValueId;
using net::Shape;

constexpr std::string_view supported =
    "Conv, MatMul, Gemm, MaxPool, AveragePool, GlobalAveragePool, reductions, ArgMax, ArgMin, "
    "Softmax, LayerNormalization, Add, Sub, Mul, Div, Max, Min, Pow, comparisons, And, Or, Xor, "
    "Where, Transpose, Reshape, Slice, Split, Concat, Expand, Pad, CacheStore and functions of one "
    "value";

const std::map<std::string_view, net::Reduction>& reductions() {
  static const std::map<std::string_view, net::Reduction> table{
      {"ReduceMax", net::Reduction::max},
      {"ReduceMin", net::Reduction::min},
      {"ReduceProd", net::Reduction::product},
      {"ReduceL2", net::Reduction::norm},
      {"ReduceSumSquare", net::Reduction::squares}};
  return table;
}

/// Lays out one step; the methods are named after the operators.
class Operator : StepLayout {
 public:
  Operator(const Graph& graph, const Step& step, std::size_t index, Arranger& arranger)
      : StepLayout(graph, step, index, arranger), index_(index) {}

  void run() {
    if (step_.kind == StepKind::function) return function();
    if (lay_out_map(graph_, step_, index_, arranger_)) return;
    const std::string& op = node_.op;
    if (op == "MaxPool" || op == "AveragePool") return pool();
    if (op == "GlobalAveragePool") return global_average();
    if (op == "ReduceMean") return reduce_mean();
    if (const auto found = reductions().find(op); found != reductions().end()) {
      return reduce(found->second, reduced_axes(), step_.type);
    }
    if (op == "ArgMax" || op == "ArgMin") return best();
    if (op == "Softmax") return softmax();
    if (op == "LayerNormalization") return layer_norm();
    if (op == "Pad") return pad();
    if (op == "CacheStore") return cache_store();
    fail("the card has no such operator; it has {}", supported);
  }

 private:
  void function() {
    const View in = arranger_.whole(step_.in);
    net::Lut lut;
    lut.in = in.tensor;
    lut.table.size = 256;
    emit(lut, in, shape(in));
  }

  void pool() {
    const Pixels in = place_pixels(node_.inputs[0]);
    const Pixels out = pixels_of(node_.outputs[0]);
    net::Pool op;
    op.in = in.view.tensor;
    op.average = node_.op == "AveragePool";
    take_window(op);
    if (op.average) op.count_padding = node_.integer("count_include_pad") != 0;
    if (node_.attributes.contains("dilations")) {
      for (const std::int64_t d : node_.integers("dilations")) {
        if (d != 1) fail("a dilation of {}; pooling windows must be dense", d);
      }
    }
    emit(op, out.view, out.shape);
  }

  void global_average() {
    const std::size_t axes = rank(node_.inputs[0]);
    std::set<std::size_t> reduced;
    for (std::size_t axis = 2; axis < axes; ++axis) reduced.insert(axis);
    place_pixels(node_.inputs[0]);
    mean(reduced, true);
  }

  [[nodiscard]] std::set<std::size_t> reduced_axes() const {
    std::set<std::size_t> reduced;
    for (const std::int64_t axis : node_.integers("axes")) {
      reduced.insert(static_cast<std::size_t>(axis));
    }
    return reduced;
  }

  void reduce_mean() { mean(reduced_axes(), node_.integer("keepdims") != 0); }

  void best() {
    if (node_.integer("select_last_index") != 0) fail("of equals it takes the first");
    reduce(node_.op == "ArgMax" ? net::Reduction::argmax : net::Reduction::argmin,
           {axis_attribute()}, net::Type::int32);
  }

  /// One number for what lies along some axes, which are the channels.
  void reduce(net::Reduction function, const std::set<std::size_t>& reduced, net::Type type) {
    const View in = reduced.size() == 1 ? arranger_.rows(node_.inputs[0], *reduced.begin())
                                        : reduced_channels(reduced);
    net::Reduce op;
    op.function = function;
    op.in = in.tensor;
    Shape out_shape = shape(in);
    out_shape.c = 1;
    View out{net::no_tensor, 0, in.axes};
    for (std::size_t i = 0; i < out.axes.size(); ++i) {
      if (reduced.contains(i)) out.axes[i].clear();
      for (Factor& factor : out.axes[i]) factor.step /= shape(in).c;
    }
    emit(op, out, out_shape, type);
  }

  /// The input with the reduced axes as channels, all else as rows.
  View reduced_channels(const std::set<std::size_t>& reduced) {
    const Extents dims = dims_of(value(node_.inputs[0]));
    Order order;
    Shape s;
    for (const bool channel : {false, true}) {
      for (std::size_t i = 0; i < dims.size(); ++i) {
        if (reduced.contains(i) != channel) continue;
        order.push_back(static_cast<std::uint32_t>(i));
        (channel ? s.c : s.h) *= static_cast<std::uint32_t>(dims[i]);
      }
    }
    View target = dense_view(net::no_tensor, dims, order);
    target.tensor = arranger_.place(node_.inputs[0], target, s);
    return target;
  }

  void mean(const std::set<std::size_t>& reduced, bool keep) {
    constexpr std::uint64_t most_rows = 0xffff;  // of a pool's window
    std::uint64_t count = 1;
    for (const std::size_t axis : reduced) count *= dims_of(value(node_.inputs[0]))[axis];
    if (count > most_rows) return reduce(net::Reduction::mean, reduced, step_.type);
    View in = arranger_.single(node_.inputs[0]);
    net::Pool op;
    op.average = true;
    if (!mean_window(in, reduced, op)) {
      in = arranger_.whole(node_.inputs[0]);
      if (!mean_window(in, reduced, op)) {
        in = reduced_rows(reduced);
        const bool fits = mean_window(in, reduced, op);
        STEPPE_CHECK(fits);
      }
    }
    op.in = in.tensor;
    Shape out_shape = shape(in);
    out_shape.h /= op.kernel_h;
    out_shape.w /= op.kernel_w;
    op.stride_h = op.kernel_h;
    op.stride_w = op.kernel_w;
    const std::int64_t below = std::int64_t{shape(in).c} * (op.kernel_w > 1 ? 1 : shape(in).w);
    const std::int64_t window = std::int64_t{op.kernel_h} * op.kernel_w;
    View out{net::no_tensor, 0, {}};
    for (std::size_t i = 0; i < in.axes.size(); ++i) {
      if (reduced.contains(i)) {
        if (keep) out.axes.emplace_back();
        continue;
      }
      out.axes.push_back(in.axes[i]);
      for (Factor& factor : out.axes.back()) {
        if (factor.step >= below * window) factor.step /= window;
      }
    }
    emit(op, out, out_shape);
  }

  /// Whether the reduced axes are the rows, the pixels or both of the tensor; sets the window.
  [[nodiscard]] bool mean_window(const View& in, const std::set<std::size_t>& reduced,
                                 net::Pool& op) const {
    if (!arranger_.fills_tensor(in)) return false;
    Axis all;
    for (const std::size_t axis : reduced) {
      all.insert(all.end(), in.axes[axis].begin(), in.axes[axis].end());
    }
    std::sort(all.begin(), all.end(),
              [](const Factor& a, const Factor& b) { return a.step > b.step; });
    all = joined(all);
    if (all.empty()) return true;
    if (all.size() > 1) return false;
    const Shape& s = shape(in);
    const Factor window = all.front();
    const std::int64_t row = std::int64_t{s.w} * s.c;
    if (window.step == s.c && window.size == std::uint64_t{s.h} * s.w) {
      op.kernel_h = s.h;
      op.kernel_w = s.w;
    } else if (window.step == row && window.size == s.h) {
      op.kernel_h = s.h;
    } else if (window.step == s.c && window.size == s.w) {
      op.kernel_w = s.w;
    } else {
      return false;
    }
    return true;
  }

  /// The input with the reduced axes as rows, what stands behind them as channels, all else as
  /// images.
  View reduced_rows(const std::set<std::size_t>& reduced) {
    const Extents dims = dims_of(value(node_.inputs[0]));
    Order images, rows, channels;
    Shape s;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const bool row = reduced.contains(i);
      const bool behind = !row && i > *reduced.rbegin();
      (row ? rows : behind ? channels : images).push_back(static_cast<std::uint32_t>(i));
      (row ? s.h : behind ? s.c : s.n) *= static_cast<std::uint32_t>(dims[i]);
    }
    Order order = images;
    order.insert(order.end(), rows.begin(), rows.end());
    order.insert(order.end(), channels.begin(), channels.end());
    View target = dense_view(net::no_tensor, dims, order);
    target.tensor = arranger_.place(node_.inputs[0], target, s);
    return target;
  }

  void softmax() {
    const View in = arranger_.rows(node_.inputs[0], axis_attribute());
    net::Softmax op;
    op.in = in.tensor;
    emit(op, in, shape(in));
  }

  void layer_norm() {
    const std::size_t last = rank(node_.inputs[0]) - 1;
    if (axis_attribute() != last)
      fail("it normalises over several axes; only the last one is supported");
    const View in = arranger_.rows(node_.inputs[0], last);
    net::LayerNorm op;
    op.in = in.tensor;
    op.epsilon = node_.real("epsilon");
    op.gain.size = op.shift.size = shape(in).c;
    const Axis steps = in_memory_order(in.axes[last]);
    for (std::size_t i = 1; i < 3; ++i) {
      const bool given = node_.inputs.size() > i && node_.inputs[i] != graph::no_value;
      if (given) source_.operands.push_back({i - 1, node_.inputs[i], steps});
    }
    emit(op, in, shape(in));
  }

  /// Around the value, one axis after the other, tensors that repeat one number.
  void pad() {
    const std::vector<std::int64_t>& pads = node_.integers("pads");
    View inside = arranger_.single(node_.inputs[0]);
    const Order order = memory_order(inside);
    Extents dims = dims_of(value(node_.inputs[0]));
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      const auto before = static_cast<std::uint64_t>(pads[axis]);
      const auto behind = static_cast<std::uint64_t>(pads[axis + dims.size()]);
      if (before + behind == 0) continue;
      Pieces pieces{axis, {}};
      if (before != 0) pieces.views.push_back(filled(dims, axis, before, order));
      pieces.views.push_back(inside);
      if (behind != 0) pieces.views.push_back(filled(dims, axis, behind, order));
      dims[axis] += before + behind;
      inside = dense_view(net::no_tensor, dims, order);
      inside.tensor =
          arranger_.place(pieces, inside, canonical_shape(dims, order), value(step_.out).name);
    }
    arranger_.bind(step_.out, inside);
  }

  /// A tensor of `dims`, `count` along one axis, that holds a Pad's number.
  View filled(Extents dims, std::size_t axis, std::uint64_t count, const Order& order) {
    dims[axis] = count;
    net::Map op;
    net::Operand number;
    number.constant = {1, std::make_shared<const std::vector<float>>(1, node_.real("value"))};
    op.operands.push_back(std::move(number));
    return emit_between(std::move(op), dense_view(net::no_tensor, dims, order),
                        canonical_shape(dims, order), step_.out);
  }

  /// Inputs: the value and the cache, a state; attributes: the cache's `axis` that grows and the
  /// `position` on it. What lies behind the axis is contiguous in the cache, one row for each index
  /// in front of it.
  void cache_store() {
    const graph::Value& cache = value(node_.inputs.at(1));
    if (!cache.state) fail("'{}' is no state; a CacheStore writes into one", cache.name);
    const Extents dims = dims_of(value(node_.inputs[0]));
    const Extents all = dims_of(cache);
    const std::size_t axis = axis_attribute();
    const std::int64_t position = node_.integer("position");
    if (dims.size() != all.size() || axis >= all.size() || position < 0 ||
        static_cast<std::uint64_t>(position) + dims[axis] > all[axis]) {
      fail("'{}' does not fit into '{}' at position {} of axis {}", value(node_.inputs[0]).name,
           cache.name, position, axis);
    }
    std::uint64_t rows = 1;
    std::uint64_t behind = 1;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i != axis && dims[i] != all[i])
        fail("'{}' and its cache differ in axis {}", cache.name, i);
      if (i < axis) rows *= all[i];
      if (i > axis) behind *= all[i];
    }
    const net::Shape shape{1, static_cast<std::uint32_t>(rows), 1,
                           static_cast<std::uint32_t>(behind * dims[axis])};
    arranger_.want(std::nullopt);
    const View target = arranger_.single(node_.inputs[1]);
    arranger_.want(arranger_.tensor(target.tensor).type);
    net::CacheStore op;
    op.in = arranger_.place(node_.inputs[0],
                            dense_view(net::no_tensor, dims, natural_order(dims.size())), shape);
    op.cache = target.tensor;
    op.offset = static_cast<std::uint64_t>(position) * behind;
    op.row_pitch = all[axis] * behind;
    const std::string& name = node_.name.empty() ? cache.name + ".store" : node_.name;
    arranger_.add_layer(name, {node_.name}, op, source_);
    if (step_.out != graph::no_value) arranger_.bind(step_.out, target);
  }

  std::size_t index_;
};

}  // namespace

bool reads_pixels(std::string_view op) {
  return op == "Conv" || op == "MaxPool" || op == "AveragePool" || op == "GlobalAveragePool";
}

void lay_out_operator(const Graph& graph, const Step& step, std::size_t index, Arranger& arranger) {
  const bool product = step.kind == StepKind::conv || step.kind == StepKind::dense ||
                       (step.kind == StepKind::other && graph.nodes[step.node].op == "MatMul");
  if (product) return lay_out_product(graph, step, index, arranger);
  Operator(graph, step, index, arranger).run();
}

}  // namespace steppe::passes
