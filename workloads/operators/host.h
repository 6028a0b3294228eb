// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/base/error.h"
#include "workloads/operators/tensor.h"

/// Host operators: what ONNX defines and the card has no instruction for, on arrays of any type.
///
/// A node of such an operator is called "host." and ONNX's name, or has a canonical name that is
/// computed by them. It keeps ONNX's attributes as the file gives them (absent ones have their
/// defaults), and `opset`, the operator set that it is to be read by.
namespace steppe::graph {

inline const std::string host_prefix = "host.";

/// The names of a list attribute: one string with commas between.
std::vector<std::string> listed(const std::string& text);

/// One run of an operator.
struct HostCall {
  const Node& node;
  std::vector<const Tensor*> in;  ///< null: absent
  std::vector<Tensor> out;

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw ModelError("{}: {}", described(node), fmt::format(format, std::forward<Args>(args)...));
  }

  [[nodiscard]] std::string op() const {
    return node.op.starts_with(host_prefix) ? node.op.substr(host_prefix.size()) : node.op;
  }
  [[nodiscard]] std::int64_t opset() const { return integer("opset", 13); }
  [[nodiscard]] bool has(std::size_t i) const { return i < in.size() && in[i] != nullptr; }
  [[nodiscard]] const Tensor& at(std::size_t i) const {
    if (!has(i)) fail("operand {} is missing", i);
    return *in[i];
  }
  [[nodiscard]] const Shape& shape(std::size_t i) const { return at(i).shape; }
  [[nodiscard]] std::int64_t rank(std::size_t i) const {
    return static_cast<std::int64_t>(shape(i).size());
  }
  [[nodiscard]] bool given(const std::string& key) const { return node.attributes.contains(key); }
  [[nodiscard]] std::int64_t integer(const std::string& key, std::int64_t absent) const {
    return attribute(key, absent);
  }
  [[nodiscard]] double real(const std::string& key, double absent) const {
    return double{attribute(key, static_cast<float>(absent))};
  }
  [[nodiscard]] std::string string(const std::string& key, const std::string& absent) const {
    return attribute(key, absent);
  }
  [[nodiscard]] Shape integers(const std::string& key, const Shape& absent) const {
    return attribute(key, absent);
  }
  /// Operand `i` where there is one (later operator sets), else the attribute.
  [[nodiscard]] Shape integers(std::size_t i, const std::string& key, const Shape& absent) const {
    return has(i) ? graph::integers(at(i)) : integers(key, absent);
  }
  /// The first element of an operand; `absent` where there is none.
  [[nodiscard]] double scalar(std::size_t i, double absent) const {
    if (!has(i)) return absent;
    const std::vector<double> elements = reals(at(i));
    if (elements.size() != 1) fail("operand {} must have one element", i);
    return elements[0];
  }
  /// Counted from 0; throws where there is no such axis.
  [[nodiscard]] std::int64_t axis(std::int64_t axis, std::int64_t axes) const {
    if (axis < -axes || axis >= axes) fail("axis {} of an array of {} axes", axis, axes);
    return axis < 0 ? axis + axes : axis;
  }
  /// The elements of a result of this shape, at most max_host_elements.
  [[nodiscard]] std::size_t room(const Shape& shape) const;

  template <typename T>
  void give(DataType type, Shape shape, const std::vector<T>& elements) {
    if (elements.size() != room(shape)) fail("its operands do not fit each other");
    out.push_back(make_tensor(type, std::move(shape), elements));
  }

 private:
  template <typename T>
  [[nodiscard]] T attribute(const std::string& key, const T& absent) const {
    const auto found = node.attributes.find(key);
    if (found == node.attributes.end()) return absent;
    const T* value = std::get_if<T>(&found->second);
    if (value == nullptr) fail("the attribute '{}' is of another kind", key);
    return *value;
  }
};

inline constexpr std::int64_t max_host_elements = std::int64_t{1} << 26;

using HostKernel = void (*)(HostCall&);

/// How the shapes of results follow.
enum class Shaping : std::uint8_t {
  by_shapes,  ///< from the shapes of the operands and the values of those in `shaping`
  by_values   ///< from all values: only constants can be taken
};

struct HostOperator {
  HostKernel kernel = nullptr;
  /// Operands whose values say the shape of the result; they must be constants.
  std::vector<std::size_t> shaping;
  Shaping by = Shaping::by_shapes;
};

using HostTable = std::map<std::string, HostOperator, std::less<>>;

/// By ONNX's name.
const HostTable& host_operators();

/// Runs one node; the results are in `out`, all that the operator can make.
std::vector<Tensor> run_host(const Node& node, const std::vector<const Tensor*>& inputs);

void add_host_pointwise(HostTable& table);
void add_host_reductions(HostTable& table);
void add_host_moves(HostTable& table);
void add_host_gathers(HostTable& table);
void add_host_products(HostTable& table);
void add_host_windows(HostTable& table);
void add_host_norms(HostTable& table);
void add_host_quantised(HostTable& table);
void add_host_recurrent(HostTable& table);
void add_host_resize(HostTable& table);
void add_host_others(HostTable& table);

/// Calls f(T{}) with double for real numbers, with int64 for others.
template <typename F>
void by_kind(DataType type, F f) {
  if (is_real(type)) {
    f(double{});
  } else {
    f(std::int64_t{});
  }
}
template <typename T>
std::vector<T> elements(const Tensor& tensor) {
  if constexpr (std::is_same_v<T, double>) {
    return reals(tensor);
  } else {
    return integers(tensor);
  }
}

/// Counts an index up; false after the last.
inline bool next_index(Shape& index, const Shape& shape) {
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (++index[axis] < shape[axis]) return true;
    index[axis] = 0;
  }
  return false;
}
/// Calls f(index) for every index below `shape`, in row-major order.
template <typename F>
void for_each_index(const Shape& shape, F f) {
  for (const std::int64_t extent : shape) {
    if (extent == 0) return;
  }
  Shape index(shape.size(), 0);
  do {
    f(static_cast<const Shape&>(index));
  } while (next_index(index, shape));
}
inline std::size_t offset(const Shape& index, const Shape& steps) {
  std::int64_t at = 0;
  for (std::size_t i = 0; i < index.size(); ++i) at += index[i] * steps[i];
  return static_cast<std::size_t>(at);
}

/// The elements read as an array of `target` extents.
template <typename T>
std::vector<T> broadcast_to(const HostCall& call, const std::vector<T>& from, const Shape& shape,
                            const Shape& target) {
  if (shape == target) return from;
  if (broadcast_shape(shape, target) != target)
    call.fail("{} does not fit {}", text(shape), text(target));
  std::vector<T> result;
  result.reserve(call.room(target));
  const Shape steps = broadcast_steps(shape, target);
  for_each_index(target, [&](const Shape& index) { result.push_back(from[offset(index, steps)]); });
  return result;
}

}  // namespace steppe::graph
