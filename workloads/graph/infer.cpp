// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <unordered_set>

#include "models/base/config.h"
#include "models/base/error.h"
#include "workloads/graph/shape.h"
#include "workloads/operators/host.h"

namespace steppe::graph {
namespace {

/// A window of a few thousand pixels is far beyond any model; the bound keeps sums from overflow.
constexpr std::int64_t max_window = std::int64_t{1} << 24;

/// The shape rule of one node; the methods are named after what they rule.
class Inference {
 public:
  Inference(const Node& node, const std::vector<Shape>& inputs, const Shape& declared)
      : node_(node), in_(inputs), declared_(declared) {}

  Shape unary() {
    need(1);
    return in_[0];
  }

  Shape clip() {
    if (in_.empty() || in_.size() > 3) fail("it has {} operands; it takes 1 to 3", in_.size());
    return in_[0];
  }

  Shape binary() {
    need(2);
    const std::optional<Shape> shape = broadcast_shape(in_[0], in_[1]);
    if (!shape) fail("{} and {} cannot be broadcast to one shape", text(in_[0]), text(in_[1]));
    return *shape;
  }

  Shape where() {
    need(3);
    std::optional<Shape> shape = broadcast_shape(in_[0], in_[1]);
    if (shape) shape = broadcast_shape(*shape, in_[2]);
    if (!shape) {
      fail("{}, {} and {} cannot be broadcast to one shape", text(in_[0]), text(in_[1]),
           text(in_[2]));
    }
    return *shape;
  }

  Shape matmul() {
    need(2);
    const Shape& a = in_[0];
    const Shape& b = in_[1];
    if (a.size() < 2 || b.size() < 2) fail("{} x {}: matrices have 2 axes", text(a), text(b));
    const auto lead = broadcast_shape({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
    if (a.back() != b[b.size() - 2] || !lead) {
      fail("{} and {} do not fit as factors of a product", text(a), text(b));
    }
    Shape shape = *lead;
    shape.push_back(a[a.size() - 2]);
    shape.push_back(b.back());
    return shape;
  }

  Shape conv() {
    if (in_.size() < 2 || in_.size() > 3) fail("it has {} operands; it takes 2 or 3", in_.size());
    const Shape& x = in_[0];
    const Shape& w = in_[1];
    const std::int64_t group = node_.integer("group");
    const Shape& kernel = node_.integers("kernel_shape");
    if (x.size() != w.size() || x.size() < 3 || x.size() > 4) {
      fail("input {} with weights {}; 3 or 4 axes are supported", text(x), text(w));
    }
    if (group < 1 || group > x[1] || w[1] > max_elements / group || x[1] != w[1] * group ||
        w[0] % group != 0 || !std::equal(kernel.begin(), kernel.end(), w.begin() + 2, w.end())) {
      fail("input {} does not fit weights {} with kernel {} in {} groups", text(x), text(w),
           text(kernel), group);
    }
    const bool biased = in_.size() > 2 && !absent(2);
    if (biased && in_[2] != Shape{w[0]}) fail("bias {} for {} channels", text(in_[2]), w[0]);
    return window(w[0]);
  }

  Shape pool() {
    need(1);
    if (in_[0].size() < 3 || in_[0].size() > 4) {
      fail("input {}; 3 or 4 axes are supported", text(in_[0]));
    }
    return window(in_[0][1]);
  }

  Shape global_pool() {
    need(1);
    if (in_[0].size() < 3) fail("input {}; it takes 3 axes or more", text(in_[0]));
    Shape shape(in_[0].size(), 1);
    shape[0] = in_[0][0];
    shape[1] = in_[0][1];
    return shape;
  }

  Shape along_axis() {
    need(1);
    in_range(node_.integer("axis"), in_[0]);
    return in_[0];
  }

  Shape layer_norm() {
    if (in_.empty() || in_.size() > 3) fail("it has {} operands; it takes 1 to 3", in_.size());
    const Shape tail(in_[0].begin() + axis_of(in_[0]), in_[0].end());
    for (std::size_t i = 1; i < in_.size(); ++i) {
      if (!absent(i) && in_[i] != tail) fail("scale or bias {} for {}", text(in_[i]), text(tail));
    }
    return in_[0];
  }

  Shape reduce() {
    need(1);
    const bool keep = node_.integer("keepdims") != 0;
    const Shape& axes = node_.integers("axes");
    Shape shape;
    for (std::size_t i = 0; i < in_[0].size(); ++i) {
      const bool reduced = std::count(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) > 0;
      if (!reduced) shape.push_back(in_[0][i]);
      if (reduced && in_[0][i] == 0) fail("a reduction of no elements, {}", text(in_[0]));
      if (reduced && keep) shape.push_back(1);
    }
    for (const std::int64_t axis : axes) in_range(axis, in_[0]);
    return shape;
  }

  Shape best() {
    need(1);
    const auto axis = static_cast<std::size_t>(axis_of(in_[0]));
    Shape shape = in_[0];
    if (shape[axis] == 0) fail("the best of no elements, {}", text(in_[0]));
    shape[axis] = 1;
    if (node_.integer("keepdims") == 0) {
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    }
    return shape;
  }

  Shape reshape() {
    need(1);
    if (checked_elements(in_[0], described(node_)) !=
        checked_elements(declared_, described(node_))) {
      fail("{} cannot become {}: the sizes differ", text(in_[0]), text(declared_));
    }
    return declared_;
  }

  Shape expand() {
    need(1);
    if (broadcast_shape(in_[0], declared_) != declared_) {
      fail("{} cannot be repeated to {}", text(in_[0]), text(declared_));
    }
    return declared_;
  }

  Shape transpose() {
    need(1);
    const Shape& perm = node_.integers("perm");
    std::vector<bool> seen(in_[0].size(), false);
    Shape shape;
    for (const std::int64_t axis : perm) {
      in_range(axis, in_[0]);
      const auto i = static_cast<std::size_t>(axis);
      if (seen[i]) fail("'perm' names axis {} twice", axis);
      seen[i] = true;
      shape.push_back(in_[0][i]);
    }
    if (shape.size() != in_[0].size()) fail("'perm' is shorter than {}", text(in_[0]));
    return shape;
  }

  Shape concat() {
    if (in_.empty()) fail("it has no operands");
    const auto axis = static_cast<std::size_t>(axis_of(in_[0]));
    Shape shape = in_[0];
    shape[axis] = 0;
    for (const Shape& part : in_) {
      Shape rest = part;
      if (part.size() == shape.size()) {
        shape[axis] += part[axis];
        rest[axis] = in_[0][axis];
      }
      if (rest != in_[0] || shape[axis] > max_elements) {
        fail("{} and {} do not fit along axis {}", text(in_[0]), text(part), axis);
      }
    }
    return shape;
  }

  Shape slice() {
    need(1);
    const Shape& starts = node_.integers("starts");
    const Shape& ends = node_.integers("ends");
    const Shape& axes = node_.integers("axes");
    const Shape& steps = node_.integers("steps");
    if (ends.size() != starts.size() || axes.size() != starts.size() ||
        steps.size() != starts.size()) {
      fail("starts, ends, axes and steps differ in number");
    }
    Shape shape = in_[0];
    for (std::size_t i = 0; i < axes.size(); ++i) {
      in_range(axes[i], in_[0]);
      const std::int64_t size = in_[0][static_cast<std::size_t>(axes[i])];
      if (starts[i] < 0 || starts[i] > size || ends[i] < -1 || ends[i] > size || steps[i] == 0 ||
          std::abs(steps[i]) > max_elements || (steps[i] < 0 && starts[i] >= size)) {
        fail("start {}, end {}, step {} on an axis of {}", starts[i], ends[i], steps[i], size);
      }
      const std::int64_t span = steps[i] > 0 ? ends[i] - starts[i] : starts[i] - ends[i];
      const std::int64_t step = std::abs(steps[i]);
      shape[static_cast<std::size_t>(axes[i])] = span <= 0 ? 0 : (span + step - 1) / step;
    }
    return shape;
  }

  Shape gather() {
    need(2);
    const std::int64_t axis = axis_of(in_[0]);
    Shape shape(in_[0].begin(), in_[0].begin() + axis);
    shape.insert(shape.end(), in_[1].begin(), in_[1].end());
    shape.insert(shape.end(), in_[0].begin() + axis + 1, in_[0].end());
    return shape;
  }

  Shape pad() {
    need(1);
    const Shape& pads = node_.integers("pads");
    Shape shape = in_[0];
    if (pads.size() != 2 * shape.size()) fail("{} pads for {}", pads.size(), text(shape));
    for (std::size_t i = 0; i < shape.size(); ++i) {
      for (const std::int64_t pad : {pads[i], pads[i + shape.size()]}) {
        if (pad < 0 || pad > max_window) fail("a pad of {}", pad);
        shape[i] += pad;
      }
    }
    return shape;
  }

  Shape cache_store() {
    need(2);
    const Shape& value = in_[0];
    const Shape& cache = in_[1];
    const auto axis = static_cast<std::size_t>(axis_of(cache));
    const std::int64_t position = node_.integer("position");
    Shape rest = value;
    if (value.size() == cache.size()) rest[axis] = cache[axis];
    if (rest != cache || position < 0 || position > cache[axis] - value[axis]) {
      fail("{} does not fit into {} at position {} of axis {}", text(value), text(cache), position,
           axis);
    }
    return cache;
  }

 private:
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw ModelError("{}: {}", described(node_), fmt::format(format, std::forward<Args>(args)...));
  }

  void need(std::size_t operands) const {
    if (in_.size() != operands) fail("it has {} operands; it takes {}", in_.size(), operands);
  }

  [[nodiscard]] bool absent(std::size_t input) const { return node_.inputs[input] == no_value; }

  void in_range(std::int64_t axis, const Shape& shape) const {
    if (axis < 0 || axis >= static_cast<std::int64_t>(shape.size())) {
      fail("axis {} of {}", axis, text(shape));
    }
  }

  [[nodiscard]] std::int64_t axis_of(const Shape& shape) const {
    const std::int64_t axis = node_.integer("axis");
    in_range(axis, shape);
    return axis;
  }

  Shape window(std::int64_t channels) const {
    const Shape& x = in_[0];
    const std::size_t axes = x.size() - 2;
    const Shape& kernel = node_.integers("kernel_shape");
    const Shape& strides = node_.integers("strides");
    const Shape& pads = node_.integers("pads");
    const Shape& dilations = node_.integers("dilations");
    if (kernel.size() != axes || strides.size() != axes || dilations.size() != axes ||
        pads.size() != 2 * axes) {
      fail("kernel_shape, strides, dilations or pads do not fit {} axes", axes);
    }
    Shape shape{x[0], channels};
    for (std::size_t i = 0; i < axes; ++i) {
      for (const std::int64_t n : {kernel[i], strides[i], dilations[i]}) {
        if (n < 1 || n > max_window) fail("a kernel, stride or dilation of {}", n);
      }
      for (const std::int64_t pad : {pads[i], pads[i + axes]}) {
        if (pad < 0 || pad > max_window) fail("a pad of {}", pad);
      }
      const std::int64_t covered = (kernel[i] - 1) * dilations[i] + 1;
      const std::int64_t room = x[i + 2] + pads[i] + pads[i + axes];
      if (covered > room) fail("a window of {} on {} padded to {}", covered, x[i + 2], room);
      shape.push_back((room - covered) / strides[i] + 1);
    }
    return shape;
  }

  const Node& node_;
  const std::vector<Shape>& in_;
  const Shape& declared_;
};

using Rule = Shape (Inference::*)();

const std::map<std::string, Rule, std::less<>>& rules() {
  static const std::map<std::string, Rule, std::less<>> table = [] {
    std::map<std::string, Rule, std::less<>> t{{"Conv", &Inference::conv},
                                               {"MatMul", &Inference::matmul},
                                               {"MaxPool", &Inference::pool},
                                               {"AveragePool", &Inference::pool},
                                               {"GlobalAveragePool", &Inference::global_pool},
                                               {"ReduceMean", &Inference::reduce},
                                               {"ArgMax", &Inference::best},
                                               {"ArgMin", &Inference::best},
                                               {"Where", &Inference::where},
                                               {"Softmax", &Inference::along_axis},
                                               {"LayerNormalization", &Inference::layer_norm},
                                               {"Reshape", &Inference::reshape},
                                               {"Transpose", &Inference::transpose},
                                               {"Concat", &Inference::concat},
                                               {"Slice", &Inference::slice},
                                               {"Expand", &Inference::expand},
                                               {"Gather", &Inference::gather},
                                               {"Pad", &Inference::pad},
                                               {"CacheStore", &Inference::cache_store},
                                               {"Clip", &Inference::clip}};
    for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "Equal", "Less",
                           "LessOrEqual", "And", "Or", "Xor"}) {
      t[op] = &Inference::binary;
    }
    for (const char* op :
         {"Abs",  "Cast",       "Ceil",        "Cos",   "Elu",       "Erf",       "Exp",  "Floor",
          "Gelu", "Log",        "HardSigmoid", "Neg",   "HardSwish", "LeakyRelu", "Not",  "Relu",
          "Sin",  "Reciprocal", "Sign",        "Round", "Sigmoid",   "Softplus",  "Sqrt", "Tanh"}) {
      t[op] = &Inference::unary;
    }
    for (const char* op : {"ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare", "ReduceL2"}) {
      t[op] = &Inference::reduce;
    }
    return t;
  }();
  return table;
}

void check_value(const Value& value) {
  const std::int64_t size = checked_elements(value.shape, fmt::format("value '{}'", value.name));
  const auto fits = [&](const auto& data) {
    return !data || static_cast<std::int64_t>(data->size()) == size;
  };
  if (!fits(value.fp32) || !fits(value.fp64) || !fits(value.int64)) {
    throw ModelError("constant '{}': its data do not fill {}", value.name, text(value.shape));
  }
}

bool one_of(std::string_view op, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, op) != names.end();
}

bool compares(std::string_view op) { return one_of(op, {"Equal", "Less", "LessOrEqual"}); }
bool is_logic(std::string_view op) { return one_of(op, {"And", "Or", "Xor", "Not"}); }
bool is_best(std::string_view op) { return one_of(op, {"ArgMax", "ArgMin"}); }
bool moves(std::string_view op) {
  return one_of(op, {"Reshape", "Transpose", "Slice", "Concat", "Expand"});
}

/// Whether a canonical operator takes an operand of this type.
bool takes(const Node& node, std::size_t operand, const Value& value) {
  const DataType type = value.type;
  if (node.op == "Gather" && operand == 1) return value.constant && value.int64;
  if (is_logic(node.op) || (node.op == "Where" && operand == 0)) return type == DataType::boolean;
  if (node.op == "Cast") {
    return type == DataType::boolean || type == DataType::int32 || type == DataType::int64;
  }
  return type == DataType::fp32 || (moves(node.op) && type == DataType::boolean);
}

}  // namespace

DataType infer_type(const Graph& graph, const Node& node) {
  const std::size_t typed = node.op == "Where" ? 1 : 0;
  if (node.inputs.size() <= typed || node.inputs[typed] == no_value) {
    throw ModelError("{}: operand {} is missing", described(node), typed);
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == no_value) continue;
    const Value& value = graph.value(node.inputs[i]);
    if (takes(node, i, value)) continue;
    if (!value.constant && !is_real(value.type)) {
      throw ModelError("{}: '{}' holds {} that are known only when the model runs", described(node),
                       value.name, value.type == DataType::boolean ? "booleans" : "integers");
    }
    throw ModelError("{}: '{}' has the wrong element type", described(node), value.name);
  }
  if (compares(node.op) || is_logic(node.op)) return DataType::boolean;
  if (is_best(node.op)) return DataType::int64;
  if (node.op == "Cast") {
    if (node.integer("to") != 1) throw ModelError("{}: it casts into fp32 alone", described(node));
    return DataType::fp32;
  }
  const DataType type = graph.value(node.inputs[typed]).type;
  for (const ValueId id : node.inputs) {
    if (moves(node.op) && id != no_value && graph.value(id).type != type) {
      throw ModelError("{}: '{}' has another element type than '{}'", described(node),
                       graph.value(id).name, graph.value(node.inputs[0]).name);
    }
  }
  return type;
}

bool computed_by_operators(std::string_view op) {
  static const std::unordered_set<std::string_view> names{
      "Equal",     "Less",       "LessOrEqual",     "And",     "Or",  "Xor",   "Not",  "ArgMax",
      "ArgMin",    "Cast",       "Where",           "Sin",     "Cos", "Round", "Sign", "ReduceMax",
      "ReduceMin", "ReduceProd", "ReduceSumSquare", "ReduceL2"};
  return names.contains(op);
}

const std::vector<std::string>& canonical_operators() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const auto& [name, rule] : rules()) result.push_back(name);
    return result;
  }();
  return names;
}

Shape infer_shape(const Node& node, const std::vector<Shape>& inputs, const Shape& declared) {
  const auto rule = rules().find(node.op);
  if (rule == rules().end()) {
    const std::string near = nearest_name(node.op, canonical_operators());
    throw ModelError("{}: no such operator{}", described(node),
                     near.empty() ? "" : "; did you mean " + near + "?");
  }
  Shape shape = (Inference(node, inputs, declared).*rule->second)();
  checked_elements(shape, described(node));
  return shape;
}

void check(const Graph& graph) {
  std::vector<bool> known(graph.values.size(), false);
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    check_value(graph.values[id]);
    known[id] = graph.values[id].constant || graph.values[id].state;
  }
  for (const ValueId id : graph.inputs) known.at(id) = true;
  for (const Node& node : graph.nodes) {
    std::vector<Shape> inputs;
    for (const ValueId id : node.inputs) {
      if (id != no_value && (id >= known.size() || !known[id])) {
        throw ModelError("{}: it reads a value that is not there yet", described(node));
      }
      inputs.push_back(id == no_value ? Shape{} : graph.value(id).shape);
    }
    if (node.op.starts_with(host_prefix)) {  // shapes are those of the trial run
      for (const ValueId id : node.outputs) {
        if (id >= known.size() || known[id]) {
          throw ModelError("{}: it must make values of its own", described(node));
        }
        known[id] = true;
      }
      continue;
    }
    const DataType type = infer_type(graph, node);
    if (node.outputs.size() != 1 || node.outputs[0] >= known.size() || known[node.outputs[0]]) {
      throw ModelError("{}: it must make one value of its own", described(node));
    }
    const Value& out = graph.value(node.outputs[0]);
    const Shape shape = infer_shape(node, inputs, out.shape);
    if (shape != out.shape || type != out.type) {
      throw ModelError("{}: '{}' is {} of {} but declared {} of {}", described(node), out.name,
                       text(shape), text(type), text(out.shape), text(out.type));
    }
    known[node.outputs[0]] = true;
  }
  for (const ValueId id : graph.outputs) {
    if (id >= known.size() || !known[id]) throw ModelError("an output is made by no node");
  }
}

}  // namespace steppe::graph
