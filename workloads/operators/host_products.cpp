// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <set>

#include "workloads/operators/host_windows.h"

namespace steppe::graph {
namespace {

void gemm(HostCall& call) {
  Shape a = call.shape(0), b = call.shape(1);
  if (a.size() != 2 || b.size() != 2) call.fail("its operands must have two axes");
  const bool turn_a = call.integer("transA", 0) != 0;
  const bool turn_b = call.integer("transB", 0) != 0;
  const std::vector<double> x = reals(call.at(0)), y = reals(call.at(1));
  const std::int64_t m = turn_a ? a[1] : a[0], k = turn_a ? a[0] : a[1];
  const std::int64_t n = turn_b ? b[0] : b[1];
  if ((turn_b ? b[1] : b[0]) != k) call.fail("{} by {}", text(a), text(b));
  std::vector<double> z(call.room({m, n}), 0.0);
  if (call.has(2)) z = broadcast_to(call, reals(call.at(2)), call.shape(2), {m, n});
  const double alpha = call.real("alpha", 1.0), beta = call.real("beta", 1.0);
  for_each_index({m, n}, [&](const Shape& at) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < k; ++i) {
      sum += x[static_cast<std::size_t>(turn_a ? i * m + at[0] : at[0] * k + i)] *
             y[static_cast<std::size_t>(turn_b ? at[1] * k + i : i * n + at[1])];
    }
    double& each = z[static_cast<std::size_t>(at[0] * n + at[1])];
    each = alpha * sum + beta * each;
  });
  call.give(call.at(0).type, {m, n}, z);
}

void matmul(HostCall& call) {
  Shape to;
  const std::vector<double> y =
      multiplied(call, reals(call.at(0)), call.shape(0), reals(call.at(1)), call.shape(1), to);
  call.give(call.at(0).type, to, y);
}

void det(HostCall& call) {
  const Shape& shape = call.shape(0);
  if (shape.size() < 2 || shape.back() != shape[shape.size() - 2])
    call.fail("{} is no square", text(shape));
  const auto n = static_cast<std::size_t>(shape.back());
  std::vector<double> x = reals(call.at(0));
  std::vector<double> y;
  const Shape lead(shape.begin(), shape.end() - 2);
  for (std::size_t start = 0; y.size() < call.room(lead); start += n * n) {
    double product = 1.0;
    const auto at = [&](std::size_t i, std::size_t k) -> double& { return x[start + i * n + k]; };
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t pivot = i;
      for (std::size_t r = i; r < n; ++r)
        pivot = std::abs(at(r, i)) > std::abs(at(pivot, i)) ? r : pivot;
      if (pivot != i) {
        product = -product;
        for (std::size_t k = 0; k < n; ++k) std::swap(at(i, k), at(pivot, k));
      }
      product *= at(i, i);
      if (at(i, i) == 0.0) break;
      for (std::size_t r = i + 1; r < n; ++r) {
        const double factor = at(r, i) / at(i, i);
        for (std::size_t k = i; k < n; ++k) at(r, k) -= factor * at(i, k);
      }
    }
    y.push_back(product);
  }
  call.give(call.at(0).type, lead, y);
}

/// One term of an equation: its letters; '.' stands for an axis of the ellipsis.
std::vector<int> letters(const HostCall& call, const std::string& term, std::size_t rank,
                         int dots) {
  std::vector<int> result;
  const std::size_t ellipsis = term.find("...");
  std::size_t named = 0;
  for (const char c : term) named += std::isalpha(static_cast<unsigned char>(c)) != 0 ? 1 : 0;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (i == ellipsis) {
      const int count =
          rank == std::string::npos ? dots : static_cast<int>(rank - std::min(rank, named));
      for (int k = count; k > 0; --k) result.push_back(-k);
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
      result.push_back(term[i]);
    } else {
      call.fail("'{}' is no term of an equation", term);
    }
  }
  if (rank != std::string::npos && result.size() != rank)
    call.fail("'{}' for an array of {} axes", term, rank);
  return result;
}

void einsum(HostCall& call) {
  std::string equation = call.string("equation", "");
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const std::size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  std::vector<std::vector<int>> terms;
  std::map<int, std::int64_t> extents;
  std::map<int, int> uses;
  std::size_t start = 0;
  int dots = 0;
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    const std::size_t end = std::min(left.find(',', start), left.size());
    if (start > left.size()) call.fail("'{}' has too few terms", equation);
    terms.push_back(letters(call, left.substr(start, end - start), call.shape(i).size(), 0));
    start = end + 1;
    for (std::size_t k = 0; k < terms[i].size(); ++k) {
      const int c = terms[i][k];
      dots = std::max(dots, -c);
      ++uses[c];
      std::int64_t& extent = extents.emplace(c, 1).first->second;
      if (extent != 1 && call.shape(i)[k] != 1 && extent != call.shape(i)[k])
        call.fail("extents of '{}' differ", equation);
      extent = std::max(extent, call.shape(i)[k]);
    }
  }
  std::vector<int> result;
  if (arrow != std::string::npos) {
    result = letters(call, equation.substr(arrow + 2), std::string::npos, dots);
  } else {
    for (const auto& [c, count] : uses) {
      if (c < 0 || count == 1) result.push_back(c);
    }
  }
  Shape all, to;
  std::map<int, std::size_t> place;
  for (const int c : result) {
    if (!extents.contains(c) || !place.emplace(c, all.size()).second)
      call.fail("'{}' is no equation", equation);
    all.push_back(extents[c]);
  }
  to = all;
  for (const auto& [c, extent] : extents) {
    if (place.emplace(c, all.size()).second) all.push_back(extent);
  }
  static_cast<void>(call.room(all));
  std::vector<std::vector<double>> x;
  std::vector<Shape> steps;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    x.push_back(reals(call.at(i)));
    const Shape own = row_major_steps(call.shape(i));
    steps.emplace_back(all.size(), 0);
    for (std::size_t k = 0; k < terms[i].size(); ++k) {
      if (call.shape(i)[k] != 1) steps[i][place[terms[i][k]]] += own[k];
    }
  }
  std::vector<double> y(call.room(to), 0.0);
  Shape out = row_major_steps(to);
  out.resize(all.size(), 0);
  for_each_index(all, [&](const Shape& index) {
    double product = 1.0;
    for (std::size_t i = 0; i < x.size(); ++i) product *= x[i][offset(index, steps[i])];
    y[offset(index, out)] += product;
  });
  call.give(call.at(0).type, to, y);
}

}  // namespace

std::vector<double> multiplied(const HostCall& call, const std::vector<double>& a, Shape a_shape,
                               const std::vector<double>& b, Shape b_shape, Shape& to) {
  const bool row = a_shape.size() == 1;
  const bool column = b_shape.size() == 1;
  if (row) a_shape.insert(a_shape.begin(), 1);
  if (column) b_shape.push_back(1);
  if (a_shape.size() < 2 || b_shape.size() < 2) call.fail("scalars have no matrix product");
  const Shape a_lead(a_shape.begin(), a_shape.end() - 2),
      b_lead(b_shape.begin(), b_shape.end() - 2);
  const std::optional<Shape> lead = broadcast_shape(a_lead, b_lead);
  const std::int64_t m = a_shape[a_shape.size() - 2], k = a_shape.back(), n = b_shape.back();
  if (!lead || b_shape[b_shape.size() - 2] != k)
    call.fail("{} by {}", text(a_shape), text(b_shape));
  Shape full = *lead;
  full.push_back(m);
  full.push_back(n);
  std::vector<double> y(call.room(full), 0.0);
  const Shape a_steps = broadcast_steps(a_lead, *lead), b_steps = broadcast_steps(b_lead, *lead);
  std::size_t at = 0;
  for_each_index(*lead, [&](const Shape& index) {
    const std::size_t from_a = offset(index, a_steps) * static_cast<std::size_t>(m * k);
    const std::size_t from_b = offset(index, b_steps) * static_cast<std::size_t>(k * n);
    for (std::int64_t i = 0; i < m; ++i, at += static_cast<std::size_t>(n)) {
      for (std::int64_t j = 0; j < k; ++j) {
        const double factor = a[from_a + static_cast<std::size_t>(i * k + j)];
        const double* line = &b[from_b + static_cast<std::size_t>(j * n)];
        for (std::int64_t c = 0; c < n; ++c)
          y[at + static_cast<std::size_t>(c)] += factor * line[c];
      }
    }
  });
  to = full;
  if (column) to.pop_back();
  if (row) to.erase(to.end() - (column ? 1 : 2));
  return y;
}

void add_host_products(HostTable& t) {
  t["MatMul"] = {matmul, {}};
  t["Gemm"] = {gemm, {}};
  t["Det"] = {det, {}};
  t["Einsum"] = {einsum, {}};
}

}  // namespace steppe::graph
