// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "models/base/error.h"
#include "workloads/net/net.h"

namespace steppe::net {
namespace {

constexpr std::uint32_t block = 32;

std::string text(const Shape& s) { return fmt::format("{}x{}x{}x{}", s.n, s.h, s.w, s.c); }

/// Judges one network; the first contradiction ends it.
class Checker {
 public:
  explicit Checker(const Net& net) : net_(net), written_(net.tensors.size(), false) {}

  void run() {
    for (const Tensor& tensor : net_.tensors) check_tensor(tensor);
    for (const Port& port : net_.inputs) check_port(port, "input");
    for (const Port& port : net_.inputs) written_[port.tensor] = true;
    std::set<std::string_view> names;
    for (const Layer& layer : net_.layers) {
      layer_ = &layer;
      require(!layer.name.empty(), "has no name");
      require(names.insert(layer.name).second, "shares its name with another layer");
      check_references();
      std::visit([this](const auto& op) { check_op(op); }, layer.op);
      written_[output_of(layer)] = true;
    }
    for (const Port& port : net_.outputs) {
      check_port(port, "output");
      if (!written_[port.tensor]) {
        throw ModelError("network '{}': output '{}' is written by no layer", net_.name, port.name);
      }
    }
  }

 private:
  template <typename... Args>
  void require(bool condition, fmt::format_string<Args...> format, Args&&... args) const {
    if (condition) return;
    throw ModelError("network '{}', layer '{}': {}", net_.name, layer_->name,
                     fmt::format(format, std::forward<Args>(args)...));
  }

  void check_tensor(const Tensor& tensor) const {
    const Shape& s = tensor.shape;
    if (s.n == 0 || s.h == 0 || s.w == 0 || s.c == 0) {
      throw ModelError(
          "network '{}', tensor '{}': shape {} has an extent of 0; all must be 1 or more",
          net_.name, tensor.name, text(s));
    }
    const Quant& q = tensor.quant;
    if (!std::isfinite(q.scale) || q.scale <= 0.0F || q.zero < -128 || q.zero > 127) {
      throw ModelError(
          "network '{}', tensor '{}': scale {} and zero point {}; the scale must be positive and "
          "finite, the zero point within [-128, 127]",
          net_.name, tensor.name, q.scale, q.zero);
    }
  }

  void check_port(const Port& port, std::string_view kind) const {
    const auto fail = [&](std::string_view what) {
      throw ModelError("network '{}', {} '{}': {}", net_.name, kind, port.name, what);
    };
    if (port.tensor >= net_.tensors.size()) fail("names a tensor that does not exist");
    std::uint64_t elements = 1;
    for (const std::uint64_t dim : port.dims) elements *= dim;
    const Shape& shape = net_.tensor(port.tensor).shape;
    if (elements != shape.elements()) {
      fail(fmt::format("has {} elements, its tensor {} has {}", elements, text(shape),
                       shape.elements()));
    }
    std::vector<std::uint32_t> axes = port.to_card;
    std::sort(axes.begin(), axes.end());
    bool permutation = axes.size() == port.dims.size();
    for (std::uint32_t i = 0; permutation && i < axes.size(); ++i) permutation = axes[i] == i;
    if (!permutation) fail("to_card is no permutation of the axes");
  }

  /// Everything read was written before; everything written is written once (a cache may be
  /// stored to several times).
  void check_references() const {
    for (const TensorId id : inputs_of(*layer_)) {
      require(id < net_.tensors.size(), "reads tensor {}, there are {}", id, net_.tensors.size());
      require(written_[id] || net_.tensor(id).resident_in_dram,
              "reads tensor '{}' before any layer writes it", net_.tensor(id).name);
    }
    const TensorId out = output_of(*layer_);
    require(out < net_.tensors.size(), "writes tensor {}, there are {}", out, net_.tensors.size());
    const bool store = std::holds_alternative<CacheStore>(layer_->op);
    require(store || !net_.tensor(out).resident_in_dram,
            "writes resident tensor '{}'; only a CacheStore may", net_.tensor(out).name);
    require(store || !written_[out], "writes tensor '{}', which another layer or input wrote",
            net_.tensor(out).name);
  }

  [[nodiscard]] const Tensor& input(TensorId id, std::string_view role) const {
    require(id != no_tensor, "has no {}", role);
    return net_.tensor(id);
  }

  template <typename T>
  void check_constant(const Constant<T>& constant, std::uint64_t size,
                      std::string_view role) const {
    require(constant.size == size, "{}: {} elements, {} are needed", role, constant.size, size);
    require(!constant.has_data() || constant.data->size() == size,
            "{}: data of {} elements, {} are needed", role,
            constant.has_data() ? constant.data->size() : 0, size);
  }

  void check_clamp(const Clamp& clamp) const {
    require(-128 <= clamp.low && clamp.low <= clamp.high && clamp.high <= 127,
            "clamp [{}, {}]; it must lie in [-128, 127] with low <= high", clamp.low, clamp.high);
  }

  void check_same_shape(const Shape& a, const Shape& b, std::string_view what) const {
    require(a == b, "{}: {} against {}", what, text(a), text(b));
  }

  void check_same_quant(const Tensor& a, const Tensor& b) const {
    require(a.quant == b.quant, "'{}' and '{}' must have one quantisation", a.name, b.name);
  }

  /// The first window must hold the padding, the last must start inside the input.
  void check_window(std::string_view axis, std::uint64_t in, std::uint64_t out,
                    std::uint64_t kernel, std::uint64_t stride, std::uint64_t dilation,
                    std::uint64_t pad) const {
    require(kernel > 0 && stride > 0 && dilation > 0,
            "{}: kernel {}, stride {}, dilation {}; all must be 1 or more", axis, kernel, stride,
            dilation);
    require(pad <= (kernel - 1) * dilation, "{}: padding {} is wider than the kernel", axis, pad);
    require((out - 1) * stride < in + pad, "{}: output {} is longer than input {} gives", axis, out,
            in);
  }

  void check_sparsity(const Conv& op, std::uint64_t k) const {
    const Sparsity& sparsity = op.sparsity;
    require(sparsity.kept >= 1 && sparsity.kept <= block, "{} weights kept of {}", sparsity.kept,
            block);
    require(sparsity.density > 0 && sparsity.density <= 1, "density {}; above 0, at most 1",
            sparsity.density);
    if (sparsity.encoding != numerics::Encoding::indexed || !op.weights.has_data()) return;
    const std::int8_t* row = op.weights.data->data();
    for (std::uint64_t oc = 0; oc < op.weights.size / k; ++oc, row += k) {
      for (std::uint64_t start = 0; start < k; start += block) {
        const std::uint64_t end = std::min<std::uint64_t>(start + block, k);
        const std::int64_t count =
            static_cast<std::int64_t>(end - start) - std::count(row + start, row + end, 0);
        require(count <= sparsity.kept,
                "output channel {}: block at {} holds {} weights, {} may stay", oc, start, count,
                sparsity.kept);
      }
    }
  }

  void check_op(const Conv& op) const {
    const Shape& in = input(op.in, "input").shape;
    const Shape& out = net_.tensor(op.out).shape;
    require(op.groups > 0 && in.c % op.groups == 0 && out.c % op.groups == 0,
            "{} groups do not divide {} input and {} output channels", op.groups, in.c, out.c);
    require(in.n == out.n, "{} input images, {} output images", in.n, out.n);
    check_window("rows", in.h, out.h, op.kernel_h, op.stride_h, op.dilation_h, op.pad_top);
    check_window("pixels", in.w, out.w, op.kernel_w, op.stride_w, op.dilation_w, op.pad_left);
    const std::uint64_t k = std::uint64_t{op.kernel_h} * op.kernel_w * (in.c / op.groups);
    check_constant(op.weights, k * out.c, "weights");
    check_constant(op.bias, out.c, "bias");
    check_constant(op.multiplier, out.c, "multiplier");
    check_sparsity(op, k);
    check_clamp(op.clamp);
    if (op.residual != no_tensor) {
      check_same_shape(net_.tensor(op.residual).shape, out, "residual against output");
      require(std::isfinite(op.residual_scale) && op.residual_scale > 0.0F,
              "residual scale {}; it must be positive and finite", op.residual_scale);
    }
    if (op.lut.size != 0) check_constant(op.lut, 256, "lut");
  }

  void check_op(const MatMul& op) const {
    const Tensor& a = input(op.a, "first operand");
    const Tensor& b = input(op.b, "second operand");
    const Shape& out = net_.tensor(op.out).shape;
    require(a.shape.w == 1 && b.shape.w == 1 && out.w == 1, "operands and result must have w = 1");
    require(a.quant.zero == 0 && b.quant.zero == 0, "the operands' zero points must be 0");
    require(a.shape.n == out.n && b.shape.n == out.n, "{}, {} and {} images must be as many",
            a.shape.n, b.shape.n, out.n);
    require(a.shape.h == out.h && b.shape.h == out.c && a.shape.c == b.shape.c,
            "{} times {} (in rows) does not give {}", text(a.shape), text(b.shape), text(out));
    require(std::isfinite(op.multiplier), "multiplier {}", op.multiplier);
    check_clamp(op.clamp);
  }

  void check_op(const Eltwise& op) const {
    const Shape& out = net_.tensor(op.out).shape;
    check_same_shape(input(op.a, "first operand").shape, out, "first operand against output");
    const Shape& b = op.b_shape;
    const bool repeats = (b.n == 1 || b.n == out.n) && (b.h == 1 || b.h == out.h) &&
                         (b.w == 1 || b.w == out.w) && b.c == out.c;
    require(repeats || b.elements() == 1, "second operand {} does not repeat to {}", text(b),
            text(out));
    if (op.b != no_tensor) {
      check_same_shape(net_.tensor(op.b).shape, b, "second operand against b_shape");
      require(op.b_constant.size == 0, "second operand is a tensor and a constant");
    } else {
      check_constant(op.b_constant, b.elements(), "second operand");
    }
    check_clamp(op.clamp);
  }

  void check_op(const Lut& op) const {
    check_same_shape(input(op.in, "input").shape, net_.tensor(op.out).shape,
                     "input against output");
    check_constant(op.table, 256, "table");
  }

  void check_op(const Pool& op) const {
    const Tensor& in = input(op.in, "input");
    const Tensor& out = net_.tensor(op.out);
    require(in.shape.n == out.shape.n && in.shape.c == out.shape.c,
            "images and channels of {} and {} must agree", text(in.shape), text(out.shape));
    check_window("rows", in.shape.h, out.shape.h, op.kernel_h, op.stride_h, 1, op.pad_top);
    check_window("pixels", in.shape.w, out.shape.w, op.kernel_w, op.stride_w, 1, op.pad_left);
    if (!op.average) check_same_quant(in, out);
  }

  void check_op(const Softmax& op) const {
    check_same_shape(input(op.in, "input").shape, net_.tensor(op.out).shape,
                     "input against output");
  }

  void check_op(const LayerNorm& op) const {
    const Shape& in = input(op.in, "input").shape;
    check_same_shape(in, net_.tensor(op.out).shape, "input against output");
    check_constant(op.gain, in.c, "gain");
    check_constant(op.shift, in.c, "shift");
    require(std::isfinite(op.epsilon) && op.epsilon >= 0.0F, "epsilon {}", op.epsilon);
  }

  void check_range(std::int64_t start, const std::array<std::uint32_t, 5>& size,
                   const std::array<std::int64_t, 5>& step, const Tensor& tensor) const {
    std::int64_t low = start;
    std::int64_t high = start;
    for (std::size_t axis = 0; axis < size.size(); ++axis) {
      const std::int64_t reach = step[axis] * (std::int64_t{size[axis]} - 1);
      (reach < 0 ? low : high) += reach;
    }
    require(low >= 0 && high < static_cast<std::int64_t>(tensor.shape.elements()),
            "a part reaches elements {} to {} of '{}', which has {}", low, high, tensor.name,
            tensor.shape.elements());
  }

  void mark(const PermutePart& part, std::vector<bool>& seen) const {
    const auto& s = part.size;
    const auto& t = part.out_step;
    for (std::int64_t a = 0; a < s[0]; ++a)
      for (std::int64_t b = 0; b < s[1]; ++b)
        for (std::int64_t c = 0; c < s[2]; ++c)
          for (std::int64_t d = 0; d < s[3]; ++d)
            for (std::int64_t e = 0; e < s[4]; ++e) {
              const auto at = static_cast<std::size_t>(part.out_start + a * t[0] + b * t[1] +
                                                       c * t[2] + d * t[3] + e * t[4]);
              require(!seen[at], "writes element {} twice", at);
              seen[at] = true;
            }
  }

  void check_op(const Permute& op) const {
    const Tensor& out = net_.tensor(op.out);
    std::vector<bool> seen(out.shape.elements(), false);
    std::uint64_t total = 0;
    for (const PermutePart& part : op.parts) {
      const Tensor& in = input(part.in, "input");
      check_same_quant(in, out);
      std::uint64_t elements = 1;
      for (const std::uint32_t extent : part.size) elements *= extent;
      require(elements > 0, "a part has an extent of 0");
      total += elements;
      check_range(part.in_start, part.size, part.in_step, in);
      check_range(part.out_start, part.size, part.out_step, out);
      mark(part, seen);
    }
    require(total == seen.size(), "the parts write {} of {} elements", total, seen.size());
  }

  void check_op(const CacheStore& op) const {
    const Tensor& in = input(op.in, "input");
    const Tensor& cache = net_.tensor(op.cache);
    require(cache.resident_in_dram, "cache '{}' is not resident", cache.name);
    check_same_quant(in, cache);
    const std::uint64_t bytes = in.shape.row_bytes();
    const std::uint64_t rows = in.shape.rows();
    require(rows == 1 || op.row_pitch >= bytes, "rows of {} bytes overlap at a pitch of {}", bytes,
            op.row_pitch);
    const std::uint64_t end = op.offset + (rows - 1) * op.row_pitch + bytes;
    require(end <= cache.shape.elements(), "reaches byte {} of cache '{}', which has {}", end,
            cache.name, cache.shape.elements());
  }

  const Net& net_;
  const Layer* layer_ = nullptr;
  std::vector<bool> written_;
};

}  // namespace

void check(const Net& net) { Checker(net).run(); }

}  // namespace steppe::net
