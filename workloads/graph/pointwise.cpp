// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>

#include "workloads/graph/kernels.h"

namespace steppe::graph::kernels {
namespace {

/// out = f(a, b) with ONNX's broadcasting.
template <typename T, typename F>
void broadcast(const Call<T>& call, F f) {
  const Shape& shape = call.out_shape();
  const T* a = call.in[0];
  const T* b = call.in[1];
  T* out = call.out;
  const std::size_t size = call.out_size();
  if (call.in_size(0) == size && call.in_size(1) == size) {
    for (std::size_t i = 0; i < size; ++i) out[i] = f(a[i], b[i]);
    return;
  }
  if (size == 0) return;
  const Shape a_steps = broadcast_steps(call.in_shape(0), shape);
  const Shape b_steps = broadcast_steps(call.in_shape(1), shape);
  const std::size_t last = shape.size() - 1;
  Shape index(last, 0);
  for (std::size_t done = 0; done < size; done += static_cast<std::size_t>(shape[last])) {
    for (std::int64_t i = 0; i < shape[last]; ++i) {
      *out++ = f(a[i * a_steps[last]], b[i * b_steps[last]]);
    }
    for (std::size_t axis = last; axis-- > 0;) {
      a += a_steps[axis];
      b += b_steps[axis];
      if (++index[axis] < shape[axis]) break;
      a -= a_steps[axis] * shape[axis];
      b -= b_steps[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

template <typename T>
T divide(const Node& node, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0 || b == -1) {
      if (b == 0) throw ModelError("{}: division by zero", described(node));
      return static_cast<T>(0 - static_cast<std::uint64_t>(a));
    }
  }
  return a / b;
}

/// Arithmetic modulo 2^64 for integers: a hostile model must not overflow.
template <typename T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;

template <typename T>
bool binary(const Call<T>& call) {
  using W = Wrapping<T>;
  const std::string& op = call.node.op;
  if (op == "Add") {
    broadcast(call, [](T a, T b) { return static_cast<T>(W(a) + W(b)); });
  } else if (op == "Sub") {
    broadcast(call, [](T a, T b) { return static_cast<T>(W(a) - W(b)); });
  } else if (op == "Mul") {
    broadcast(call, [](T a, T b) { return static_cast<T>(W(a) * W(b)); });
  } else if (op == "Div") {
    broadcast(call, [&](T a, T b) { return divide(call.node, a, b); });
  } else if (op == "Max") {
    broadcast(call, [](T a, T b) { return std::max(a, b); });
  } else if (op == "Min") {
    broadcast(call, [](T a, T b) { return std::min(a, b); });
  } else if (op == "Pow") {
    broadcast(call, [](T a, T b) { return static_cast<T>(std::pow(a, b)); });
  } else {
    return false;
  }
  return true;
}

template <typename F>
void map_all(const Call<float>& call, F f) {
  const std::size_t size = call.out_size();
  for (std::size_t i = 0; i < size; ++i) call.out[i] = f(call.in[0][i]);
}

void clip(const Call<float>& call) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const auto bound = [&](std::size_t i, float absent) {
    return call.in.size() > i && call.in[i] != nullptr ? *call.in[i] : absent;
  };
  const float low = bound(1, -inf);
  const float high = bound(2, inf);
  map_all(call, [&](float x) { return std::min(std::max(x, low), high); });
}

float gelu(float x) { return 0.5F * x * (1.0F + std::erf(x / std::numbers::sqrt2_v<float>)); }

float hard_swish(float x) { return x * std::clamp(x / 6.0F + 0.5F, 0.0F, 1.0F); }

float softplus(float x) { return std::max(x, 0.0F) + std::log1p(std::exp(-std::abs(x))); }

using Function = float (*)(float);
const std::map<std::string, Function, std::less<>>& functions() {
  static const std::map<std::string, Function, std::less<>> table{
      {"Abs", [](float x) { return std::abs(x); }},
      {"Ceil", [](float x) { return std::ceil(x); }},
      {"Erf", [](float x) { return std::erf(x); }},
      {"Exp", [](float x) { return std::exp(x); }},
      {"Floor", [](float x) { return std::floor(x); }},
      {"Gelu", gelu},
      {"HardSwish", hard_swish},
      {"Log", [](float x) { return std::log(x); }},
      {"Neg", [](float x) { return -x; }},
      {"Reciprocal", [](float x) { return 1.0F / x; }},
      {"Relu", [](float x) { return std::max(x, 0.0F); }},
      {"Sigmoid", [](float x) { return 1.0F / (1.0F + std::exp(-x)); }},
      {"Softplus", softplus},
      {"Sqrt", [](float x) { return std::sqrt(x); }},
      {"Tanh", [](float x) { return std::tanh(x); }}};
  return table;
}

}  // namespace

bool pointwise(const Call<float>& call) {
  if (binary(call)) return true;
  const Node& node = call.node;
  if (node.op == "Clip") {
    clip(call);
  } else if (node.op == "LeakyRelu") {
    const float alpha = node.real("alpha");
    map_all(call, [&](float x) { return x < 0.0F ? alpha * x : x; });
  } else if (node.op == "Elu") {
    const float alpha = node.real("alpha");
    map_all(call, [&](float x) { return x < 0.0F ? alpha * std::expm1(x) : x; });
  } else if (node.op == "HardSigmoid") {
    const float alpha = node.real("alpha");
    const float beta = node.real("beta");
    map_all(call, [&](float x) { return std::clamp(alpha * x + beta, 0.0F, 1.0F); });
  } else {
    const auto function = functions().find(node.op);
    if (function == functions().end()) return false;
    const Function f = function->second;
    map_all(call, f);
  }
  return true;
}

bool pointwise(const Call<std::int64_t>& call) {
  if (call.node.op == "Pow") return false;
  if (call.node.op != "Neg") return binary(call);
  for (std::size_t i = 0; i < call.out_size(); ++i) {
    call.out[i] = static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(call.in[0][i]));
  }
  return true;
}

}  // namespace steppe::graph::kernels
