// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/products.h"

#include <algorithm>

#include "workloads/passes/operands.h"
#include "workloads/passes/step_layout.h"

namespace steppe::passes {
namespace {

using graph::Graph;
using graph::ValueId;
using net::Shape;

class Product : StepLayout {
 public:
  Product(const Graph& graph, const Step& step, std::size_t index, Arranger& arranger)
      : StepLayout(graph, step, index, arranger) {}

  void run() {
    if (step_.type == net::Type::fp32) arranger_.want(net::Type::bf16);
    if (step_.kind == StepKind::conv) return conv();
    if (step_.kind == StepKind::dense) return dense();
    matmul();
  }

 private:
  void size_constants(net::Conv& op, std::uint64_t channels) const {
    op.weights.size = 1;
    for (const Factor& factor : source_.weights) op.weights.size *= factor.size;
    op.multiplier.size = channels;
    (step_.type == net::Type::int8 ? op.bias.size : op.bias_fp32.size) = channels;
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
    op.dilation_h = static_cast<std::uint32_t>(dilations.at(0));
    if (dilations.size() > 1) op.dilation_w = static_cast<std::uint32_t>(dilations.at(1));
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
    View view = arranger_.single(id);
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
};

}  // namespace

void lay_out_product(const Graph& graph, const Step& step, std::size_t index, Arranger& arranger) {
  Product(graph, step, index, arranger).run();
}

}  // namespace steppe::passes
