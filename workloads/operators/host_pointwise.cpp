// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "workloads/operators/host.h"

namespace steppe::graph {
namespace {

Shape common_shape(const HostCall& call, std::size_t count) {
  Shape shape = call.shape(0);
  for (std::size_t i = 1; i < count; ++i) {
    const std::optional<Shape> both = broadcast_shape(shape, call.shape(i));
    if (!both) call.fail("{} and {} do not fit", text(shape), text(call.shape(i)));
    shape = *both;
  }
  static_cast<void>(call.room(shape));
  return shape;
}

template <typename T, typename F>
void combine(HostCall& call, DataType type, F f) {
  using Result = decltype(f(T{}, T{}));
  const Shape shape = common_shape(call, 2);
  const std::vector<T> a = broadcast_to(call, elements<T>(call.at(0)), call.shape(0), shape);
  const std::vector<T> b = broadcast_to(call, elements<T>(call.at(1)), call.shape(1), shape);
  std::vector<std::conditional_t<std::is_same_v<Result, bool>, std::int64_t, Result>> c(a.size());
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = f(a[i], b[i]);
  call.give(type, shape, c);
}

void need_one_type(const HostCall& call) {
  for (std::size_t i = 1; i < call.in.size(); ++i) {
    if (call.has(i) && call.at(i).type != call.at(0).type) {
      call.fail("operands of {} and {}", text(call.at(0).type), text(call.at(i).type));
    }
  }
}

bool is_uint64(const HostCall& call) { return call.at(0).type == DataType::uint64; }

/// Modulo 2^64, in which all signs agree for sums and products.
template <typename F>
auto unsigned_of(F f) {
  return [f](std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(
        f(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  };
}

template <typename F>
void arithmetic(HostCall& call, F f) {
  need_one_type(call);
  if (is_real(call.at(0).type)) return combine<double>(call, call.at(0).type, f);
  combine<std::int64_t>(call, call.at(0).type, unsigned_of(f));
}

std::int64_t divided(const HostCall& call, std::int64_t a, std::int64_t b) {
  if (b == 0) call.fail("division by zero");
  if (is_uint64(call)) return unsigned_of(std::divides<>())(a, b);
  return b == -1 ? unsigned_of(std::minus<>())(0, a) : a / b;
}

void divide(HostCall& call) {
  need_one_type(call);
  if (is_real(call.at(0).type)) {
    return combine<double>(call, call.at(0).type, std::divides<>());
  }
  combine<std::int64_t>(call, call.at(0).type,
                        [&](std::int64_t a, std::int64_t b) { return divided(call, a, b); });
}

void modulo(HostCall& call) {
  need_one_type(call);
  const bool c_like = call.integer("fmod", 0) != 0;
  if (is_real(call.at(0).type)) {
    if (!c_like) call.fail("real numbers need fmod = 1");
    return combine<double>(call, call.at(0).type,
                           [](double a, double b) { return std::fmod(a, b); });
  }
  combine<std::int64_t>(call, call.at(0).type, [&](std::int64_t a, std::int64_t b) {
    if (b == 0) call.fail("division by zero");
    if (is_uint64(call)) return unsigned_of(std::modulus<>())(a, b);
    const std::int64_t rest = b == -1 ? 0 : a % b;
    return !c_like && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  });
}

std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  std::uint64_t result = 1;
  auto square = static_cast<std::uint64_t>(base);
  for (; exponent > 0; exponent /= 2, square *= square) {
    if (exponent % 2 != 0) result *= square;
  }
  return static_cast<std::int64_t>(result);
}

void power(HostCall& call) {
  const DataType type = call.at(0).type;
  if (!is_real(type) && !is_real(call.at(1).type)) {
    return combine<std::int64_t>(call, type, integer_power);
  }
  combine<double>(call, type, [](double a, double b) { return std::pow(a, b); });
}

void shift(HostCall& call) {
  const bool left = call.string("direction", "") == "LEFT";
  combine<std::int64_t>(call, call.at(0).type, [&](std::int64_t a, std::int64_t b) {
    const auto x = static_cast<std::uint64_t>(a);
    if (b < 0 || b > 63) return std::int64_t{0};
    return static_cast<std::int64_t>(left ? x << b : x >> b);
  });
}

template <typename F>
void compare(HostCall& call, F f) {
  need_one_type(call);
  if (is_uint64(call)) {
    return combine<std::int64_t>(call, DataType::boolean, [&](std::int64_t a, std::int64_t b) {
      return f(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
    });
  }
  by_kind(call.at(0).type, [&](auto kind) { combine<decltype(kind)>(call, DataType::boolean, f); });
}

/// Throws unless the first `count` operands are booleans.
void need_booleans(const HostCall& call, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (call.at(i).type == DataType::boolean) continue;
    call.fail("operand {} is of {}; booleans are right", i, text(call.at(i).type));
  }
}

template <typename F>
void logic(HostCall& call, F f) {
  need_booleans(call, 2);
  combine<std::int64_t>(call, DataType::boolean,
                        [&](std::int64_t a, std::int64_t b) { return f(a != 0, b != 0); });
}

/// Sum, Mean, Max, Min of any number of operands.
template <typename F>
void variadic(HostCall& call, F f, bool mean = false) {
  need_one_type(call);
  const DataType type = call.at(0).type;
  const Shape shape = common_shape(call, call.in.size());
  const bool wide = is_uint64(call);
  by_kind(type, [&](auto kind) {
    using T = decltype(kind);
    std::vector<T> result = broadcast_to(call, elements<T>(call.at(0)), call.shape(0), shape);
    for (std::size_t k = 1; k < call.in.size(); ++k) {
      const std::vector<T> x = broadcast_to(call, elements<T>(call.at(k)), call.shape(k), shape);
      for (std::size_t i = 0; i < x.size(); ++i) {
        if constexpr (std::is_same_v<T, std::int64_t>) {
          const auto bias = static_cast<std::int64_t>(wide ? std::uint64_t{1} << 63U : 0);
          result[i] = static_cast<std::int64_t>(f(result[i] ^ bias, x[i] ^ bias)) ^ bias;
        } else {
          result[i] = f(result[i], x[i]);
        }
      }
    }
    if (mean) {
      for (T& x : result) x /= static_cast<T>(call.in.size());
    }
    call.give(type, shape, result);
  });
}

void where(HostCall& call) {
  need_booleans(call, 1);
  if (call.at(1).type != call.at(2).type) call.fail("its choices are of two types");
  const Shape shape = common_shape(call, 3);
  const auto condition = broadcast_to(call, integers(call.at(0)), call.shape(0), shape);
  by_kind(call.at(1).type, [&](auto kind) {
    using T = decltype(kind);
    const std::vector<T> a = broadcast_to(call, elements<T>(call.at(1)), call.shape(1), shape);
    std::vector<T> b = broadcast_to(call, elements<T>(call.at(2)), call.shape(2), shape);
    for (std::size_t i = 0; i < b.size(); ++i) {
      if (condition[i] != 0) b[i] = a[i];
    }
    call.give(call.at(1).type, shape, b);
  });
}

void prelu(HostCall& call) {
  arithmetic(call, [](auto a, auto b) { return static_cast<double>(a) < 0 ? a * b : a; });
}

void clip(HostCall& call) {
  need_one_type(call);
  by_kind(call.at(0).type, [&](auto kind) {
    using T = decltype(kind);
    std::vector<T> x = elements<T>(call.at(0));
    const auto bound = [&](std::size_t i) { return elements<T>(call.at(i)).at(0); };
    const auto at_least = [&](T lowest) {
      for (T& each : x) each = std::max(each, lowest);
    };
    const auto at_most = [&](T highest) {
      for (T& each : x) each = std::min(each, highest);
    };
    if (call.has(1)) at_least(bound(1));
    if (call.has(2)) at_most(bound(2));
    if (call.given("min")) at_least(static_cast<T>(call.real("min", 0)));
    if (call.given("max")) at_most(static_cast<T>(call.real("max", 0)));
    call.give(call.at(0).type, call.shape(0), x);
  });
}

void cast_to(HostCall& call, DataType type) {
  const Tensor& x = call.at(0);
  if (is_real(x.type) || (x.type == DataType::uint64 && is_real(type))) {
    call.give(type, x.shape, reals(x));
  } else {
    call.give(type, x.shape, x.int64);
  }
}

void cast(HostCall& call) {
  const DataType to = type_of_onnx(call.integer("to", 0), described(call.node));
  cast_to(call, to);
}

/// f on real numbers; the result is of the operand's type unless given.
template <typename F>
void map(HostCall& call, F f) {
  const Tensor& x = call.at(0);
  std::vector<double> y = reals(x);
  for (double& each : y) each = f(each);
  call.give(x.type, x.shape, y);
}

template <typename F>
void map_to_bool(HostCall& call, F f) {
  std::vector<std::int64_t> y;
  for (const double x : reals(call.at(0))) y.push_back(f(x) ? 1 : 0);
  call.give(DataType::boolean, call.shape(0), y);
}

template <typename F>
void map_signed(HostCall& call, F f) {
  if (is_real(call.at(0).type)) return map(call, f);
  std::vector<std::int64_t> y = integers(call.at(0));
  for (std::int64_t& x : y) x = f(x);
  call.give(call.at(0).type, call.shape(0), y);
}

std::int64_t negated(std::int64_t x) {
  return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(x));
}

#define MAP(NAME, EXPRESSION) \
  t[NAME] = {[](HostCall& call) { map(call, [](double x) -> double { return EXPRESSION; }); }, {}}

void add_functions(HostTable& t) {
  MAP("Acos", std::acos(x));
  MAP("Acosh", std::acosh(x));
  MAP("Asin", std::asin(x));
  MAP("Asinh", std::asinh(x));
  MAP("Atan", std::atan(x));
  MAP("Atanh", std::atanh(x));
  MAP("Ceil", std::ceil(x));
  MAP("Cos", std::cos(x));
  MAP("Cosh", std::cosh(x));
  MAP("Erf", std::erf(x));
  MAP("Exp", std::exp(x));
  MAP("Floor", std::floor(x));
  MAP("Gelu", 0.5 * x * (1.0 + std::erf(x / std::numbers::sqrt2)));
  MAP("HardSwish", x * std::clamp(x / 6.0 + 0.5, 0.0, 1.0));
  MAP("Log", std::log(x));
  MAP("Mish", x * std::tanh(std::log1p(std::exp(x))));
  MAP("Reciprocal", 1.0 / x);
  MAP("Round", std::nearbyint(x));
  MAP("Sigmoid", 1.0 / (1.0 + std::exp(-x)));
  MAP("Sin", std::sin(x));
  MAP("Sinh", std::sinh(x));
  MAP("Softplus", std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))));
  MAP("Softsign", x / (1.0 + std::abs(x)));
  MAP("Sqrt", std::sqrt(x));
  MAP("Tan", std::tan(x));
  MAP("Tanh", std::tanh(x));
}
#undef MAP

void add_activations(HostTable& t) {
  t["Elu"] = {[](HostCall& call) {
    const double alpha = call.real("alpha", 1.0);
    map(call, [&](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
  }};
  t["Celu"] = {[](HostCall& call) {
    const double alpha = call.real("alpha", 1.0);
    map(call, [&](double x) { return x < 0 ? alpha * std::expm1(x / alpha) : x; });
  }};
  t["Selu"] = {[](HostCall& call) {
    const double alpha = call.real("alpha", 1.67326319217681884765625);
    const double gamma = call.real("gamma", 1.05070102214813232421875);
    map(call, [&](double x) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); });
  }};
  t["LeakyRelu"] = {[](HostCall& call) {
    const double alpha = call.real("alpha", 0.01);
    map(call, [&](double x) { return x < 0 ? alpha * x : x; });
  }};
  t["ThresholdedRelu"] = {[](HostCall& call) {
    const double alpha = call.real("alpha", 1.0);
    map(call, [&](double x) { return x > alpha ? x : 0.0; });
  }};
  t["HardSigmoid"] = {[](HostCall& call) {
    const double alpha = call.real("alpha", 0.2);
    const double beta = call.real("beta", 0.5);
    map(call, [&](double x) { return std::clamp(alpha * x + beta, 0.0, 1.0); });
  }};
  t["Shrink"] = {[](HostCall& call) {
    const double bias = call.real("bias", 0.0);
    const double lambd = call.real("lambd", 0.5);
    map(call, [&](double x) { return x < -lambd ? x + bias : x > lambd ? x - bias : 0.0; });
  }};
  t["PRelu"] = {prelu};
  t["Clip"] = {clip};
}

void add_signs(HostTable& t) {
  t["Relu"] = {[](HostCall& call) { map_signed(call, [](auto x) { return x > 0 ? x : 0 * x; }); }};
  t["Sign"] = {[](HostCall& call) {
    if (is_uint64(call)) return map_signed(call, [](auto x) { return x != 0 ? 1 : 0; });
    map_signed(call, [](auto x) { return x > 0 ? 1 : x < 0 ? -1 : 0; });
  }};
  t["Neg"] = {[](HostCall& call) {
    if (is_real(call.at(0).type)) return map(call, [](double x) { return -x; });
    map_signed(call, [](auto x) { return negated(static_cast<std::int64_t>(x)); });
  }};
  t["Abs"] = {[](HostCall& call) {
    if (is_real(call.at(0).type)) return map(call, [](double x) { return std::abs(x); });
    if (is_uint64(call)) return call.out.push_back(call.at(0));
    map_signed(call, [](auto x) {
      const auto n = static_cast<std::int64_t>(x);
      return n < 0 ? negated(n) : n;
    });
  }};
  t["Not"] = {[](HostCall& call) {
    need_booleans(call, 1);
    map_to_bool(call, [](double x) { return x == 0.0; });
  }};
  t["IsNaN"] = {[](HostCall& call) { map_to_bool(call, [](double x) { return std::isnan(x); }); }};
  t["IsInf"] = {[](HostCall& call) {
    const bool up = call.integer("detect_positive", 1) != 0;
    const bool down = call.integer("detect_negative", 1) != 0;
    map_to_bool(call, [&](double x) { return std::isinf(x) && (x > 0 ? up : down); });
  }};
}

}  // namespace

void add_host_pointwise(HostTable& t) {
  add_functions(t);
  add_activations(t);
  add_signs(t);
  t["Add"] = {[](HostCall& call) { arithmetic(call, std::plus<>()); }};
  t["Sub"] = {[](HostCall& call) { arithmetic(call, std::minus<>()); }};
  t["Mul"] = {[](HostCall& call) { arithmetic(call, std::multiplies<>()); }};
  t["Div"] = {divide};
  t["Mod"] = {modulo};
  t["Pow"] = {power};
  t["BitShift"] = {shift};
  t["Equal"] = {[](HostCall& call) { compare(call, [](auto a, auto b) { return a == b; }); }};
  t["Less"] = {[](HostCall& call) { compare(call, [](auto a, auto b) { return a < b; }); }};
  t["LessOrEqual"] = {[](HostCall& call) { compare(call, [](auto a, auto b) { return a <= b; }); }};
  t["Greater"] = {[](HostCall& call) { compare(call, [](auto a, auto b) { return a > b; }); }};
  t["GreaterOrEqual"] = {
      [](HostCall& call) { compare(call, [](auto a, auto b) { return a >= b; }); }};
  t["And"] = {[](HostCall& call) { logic(call, [](bool a, bool b) { return a && b; }); }};
  t["Or"] = {[](HostCall& call) { logic(call, [](bool a, bool b) { return a || b; }); }};
  t["Xor"] = {[](HostCall& call) { logic(call, [](bool a, bool b) { return a != b; }); }};
  const auto plus = [](HostCall& call) {
    variadic(call, [](double a, double b) { return a + b; });
  };
  t["Sum"] = {plus};
  t["Mean"] = {[](HostCall& call) {
    variadic(
        call, [](double a, double b) { return a + b; }, true);
  }};
  t["Max"] = {[](HostCall& call) { variadic(call, [](auto a, auto b) { return a < b ? b : a; }); }};
  t["Min"] = {[](HostCall& call) { variadic(call, [](auto a, auto b) { return b < a ? b : a; }); }};
  t["Where"] = {where};
  t["Cast"] = {cast};
  t["CastLike"] = {[](HostCall& call) { cast_to(call, call.at(1).type); }};
  t["Identity"] = {[](HostCall& call) { call.out.push_back(call.at(0)); }};
}

}  // namespace steppe::graph
