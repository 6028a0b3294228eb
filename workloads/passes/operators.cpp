// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/operators.h"

#include <algorithm>
#include <set>

#include "models/base/error.h"
#include "workloads/passes/operands.h"

namespace steppe::passes {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;
using net::Shape;

constexpr std::string_view supported =
    "Conv, MatMul, Gemm, MaxPool, AveragePool, GlobalAveragePool, ReduceMean, Softmax, "
    "LayerNormalization, Add, Sub, Mul, Div, Max, Min, Transpose, Reshape, Slice, Split, Concat, "
    "Expand, CacheStore and functions of one value";

std::uint32_t at(const std::vector<std::int64_t>& list, std::size_t i) {
  return static_cast<std::uint32_t>(list.at(i));
}

/// Lays out one step; the methods are named after the operators.
class Operator {
 public:
  Operator(const Graph& graph, const Step& step, std::size_t index, Arranger& arranger)
      : graph_(graph), step_(step), node_(graph.nodes[step.node]), arranger_(arranger) {
    source_.step = index;
  }

  void run() {
    if (step_.kind == StepKind::function) return function();
    if (step_.kind == StepKind::conv) return conv();
    if (step_.kind == StepKind::dense) return dense();
    const std::string& op = node_.op;
    if (op == "MatMul") return matmul();
    if (op == "MaxPool" || op == "AveragePool") return pool();
    if (op == "GlobalAveragePool") return global_average();
    if (op == "ReduceMean") return reduce_mean();
    if (op == "Softmax") return softmax();
    if (op == "LayerNormalization") return layer_norm();
    if (op == "CacheStore") return cache_store();
    if (const auto arithmetic = eltwise_function(op)) return eltwise(*arithmetic);
    fail("the card has no such operator; it has {}", supported);
  }

 private:
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw ModelError("{}: {}", described(node_), fmt::format(format, std::forward<Args>(args)...));
  }

  [[nodiscard]] const graph::Value& value(ValueId id) const { return graph_.value(id); }
  [[nodiscard]] std::size_t rank(ValueId id) const { return value(id).shape.size(); }
  [[nodiscard]] const Shape& shape(const View& view) const {
    return arranger_.tensor(view.tensor).shape;
  }

  /// Adds the tensor of the step's result, the layer that `op` becomes, and binds the result.
  template <typename Op>
  void emit(Op op, View out, const Shape& out_shape) {
    out.tensor = op.out = arranger_.add_tensor(value(step_.out).name, out_shape, step_.out);
    std::vector<std::string> nodes;
    for (const std::size_t node : step_.nodes) nodes.push_back(graph_.nodes[node].name);
    const std::string& name = node_.name.empty() ? value(step_.out).name : node_.name;
    arranger_.add_layer(name, std::move(nodes), std::move(op), source_);
    arranger_.bind(step_.out, out);
  }

  void function() {
    const View in = arranger_.whole(step_.in);
    net::Lut lut;
    lut.in = in.tensor;
    lut.table.size = 256;
    emit(lut, in, shape(in));
  }

  /// A value of three or four axes as images; its view and tensor in NHWC.
  struct Pixels {
    View view;
    Shape shape;
  };
  [[nodiscard]] Pixels pixels_of(ValueId id) const {
    const Extents dims = dims_of(value(id));
    if (dims.size() != 3 && dims.size() != 4) {
      fail("'{}' has {} axes; images have 3 (batch, channels, rows) or 4 (and pixels)",
           value(id).name, dims.size());
    }
    const bool flat = dims.size() == 3;
    const Order order = flat ? Order{0, 2, 1} : Order{0, 2, 3, 1};
    return {dense_view(net::no_tensor, dims, order), canonical_shape(dims, order)};
  }
  Pixels place_pixels(ValueId id) {
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
    op.kernel_h = at(kernel, 0);
    op.stride_h = at(strides, 0);
    op.pad_top = at(pads, 0);
    if (kernel.size() < 2) return;
    op.kernel_w = at(kernel, 1);
    op.stride_w = at(strides, 1);
    op.pad_left = at(pads, 1);
  }

  void size_constants(net::Conv& op, std::uint64_t channels) const {
    op.weights.size = 1;
    for (const Factor& factor : source_.weights) op.weights.size *= factor.size;
    op.bias.size = op.multiplier.size = channels;
    const bool tabled = step_.function && !step_.scale_clamp;
    if (tabled) op.lut.size = 256;
  }

  void add_residual(net::Conv& op, const View& out, const Shape& out_shape) {
    if (step_.residual == graph::no_value) return;
    op.residual = arranger_.place(step_.residual, out, out_shape);
    op.residual_scale = 1.0F;
  }

  void conv() {
    const Pixels in = place_pixels(node_.inputs[0]);
    const Pixels out = pixels_of(step_.out);
    net::Conv op;
    op.in = in.view.tensor;
    take_window(op);
    const std::vector<std::int64_t>& dilations = node_.integers("dilations");
    op.dilation_h = at(dilations, 0);
    if (dilations.size() > 1) op.dilation_w = at(dilations, 1);
    op.groups = static_cast<std::uint32_t>(node_.integer("group"));
    if (!value(node_.inputs[1]).constant) fail("its weights are not constant");
    const std::uint64_t ic = in.shape.c / op.groups;
    const std::uint64_t kernel = std::uint64_t{op.kernel_h} * op.kernel_w;
    const auto step = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
    source_.weights = {{out.shape.c, step(ic * kernel)},
                       {op.kernel_h, step(op.kernel_w)},
                       {op.kernel_w, 1},
                       {ic, step(kernel)}};
    size_constants(op, out.shape.c);
    if (op.weights.size != value(node_.inputs[1]).elements()) {
      fail("weights '{}' do not fit {} channels in, {} out, {} groups", value(node_.inputs[1]).name,
           in.shape.c, out.shape.c, op.groups);
    }
    add_residual(op, out.view, out.shape);
    emit(op, out.view, out.shape);
  }

  /// The product's input: channels are the inner axis; or an image is (a flattened one), and then
  /// the kernel covers it.
  [[nodiscard]] View dense_input(net::Conv& op) {
    const ValueId id = node_.inputs[0];
    const std::size_t last = rank(id) - 1;
    const View view = arranger_.single(id);
    const Shape& s = shape(view);
    const std::uint64_t image = std::uint64_t{s.h} * s.w * s.c;
    const auto inside = [&](const Factor& factor) {
      return factor.step * static_cast<std::int64_t>(factor.size) <=
             static_cast<std::int64_t>(image);
    };
    const Axis& k = view.axes[last];
    if (extent(k) == image && image != s.c && s.h <= 255 && s.w <= 255 &&
        arranger_.fills_tensor(view) && std::all_of(k.begin(), k.end(), inside)) {
      op.kernel_h = s.h;
      op.kernel_w = s.w;
      return view;
    }
    return arranger_.rows(id, last);
  }

  void dense() {
    const graph::Value& weights = value(node_.inputs[1]);
    if (node_.op == "Gemm" && (node_.integer("transA") != 0 || node_.real("alpha") != 1.0F ||
                               node_.real("beta") != 1.0F)) {
      fail("only transA = 0, alpha = 1 and beta = 1 are supported");
    }
    if (rank(node_.inputs[0]) == 0) fail("its input has no axes");
    const bool rows = node_.op == "Gemm" && node_.integer("transB") != 0;  // [oc, k]
    const std::int64_t inner = weights.shape.back();
    const std::int64_t outer = weights.shape[weights.shape.size() - 2];
    const auto k = static_cast<std::uint64_t>(rows ? inner : outer);
    const auto oc = static_cast<std::uint64_t>(rows ? outer : inner);
    net::Conv op;
    const View in = dense_input(op);
    op.in = in.tensor;
    if (extent(in.axes.back()) != k) {
      fail("weights '{}' have {} rows, its input {} columns", weights.name, k,
           extent(in.axes.back()));
    }
    source_.weights = {{oc, rows ? inner : 1}};
    for (const Factor& factor : in_memory_order(in.axes.back())) {
      source_.weights.push_back({factor.size, factor.step * (rows ? 1 : inner)});
    }
    size_constants(op, oc);
    Shape out_shape = shape(in);
    if (op.kernel_h * op.kernel_w > 1) out_shape.h = out_shape.w = 1;
    out_shape.c = static_cast<std::uint32_t>(oc);
    View out = in;
    for (Axis& axis : out.axes) {
      for (Factor& factor : axis) {
        factor.step = factor.step / static_cast<std::int64_t>(k) * static_cast<std::int64_t>(oc);
      }
    }
    out.axes.back() = joined({{oc, 1}});
    if (step_.residual != graph::no_value) {
      add_residual(op, *reshaped(out, dims_of(value(step_.residual))), out_shape);
    }
    emit(op, out, out_shape);
  }

  void matmul() {
    const Extents a_dims = dims_of(value(node_.inputs[0]));
    const Extents b_dims = dims_of(value(node_.inputs[1]));
    const Extents out_dims = dims_of(value(node_.outputs[0]));
    if (a_dims.size() < 2 || b_dims.size() < 2) fail("its operands must have 2 axes or more");
    if (value(node_.inputs[0]).constant || value(node_.inputs[1]).constant) {
      fail("a constant operand must be the second one and have two axes");
    }
    const std::size_t last = out_dims.size() - 1;
    const std::uint64_t k = a_dims.back();
    Extents a_full = out_dims;
    a_full[last] = k;
    Extents b_full = out_dims;  // [..., K, N]
    b_full[last - 1] = k;
    Order b_order = natural_order(out_dims.size());
    std::swap(b_order[last], b_order[last - 1]);
    net::MatMul op;
    op.a = place_operand(node_.inputs[0], a_full, natural_order(out_dims.size()));
    op.b = place_operand(node_.inputs[1], b_full, b_order);
    const Order order = natural_order(out_dims.size());
    emit(op, dense_view(net::no_tensor, out_dims, order), matrix_shape(out_dims, order));
  }

  /// Leading axes are images, the last two rows and channels.
  [[nodiscard]] static Shape matrix_shape(const Extents& dims, const Order& order) {
    Shape shape;
    for (std::size_t i = 0; i + 2 < dims.size(); ++i) {
      shape.n *= static_cast<std::uint32_t>(dims[order[i]]);
    }
    shape.h = static_cast<std::uint32_t>(dims[order[dims.size() - 2]]);
    shape.c = static_cast<std::uint32_t>(dims[order[dims.size() - 1]]);
    return shape;
  }

  net::TensorId place_operand(ValueId id, const Extents& dims, const Order& order) {
    Pieces pieces{0, {broadcast(arranger_.single(id), dims)}};
    return arranger_.place(pieces, dense_view(net::no_tensor, dims, order),
                           matrix_shape(dims, order), value(id).name);
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

  void reduce_mean() {
    std::set<std::size_t> reduced;
    for (const std::int64_t axis : node_.integers("axes")) {
      reduced.insert(static_cast<std::size_t>(axis));
    }
    mean(reduced, node_.integer("keepdims") != 0);
  }

  void mean(const std::set<std::size_t>& reduced, bool keep) {
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

  [[nodiscard]] std::size_t axis_attribute() const {
    const std::int64_t axis = node_.integer("axis");
    const auto axes = static_cast<std::int64_t>(rank(node_.inputs[0]));
    return static_cast<std::size_t>(axis < 0 ? axis + axes : axis);
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
    source_.operand = in_memory_order(in.axes[last]);
    emit(op, in, shape(in));
  }

  void eltwise(net::EltwiseFunction arithmetic) {
    if (node_.inputs.size() != 2) fail("{} operands; 2 are supported", node_.inputs.size());
    ValueId a = node_.inputs[0];
    ValueId b = node_.inputs[1];
    const Extents dims = dims_of(value(node_.outputs[0]));
    const bool commutes =
        arithmetic != net::EltwiseFunction::sub && arithmetic != net::EltwiseFunction::div;
    if (commutes && (value(a).constant || value(a).elements() < value(b).elements()))
      std::swap(a, b);
    if (value(a).constant) fail("a constant '{}' stands first; it may stand second", value(a).name);
    View out = value(a).elements() == elements_of(dims) ? *reshaped(arranger_.whole(a), dims)
                                                        : repeated(a, dims);
    net::Eltwise op;
    op.function = arithmetic;
    op.a = out.tensor;
    const Extents b_dims = dims_of(value(b));
    const Operand operand = repeat_operand(out, shape(out), b_dims);
    op.b_shape = operand.shape;
    if (value(b).constant) {
      source_.operand = constant_steps(operand, b_dims);
      op.b_constant.size = operand.shape.elements();
    } else {
      const Extents target = extents(operand.view);
      const Pieces pieces{0, {broadcast(arranger_.single(b), target)}};
      op.b = arranger_.place(pieces, operand.view, operand.shape, value(b).name);
    }
    emit(op, out, shape(out));
  }

  [[nodiscard]] static std::uint64_t elements_of(const Extents& dims) {
    std::uint64_t product = 1;
    for (const std::uint64_t extent : dims) product *= extent;
    return product;
  }

  View repeated(ValueId id, const Extents& dims) {
    const Order order = natural_order(dims.size());
    View target = dense_view(net::no_tensor, dims, order);
    const Pieces pieces{0, {broadcast(arranger_.single(id), dims)}};
    target.tensor = arranger_.place(pieces, target, canonical_shape(dims, order), value(id).name);
    return target;
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
    net::CacheStore op;
    op.in = arranger_.place(node_.inputs[0],
                            dense_view(net::no_tensor, dims, natural_order(dims.size())), shape);
    const View target = arranger_.single(node_.inputs[1]);
    op.cache = target.tensor;
    op.offset = static_cast<std::uint64_t>(position) * behind;
    op.row_pitch = all[axis] * behind;
    const std::string& name = node_.name.empty() ? cache.name + ".store" : node_.name;
    arranger_.add_layer(name, {node_.name}, op, source_);
    if (step_.out != graph::no_value) arranger_.bind(step_.out, target);
  }

  const Graph& graph_;
  const Step& step_;
  const Node& node_;
  Arranger& arranger_;
  LayerSource source_;
};

}  // namespace

bool reads_pixels(std::string_view op) {
  return op == "Conv" || op == "MaxPool" || op == "AveragePool" || op == "GlobalAveragePool";
}

void lay_out_operator(const Graph& graph, const Step& step, std::size_t index, Arranger& arranger) {
  Operator(graph, step, index, arranger).run();
}

}  // namespace steppe::passes
