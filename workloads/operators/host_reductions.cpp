// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "workloads/operators/host.h"

namespace steppe::graph {
namespace {

/// The axes to reduce, from an operand or an attribute; all where neither names one.
Shape reduced_axes(const HostCall& call) {
  Shape axes = call.integers(1, "axes", {});
  for (std::int64_t& axis : axes) axis = call.axis(axis, call.rank(0));
  if (axes.empty() && call.integer("noop_with_empty_axes", 0) == 0) {
    axes.resize(call.shape(0).size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  return axes;
}

struct Folding {
  Shape steps;   ///< of the result, by the operand's axes; 0 along reduced ones
  Shape result;  ///< its shape
  std::size_t size = 1;

  Folding(const HostCall& call, const Shape& axes, bool keep) {
    Shape kept = call.shape(0);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const bool reduced = std::count(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) > 0;
      if (reduced) kept[i] = 1;
      if (!reduced || keep) result.push_back(kept[i]);
    }
    steps = broadcast_steps(kept, call.shape(0));
    size = call.room(result);
  }
};

/// result = combine(result, element) from `start` on, then finish(result, count).
template <typename T, typename F, typename G>
void fold(HostCall& call, const std::vector<T>& x, T start, F combine, G finish) {
  const Folding to(call, reduced_axes(call), call.integer("keepdims", 1) != 0);
  std::vector<T> result(to.size, start);
  std::size_t i = 0;
  for_each_index(call.shape(0), [&](const Shape& index) {
    T& each = result[offset(index, to.steps)];
    each = combine(each, x[i++]);
  });
  const auto count =
      static_cast<double>(x.size()) / static_cast<double>(std::max<std::size_t>(1, to.size));
  for (T& each : result) each = finish(each, count);
  call.give(call.at(0).type, to.result, result);
}

template <typename F, typename G>
void fold_reals(HostCall& call, F combine, G finish) {
  fold<double>(call, reals(call.at(0)), 0.0, combine, finish);
}

constexpr auto as_is = [](auto x, double) { return x; };
constexpr auto plus = [](double a, double b) { return a + b; };

template <typename F>
void extreme(HostCall& call, bool largest, F f) {
  by_kind(call.at(0).type, [&](auto kind) {
    using T = decltype(kind);
    using Limits = std::numeric_limits<T>;
    const T low = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    const T high = Limits::has_infinity ? Limits::infinity() : Limits::max();
    fold<T>(call, elements<T>(call.at(0)), largest ? low : high, f, as_is);
  });
}

void log_sum_exp(HostCall& call) {
  std::vector<double> x = reals(call.at(0));
  const double top = x.empty() ? 0.0 : *std::max_element(x.begin(), x.end());
  fold<double>(
      call, x, 0.0, [&](double sum, double each) { return sum + std::exp(each - top); },
      [&](double sum, double) { return std::log(sum) + top; });
}

/// Position of the largest or least element along an axis.
void arg(HostCall& call, bool largest) {
  const std::int64_t axis = call.axis(call.integer("axis", 0), call.rank(0));
  const bool last = call.integer("select_last_index", 0) != 0;
  const Folding to(call, {axis}, call.integer("keepdims", 1) != 0);
  const std::vector<double> x = reals(call.at(0));
  std::vector<double> best(to.size);
  std::vector<std::int64_t> at(to.size, -1);
  std::size_t i = 0;
  for_each_index(call.shape(0), [&](const Shape& index) {
    const std::size_t k = offset(index, to.steps);
    const double each = x[i++];
    const bool better = largest ? each > best[k] : each < best[k];
    if (at[k] >= 0 && !better && !(last && each == best[k])) return;
    best[k] = each;
    at[k] = index[static_cast<std::size_t>(axis)];
  });
  if (std::count(at.begin(), at.end(), -1) > 0) call.fail("an empty axis");
  call.give(DataType::int64, to.result, at);
}

void cumulative_sum(HostCall& call) {
  const auto axis = static_cast<std::size_t>(
      call.axis(static_cast<std::int64_t>(call.scalar(1, 0)), call.rank(0)));
  const bool exclusive = call.integer("exclusive", 0) != 0;
  const bool reverse = call.integer("reverse", 0) != 0;
  const Shape& shape = call.shape(0);
  const std::int64_t step = row_major_steps(shape)[axis];
  std::vector<double> x = reals(call.at(0));
  std::vector<double> y(x.size());
  Shape front = shape;
  front[axis] = 1;
  for_each_index(front, [&](const Shape& index) {
    const auto start = static_cast<std::int64_t>(offset(index, row_major_steps(shape)));
    double sum = 0.0;
    for (std::int64_t i = 0; i < shape[axis]; ++i) {
      const auto at = static_cast<std::size_t>(start + (reverse ? shape[axis] - 1 - i : i) * step);
      if (!exclusive) sum += x[at];
      y[at] = sum;
      if (exclusive) sum += x[at];
    }
  });
  call.give(call.at(0).type, shape, y);
}

/// The k largest or least along an axis with their positions; of equals the first comes first.
void top_k(HostCall& call) {
  const auto axis = static_cast<std::size_t>(call.axis(call.integer("axis", -1), call.rank(0)));
  const Shape& from = call.shape(0);
  const auto k = call.has(1) ? static_cast<std::int64_t>(call.scalar(1, 0)) : call.integer("k", -1);
  if (k < 0 || k > from[axis]) call.fail("{} of {} elements", k, from[axis]);
  const bool largest = call.integer("largest", 1) != 0;
  Shape to = from;
  to[axis] = k;
  const std::vector<double> x = reals(call.at(0));
  std::vector<double> values(call.room(to));
  std::vector<std::int64_t> places(values.size());
  const std::int64_t step = row_major_steps(from)[axis];
  Shape front = from;
  front[axis] = 1;
  std::vector<std::int64_t> order(static_cast<std::size_t>(from[axis]));
  for_each_index(front, [&](const Shape& index) {
    const auto start = static_cast<std::int64_t>(offset(index, row_major_steps(from)));
    const auto value = [&](std::int64_t i) {
      return x[static_cast<std::size_t>(start + i * step)];
    };
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return largest ? value(a) > value(b) : value(a) < value(b);
    });
    const auto out = static_cast<std::int64_t>(offset(index, row_major_steps(to)));
    for (std::int64_t i = 0; i < k; ++i) {
      const auto at = static_cast<std::size_t>(out + i * step);
      values[at] = value(order[static_cast<std::size_t>(i)]);
      places[at] = order[static_cast<std::size_t>(i)];
    }
  });
  call.give(call.at(0).type, to, values);
  call.give(DataType::int64, to, places);
}

enum class Soft { max, log, hard };

/// Before operator set 13 everything from `axis` on is one row.
void soft(HostCall& call, Soft kind) {
  const bool flattens = call.opset() < 13;
  const Shape& shape = call.shape(0);
  const std::int64_t axis = call.axis(call.integer("axis", flattens ? 1 : -1), call.rank(0));
  const auto product = [](auto first, auto last) {
    return std::accumulate(first, last, std::int64_t{1}, std::multiplies<>());
  };
  const std::int64_t fronts = product(shape.begin(), shape.begin() + axis);
  const std::int64_t step = flattens ? 1 : product(shape.begin() + axis + 1, shape.end());
  const std::int64_t size =
      flattens ? product(shape.begin() + axis, shape.end()) : shape[static_cast<std::size_t>(axis)];
  std::vector<double> x = reals(call.at(0));
  for (std::int64_t row = 0; row < fronts * step && size > 0; ++row) {
    const std::int64_t start = row / step * size * step + row % step;
    const auto at = [&](std::int64_t i) -> double& {
      return x[static_cast<std::size_t>(start + i * step)];
    };
    std::int64_t top = 0;
    for (std::int64_t i = 1; i < size; ++i) top = at(i) > at(top) ? i : top;
    const double largest = at(top);
    double sum = 0.0;
    for (std::int64_t i = 0; i < size; ++i) sum += std::exp(at(i) - largest);
    for (std::int64_t i = 0; i < size; ++i) {
      const double shifted = at(i) - largest;
      if (kind == Soft::hard) at(i) = i == top ? 1.0 : 0.0;
      if (kind == Soft::max) at(i) = std::exp(shifted) / sum;
      if (kind == Soft::log) at(i) = shifted - std::log(sum);
    }
  }
  call.give(call.at(0).type, shape, x);
}

void add_sums(HostTable& t) {
  t["ReduceSum"] = {[](HostCall& call) {
                      if (is_real(call.at(0).type)) return fold_reals(call, plus, as_is);
                      fold<std::int64_t>(
                          call, integers(call.at(0)), 0,
                          [](std::int64_t a, std::int64_t b) {
                            return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) +
                                                             static_cast<std::uint64_t>(b));
                          },
                          as_is);
                    },
                    {1}};
  t["ReduceMean"] = {[](HostCall& call) {
                       fold_reals(call, plus, [](double x, double count) { return x / count; });
                     },
                     {1}};
  t["ReduceProd"] = {[](HostCall& call) {
                       by_kind(call.at(0).type, [&](auto kind) {
                         using T = decltype(kind);
                         fold<T>(
                             call, elements<T>(call.at(0)), T{1},
                             [](T a, T b) {
                               using W =
                                   std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
                               return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
                             },
                             as_is);
                       });
                     },
                     {1}};
  t["ReduceMax"] = {
      [](HostCall& call) { extreme(call, true, [](auto a, auto b) { return std::max(a, b); }); },
      {1}};
  t["ReduceMin"] = {
      [](HostCall& call) { extreme(call, false, [](auto a, auto b) { return std::min(a, b); }); },
      {1}};
  t["ReduceL1"] = {[](HostCall& call) {
                     fold_reals(
                         call, [](double a, double b) { return a + std::abs(b); }, as_is);
                   },
                   {1}};
  t["ReduceL2"] = {[](HostCall& call) {
                     fold_reals(
                         call, [](double a, double b) { return a + b * b; },
                         [](double x, double) { return std::sqrt(x); });
                   },
                   {1}};
  t["ReduceSumSquare"] = {[](HostCall& call) {
                            fold_reals(
                                call, [](double a, double b) { return a + b * b; }, as_is);
                          },
                          {1}};
  t["ReduceLogSum"] = {
      [](HostCall& call) { fold_reals(call, plus, [](double x, double) { return std::log(x); }); },
      {1}};
  t["ReduceLogSumExp"] = {log_sum_exp, {1}};
}

}  // namespace

void add_host_reductions(HostTable& t) {
  add_sums(t);
  t["ArgMax"] = {[](HostCall& call) { arg(call, true); }, {}};
  t["ArgMin"] = {[](HostCall& call) { arg(call, false); }, {}};
  t["CumSum"] = {cumulative_sum, {1}};
  t["TopK"] = {top_k, {1}};
  t["Softmax"] = {[](HostCall& call) { soft(call, Soft::max); }, {}};
  t["LogSoftmax"] = {[](HostCall& call) { soft(call, Soft::log); }, {}};
  t["Hardmax"] = {[](HostCall& call) { soft(call, Soft::hard); }, {}};
}

}  // namespace steppe::graph
