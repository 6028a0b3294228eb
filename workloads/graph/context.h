// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/base/error.h"
#include "workloads/graph/builder.h"
#include "workloads/graph/raw_model.h"

/// ONNX operators, each turned into canonical nodes by a function of its own.
namespace steppe::graph {

/// One ONNX node on its way into a graph: its operands as values, its attributes with defaults.
class Context {
 public:
  Context(const RawNode& node, std::int64_t set, std::vector<ValueId> inputs, Builder& target,
          bool widens = true)
      : raw(node), opset(set), b(target), widen(widens), inputs_(std::move(inputs)) {}

  const RawNode& raw;
  const std::int64_t opset;
  Builder& b;
  const bool widen;              ///< all real numbers are fp32
  std::vector<ValueId> outputs;  ///< what the node makes, in order

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw ModelError("node '{}' ({}): {}", raw.name, raw.op,
                     fmt::format(format, std::forward<Args>(args)...));
  }

  void give(ValueId id) { outputs.push_back(id); }

  [[nodiscard]] std::size_t operands() const { return inputs_.size(); }
  [[nodiscard]] bool has(std::size_t i) const {
    return i < inputs_.size() && inputs_[i] != no_value;
  }
  [[nodiscard]] ValueId in(std::size_t i) const;
  [[nodiscard]] ValueId optional(std::size_t i) const { return has(i) ? inputs_[i] : no_value; }
  [[nodiscard]] const Shape& shape(std::size_t i) const { return b.shape(in(i)); }
  [[nodiscard]] std::int64_t rank(std::size_t i) const {
    return static_cast<std::int64_t>(shape(i).size());
  }
  [[nodiscard]] bool is_constant(std::size_t i) const { return b.value(in(i)).constant; }

  /// The elements of an operand that must be constant.
  [[nodiscard]] const std::vector<std::int64_t>& integers_in(std::size_t i) const;
  [[nodiscard]] const std::vector<float>& reals_in(std::size_t i) const;
  /// Of a constant of one element, integer or real.
  [[nodiscard]] float scalar_in(std::size_t i) const;
  /// An operand as fp32, where it is a constant of integers.
  [[nodiscard]] ValueId real(std::size_t i) const;

  [[nodiscard]] bool given(const std::string& key) const { return raw.attributes.contains(key); }
  [[nodiscard]] std::int64_t integer(const std::string& key, std::int64_t absent) const {
    return attribute(key, absent, "an integer");
  }
  [[nodiscard]] float real(const std::string& key, float absent) const {
    return attribute(key, absent, "a real number");
  }
  [[nodiscard]] std::string string(const std::string& key, const std::string& absent) const {
    return attribute(key, absent, "a string");
  }
  [[nodiscard]] Shape integers(const std::string& key, const Shape& absent) const {
    return attribute(key, absent, "a list of integers");
  }
  /// Operand `i` where there is one (later operator sets), else the attribute.
  [[nodiscard]] Shape integers(std::size_t i, const std::string& key, const Shape& absent) const {
    return has(i) ? integers_in(i) : integers(key, absent);
  }

  /// An axis counted from 0; from the end where it was negative.
  [[nodiscard]] std::int64_t axis(std::int64_t axis, std::int64_t rank) const;
  /// Rising, without duplicates.
  [[nodiscard]] Shape axes(const Shape& axes, std::int64_t rank) const;

 private:
  template <typename T>
  [[nodiscard]] T attribute(const std::string& key, const T& absent, const char* kind) const {
    const auto found = raw.attributes.find(key);
    if (found == raw.attributes.end()) return absent;
    const T* value = std::get_if<T>(&found->second);
    if (value == nullptr) fail("the attribute '{}' is not {}", key, kind);
    return *value;
  }

  std::vector<ValueId> inputs_;
};

using Conversions = std::map<std::string, std::function<void(Context&)>, std::less<>>;

void add_arithmetic(Conversions& table);
void add_products(Conversions& table);
void add_recurrent(Conversions& table);
void add_transposed(Conversions& table);
void add_windows(Conversions& table);
void add_reductions(Conversions& table);
void add_norms(Conversions& table);
void add_moves(Conversions& table);
void add_resizing(Conversions& table);
void add_shape_operators(Conversions& table);
void add_logic(Conversions& table);

/// By ONNX name.
const Conversions& conversions();

}  // namespace steppe::graph
