// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
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

  /// Tensors that a layer cannot but have in one of some types.
  void check_type(const Tensor& tensor, std::initializer_list<Type> allowed) const {
    const bool fits = std::find(allowed.begin(), allowed.end(), tensor.type) != allowed.end();
    require(fits, "'{}' is {}, which this layer does not take", tensor.name, name_of(tensor.type));
  }

  /// What a product reads and writes.
  void check_product(const Tensor& in, const Tensor& out, const Clamp& clamp) const {
    check_type(in, {Type::int8, Type::bf16});
    check_type(out, {Type::int8, Type::bf16, Type::fp32});
    check_clamp(clamp);
    const bool bounded = std::isfinite(clamp.lowest) || std::isfinite(clamp.highest);
    require(out.type != Type::fp32 || !bounded, "an fp32 result of a product has no bounds");
  }

  void check_clamp(const Clamp& clamp) const {
    require(clamp.lowest <= clamp.highest, "bounds [{}, {}]", clamp.lowest, clamp.highest);
    require(-128 <= clamp.low && clamp.low <= clamp.high && clamp.high <= 127,
            "clamp [{}, {}]; it must lie in [-128, 127] with low <= high", clamp.low, clamp.high);
  }

  void check_same_shape(const Shape& a, const Shape& b, std::string_view what) const {
    require(a == b, "{}: {} against {}", what, text(a), text(b));
  }

  void check_same_quant(const Tensor& a, const Tensor& b) const {
    require(a.type == b.type, "'{}' is {}, '{}' {}; they must have one type", a.name,
            name_of(a.type), b.name, name_of(b.type));
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
    op.weights.int8 ? check_blocks(*op.weights.int8, k, sparsity)
                    : check_blocks(*op.weights.bf16, k, sparsity);
  }

  template <typename Item>
  void check_blocks(const std::vector<Item>& weights, std::uint64_t k,
                    const Sparsity& sparsity) const {
    const Item* row = weights.data();
    for (std::uint64_t oc = 0; oc < weights.size() / k; ++oc, row += k) {
      for (std::uint64_t start = 0; start < k; start += block) {
        const std::uint64_t end = std::min<std::uint64_t>(start + block, k);
        const std::int64_t count =
            static_cast<std::int64_t>(end - start) - std::count(row + start, row + end, Item{});
        require(count <= sparsity.kept,
                "output channel {}: block at {} holds {} weights, {} may stay", oc, start, count,
                sparsity.kept);
      }
    }
  }

  void check_op(const Conv& op) const {
    const Tensor& from = input(op.in, "input");
    const Tensor& to = net_.tensor(op.out);
    const Shape& in = from.shape;
    const Shape& out = to.shape;
    check_product(from, to, op.clamp);
    require(op.groups > 0 && in.c % op.groups == 0 && out.c % op.groups == 0,
            "{} groups do not divide {} input and {} output channels", op.groups, in.c, out.c);
    require(in.n == out.n, "{} input images, {} output images", in.n, out.n);
    check_window("rows", in.h, out.h, op.kernel_h, op.stride_h, op.dilation_h, op.pad_top);
    check_window("pixels", in.w, out.w, op.kernel_w, op.stride_w, op.dilation_w, op.pad_left);
    const std::uint64_t k = std::uint64_t{op.kernel_h} * op.kernel_w * (in.c / op.groups);
    check_weights(op.weights, k * out.c, from.type);
    const bool int8 = from.type == Type::int8;
    check_constant(op.bias, int8 ? out.c : 0, "bias");
    check_constant(op.bias_fp32, int8 ? 0 : out.c, "fp32 bias");
    check_constant(op.multiplier, out.c, "multiplier");
    check_sparsity(op, k);
    if (op.residual != no_tensor) {
      const Tensor& residual = net_.tensor(op.residual);
      check_same_shape(residual.shape, out, "residual against output");
      require(residual.type == to.type && to.type != Type::fp32,
              "a residual of type {} for an output of type {}; both must be int8 or both bf16",
              name_of(residual.type), name_of(to.type));
      require(std::isfinite(op.residual_scale) && op.residual_scale > 0.0F,
              "residual scale {}; it must be positive and finite", op.residual_scale);
    }
    if (op.lut.size == 0) return;
    require(to.type == Type::int8, "only an int8 output has a table");
    check_constant(op.lut, 256, "lut");
  }

  void check_weights(const Weights& weights, std::uint64_t size, Type type) const {
    require(weights.size == size, "weights: {} elements, {} are needed", weights.size, size);
    if (!weights.has_data()) return;
    const bool int8 = type == Type::int8;
    require((int8 ? weights.int8 != nullptr : weights.bf16 != nullptr),
            "weights are not of the input's type {}", name_of(type));
    const std::size_t held = int8 ? weights.int8->size() : weights.bf16->size();
    require(held == size, "weights: data of {} elements, {} are needed", held, size);
  }

  void check_op(const MatMul& op) const {
    const Tensor& a = input(op.a, "first operand");
    const Tensor& b = input(op.b, "second operand");
    const Shape& out = net_.tensor(op.out).shape;
    require(a.shape.w == 1 && b.shape.w == 1 && out.w == 1, "operands and result must have w = 1");
    check_product(a, net_.tensor(op.out), op.clamp);
    require(a.type == b.type, "operands of types {} and {}", name_of(a.type), name_of(b.type));
    require(a.quant.zero == 0 && b.quant.zero == 0, "the operands' zero points must be 0");
    require(a.shape.n == out.n && b.shape.n == out.n, "{}, {} and {} images must be as many",
            a.shape.n, b.shape.n, out.n);
    require(a.shape.h == out.h && b.shape.h == out.c && a.shape.c == b.shape.c,
            "{} times {} (in rows) does not give {}", text(a.shape), text(b.shape), text(out));
    require(std::isfinite(op.multiplier), "multiplier {}", op.multiplier);
  }

  void check_op(const Map& op) const {
    const Shape& out = net_.tensor(op.out).shape;
    const vector_functions::Row* function = vector_functions::find(op.function);
    require(function != nullptr, "function {} does not exist",
            static_cast<std::uint32_t>(op.function));
    require(op.operands.size() == function->operands, "{} takes {} operands, not {}",
            function->name, function->operands, op.operands.size());
    for (const Operand& operand : op.operands) {
      const Shape& s = operand.shape;
      const auto repeats = [](std::uint32_t own, std::uint32_t all) {
        return own == 1 || own == all;
      };
      require(
          repeats(s.n, out.n) && repeats(s.h, out.h) && repeats(s.w, out.w) && repeats(s.c, out.c),
          "operand {} does not repeat to {}", text(s), text(out));
      if (operand.tensor != no_tensor) {
        check_same_shape(net_.tensor(operand.tensor).shape, s, "operand against its shape");
        require(operand.constant.size == 0, "an operand is a tensor and a constant");
      } else {
        check_constant(operand.constant, s.elements(), "operand");
      }
    }
    check_clamp(op.clamp);
  }

  void check_op(const Lut& op) const {
    check_same_shape(input(op.in, "input").shape, net_.tensor(op.out).shape,
                     "input against output");
    check_type(net_.tensor(op.in), {Type::int8});
    check_type(net_.tensor(op.out), {Type::int8});
    check_constant(op.table, 256, "table");
  }

  void check_op(const Pool& op) const {
    const Tensor& in = input(op.in, "input");
    const Tensor& out = net_.tensor(op.out);
    require(in.shape.n == out.shape.n && in.shape.c == out.shape.c,
            "images and channels of {} and {} must agree", text(in.shape), text(out.shape));
    check_window("rows", in.shape.h, out.shape.h, op.kernel_h, op.stride_h, 1, op.pad_top);
    check_window("pixels", in.shape.w, out.shape.w, op.kernel_w, op.stride_w, 1, op.pad_left);
    check_type(in, {Type::int8, Type::bf16, Type::fp32});
    require(in.type == out.type, "'{}' and '{}' must have one type", in.name, out.name);
    if (!op.average) check_same_quant(in, out);
  }

  void check_real(const Tensor& in, const Tensor& out) const {
    check_type(in, {Type::int8, Type::bf16, Type::fp32});
    check_type(out, {Type::int8, Type::bf16, Type::fp32});
  }

  void check_op(const Softmax& op) const {
    check_real(input(op.in, "input"), net_.tensor(op.out));
    check_same_shape(net_.tensor(op.in).shape, net_.tensor(op.out).shape, "input against output");
  }

  void check_op(const LayerNorm& op) const {
    check_real(input(op.in, "input"), net_.tensor(op.out));
    const Shape& in = net_.tensor(op.in).shape;
    check_same_shape(in, net_.tensor(op.out).shape, "input against output");
    check_constant(op.gain, in.c, "gain");
    check_constant(op.shift, in.c, "shift");
    require(std::isfinite(op.epsilon) && op.epsilon >= 0.0F, "epsilon {}", op.epsilon);
  }

  void check_op(const Reduce& op) const {
    const Tensor& out = net_.tensor(op.out);
    Shape shape = input(op.in, "input").shape;
    shape.c = 1;
    check_same_shape(shape, out.shape, "one number a pixel against output");
    const bool index = op.function == Reduction::argmax || op.function == Reduction::argmin;
    require(!index || out.type == Type::int32, "an index is int32, not {}", name_of(out.type));
  }

  void check_op(const Resize& op) const {
    const Tensor& in = input(op.in, "input");
    const Tensor& out = net_.tensor(op.out);
    require(in.shape.n == out.shape.n && in.shape.c == out.shape.c,
            "images and channels of {} and {} must agree", text(in.shape), text(out.shape));
    check_type(in, {Type::int8, Type::bf16, Type::fp32});
    check_same_quant(in, out);
    require(std::isfinite(op.step_h) && std::isfinite(op.step_w), "steps {} and {}", op.step_h,
            op.step_w);
    require(op.rounding < 4, "rounding {}; 0 to 3", op.rounding);
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

  /// Elements of a tensor that were written, a bit each.
  using Bits = std::vector<std::uint64_t>;

  /// Marks elements [begin, begin + count), word by word.
  void mark_run(std::size_t begin, std::size_t count, Bits& seen) const {
    for (const std::size_t end = begin + count; begin < end;) {
      const std::size_t bit = begin % 64;
      const std::size_t here = std::min(64 - bit, end - begin);
      const std::uint64_t mask = (here == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1)
                                 << bit;
      std::uint64_t& word = seen[begin / 64];
      require((word & mask) == 0, "writes element {} twice",
              begin - bit + static_cast<std::size_t>(std::countr_zero(word & mask)));
      word |= mask;
      begin += here;
    }
  }

  void mark(const PermutePart& part, Bits& seen) const {
    // The axis along which elements follow each other goes in runs.
    std::array<std::int64_t, 5> size{}, step{};
    std::size_t run = 4;
    for (std::size_t i = 0; i < 5; ++i) {
      size[i] = part.size[i];
      step[i] = part.out_step[i];
      if (size[i] > 1 && step[i] == 1) run = i;
    }
    std::swap(size[run], size[4]);
    std::swap(step[run], step[4]);
    const bool in_runs = step[4] == 1;
    for (std::int64_t a = 0; a < size[0]; ++a)
      for (std::int64_t b = 0; b < size[1]; ++b)
        for (std::int64_t c = 0; c < size[2]; ++c)
          for (std::int64_t d = 0; d < size[3]; ++d) {
            const std::int64_t at =
                part.out_start + a * step[0] + b * step[1] + c * step[2] + d * step[3];
            if (in_runs) {
              mark_run(static_cast<std::size_t>(at), static_cast<std::size_t>(size[4]), seen);
              continue;
            }
            for (std::int64_t e = 0; e < size[4]; ++e) {
              mark_run(static_cast<std::size_t>(at + e * step[4]), 1, seen);
            }
          }
  }

  void check_op(const Permute& op) const {
    const Tensor& out = net_.tensor(op.out);
    Bits seen((out.shape.elements() + 63) / 64);
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
    require(total == out.shape.elements(), "the parts write {} of {} elements", total,
            out.shape.elements());
  }

  void check_op(const CacheStore& op) const {
    const Tensor& in = input(op.in, "input");
    const Tensor& cache = net_.tensor(op.cache);
    require(cache.resident_in_dram, "cache '{}' is not resident", cache.name);
    check_same_quant(in, cache);
    const std::uint64_t row = in.shape.row_elements();
    const std::uint64_t rows = in.shape.rows();
    require(rows == 1 || op.row_pitch >= row, "rows of {} elements overlap at a pitch of {}", row,
            op.row_pitch);
    const std::uint64_t end = op.offset + (rows - 1) * op.row_pitch + row;
    require(end <= cache.shape.elements(), "reaches element {} of cache '{}', which has {}", end,
            cache.name, cache.shape.elements());
  }

  const Net& net_;
  const Layer* layer_ = nullptr;
  std::vector<bool> written_;
};

}  // namespace

void check(const Net& net) { Checker(net).run(); }

}  // namespace steppe::net
