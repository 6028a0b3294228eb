// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "workloads/operators/host.h"

/// Normalisations and losses.
namespace steppe::graph {
namespace {

std::size_t product(const Shape& shape, std::size_t first, std::size_t last) {
  return static_cast<std::size_t>(std::accumulate(
      shape.begin() + static_cast<std::ptrdiff_t>(first),
      shape.begin() + static_cast<std::ptrdiff_t>(last), std::int64_t{1}, std::multiplies<>()));
}

struct Moments {
  double mean = 0.0, variance = 0.0;
};
Moments moments(const double* x, std::size_t count) {
  Moments m;
  for (std::size_t i = 0; i < count; ++i) m.mean += x[i];
  m.mean /= static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i) m.variance += (x[i] - m.mean) * (x[i] - m.mean);
  m.variance /= static_cast<double>(count);
  return m;
}

void layer_norm(HostCall& call) {
  const auto axis = static_cast<std::size_t>(call.axis(call.integer("axis", -1), call.rank(0)));
  const Shape& shape = call.shape(0);
  const std::size_t rows = product(shape, 0, axis);
  const std::size_t size = product(shape, axis, shape.size());
  std::vector<double> x = reals(call.at(0));
  const Shape tail(shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end());
  const auto operand = [&](std::size_t i, double absent) {
    return call.has(i) ? broadcast_to(call, reals(call.at(i)), call.shape(i), tail)
                       : std::vector<double>(size, absent);
  };
  const std::vector<double> gain = operand(1, 1.0);
  const std::vector<double> shift = operand(2, 0.0);
  const double epsilon = call.real("epsilon", 1e-5);
  std::vector<double> means, factors;
  for (std::size_t row = 0; row < rows; ++row) {
    const Moments m = moments(&x[row * size], size);
    means.push_back(m.mean);
    factors.push_back(1.0 / std::sqrt(m.variance + epsilon));
    for (std::size_t i = 0; i < size; ++i) {
      double& each = x[row * size + i];
      each = (each - m.mean) * factors.back() * gain[i] + shift[i];
    }
  }
  Shape reduced = shape;
  std::fill(reduced.begin() + static_cast<std::ptrdiff_t>(axis), reduced.end(), 1);
  call.give(call.at(0).type, shape, x);
  call.give(DataType::fp32, reduced, means);
  call.give(DataType::fp32, reduced, factors);
}

/// Each image's channels in `groups`, normalised, then scaled by channel.
void grouped_norm(HostCall& call, std::size_t groups) {
  const Shape& shape = call.shape(0);
  if (shape.size() < 2) call.fail("{} has no channels", text(shape));
  const auto channels = static_cast<std::size_t>(shape[1]);
  if (groups == 0 || channels % groups != 0)
    call.fail("{} groups of {} channels", groups, channels);
  std::vector<double> x = reals(call.at(0));
  const std::vector<double> gain = reals(call.at(1));
  const std::vector<double> shift = reals(call.at(2));
  if (gain.size() != channels || shift.size() != channels) call.fail("gain or shift do not fit");
  const std::size_t pixels = product(shape, 2, shape.size());
  const std::size_t size = channels / groups * pixels;
  for (std::size_t start = 0; start < x.size(); start += size) {
    const Moments m = moments(&x[start], size);
    const double factor = 1.0 / std::sqrt(m.variance + call.real("epsilon", 1e-5));
    for (std::size_t i = start; i < start + size; ++i) {
      const std::size_t channel = i / pixels % channels;
      x[i] = (x[i] - m.mean) * factor * gain[channel] + shift[channel];
    }
  }
  call.give(call.at(0).type, shape, x);
}

/// By the statistics given; in training mode by those of the batch, which are results too.
void batch_norm(HostCall& call) {
  const Shape& shape = call.shape(0);
  if (shape.size() < 2) call.fail("{} has no channels", text(shape));
  const auto channels = static_cast<std::size_t>(shape[1]);
  const std::size_t pixels = product(shape, 2, shape.size());
  std::vector<double> x = reals(call.at(0));
  std::vector<std::vector<double>> v;
  for (std::size_t i = 1; i < 5; ++i) {
    v.push_back(reals(call.at(i)));
    if (v.back().size() != channels) call.fail("operand {} does not fit {} channels", i, channels);
  }
  const bool training = call.integer("training_mode", 0) != 0;
  if (training || call.integer("spatial", 1) == 0) call.fail("training is not supported");
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i / pixels % channels;
    x[i] = (x[i] - v[2][c]) / std::sqrt(v[3][c] + call.real("epsilon", 1e-5)) * v[0][c] + v[1][c];
  }
  call.give(call.at(0).type, shape, x);
}

void mean_variance_norm(HostCall& call) {
  const Shape& shape = call.shape(0);
  Shape kept = shape;
  for (const std::int64_t axis : call.integers("axes", {0, 2, 3})) {
    kept[static_cast<std::size_t>(call.axis(axis, call.rank(0)))] = 1;
  }
  const Shape steps = broadcast_steps(kept, shape);
  std::vector<double> x = reals(call.at(0));
  std::vector<std::vector<double>> groups(call.room(kept));
  std::size_t i = 0;
  for_each_index(shape,
                 [&](const Shape& index) { groups[offset(index, steps)].push_back(x[i++]); });
  std::vector<Moments> m;
  m.reserve(groups.size());
  for (const auto& group : groups) m.push_back(moments(group.data(), group.size()));
  i = 0;
  for_each_index(shape, [&](const Shape& index) {
    const Moments& each = m[offset(index, steps)];
    x[i] = (x[i] - each.mean) / (std::sqrt(each.variance) + 1e-9);
    ++i;
  });
  call.give(call.at(0).type, shape, x);
}

/// x / (bias + alpha / size * sum of squares over `size` channels around) ^ beta
void local_response_norm(HostCall& call) {
  const Shape& shape = call.shape(0);
  if (shape.size() < 2) call.fail("{} has no channels", text(shape));
  const std::int64_t size = call.integer("size", 1);
  if (size < 1 || size > max_host_elements) call.fail("a size of {}", size);
  const double alpha = call.real("alpha", 1e-4) / static_cast<double>(size);
  const std::vector<double> x = reals(call.at(0));
  std::vector<double> y(x.size());
  const auto pixels = static_cast<std::int64_t>(product(shape, 2, shape.size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int64_t c = static_cast<std::int64_t>(i) / pixels % shape[1];
    const std::int64_t first = std::max<std::int64_t>(0, c - (size - 1) / 2);
    const std::int64_t last = std::min(shape[1] - 1, c + size / 2);
    double sum = 0.0;
    for (std::int64_t k = first; k <= last; ++k) {
      const double each =
          x[static_cast<std::size_t>(static_cast<std::int64_t>(i) + (k - c) * pixels)];
      sum += each * each;
    }
    y[i] = x[i] / std::pow(call.real("bias", 1.0) + alpha * sum, call.real("beta", 0.75));
  }
  call.give(call.at(0).type, shape, y);
}

void lp_norm(HostCall& call) {
  const auto axis = static_cast<std::size_t>(call.axis(call.integer("axis", -1), call.rank(0)));
  const std::int64_t p = call.integer("p", 2);
  if (p != 1 && p != 2) call.fail("p is {}; it may be 1 or 2", p);
  Shape kept = call.shape(0);
  kept[axis] = 1;
  const Shape steps = broadcast_steps(kept, call.shape(0));
  std::vector<double> x = reals(call.at(0));
  std::vector<double> norms(call.room(kept), 0.0);
  std::size_t i = 0;
  for_each_index(call.shape(0), [&](const Shape& index) {
    norms[offset(index, steps)] += p == 1 ? std::abs(x[i]) : x[i] * x[i];
    ++i;
  });
  i = 0;
  for_each_index(call.shape(0), [&](const Shape& index) {
    const double norm = norms[offset(index, steps)];
    x[i] /= p == 1 ? norm : std::sqrt(norm);
    ++i;
  });
  call.give(call.at(0).type, call.shape(0), x);
}

/// The loss of log-probabilities [N, C, d…] at the classes [N, d…], weighted and reduced.
void likelihood_loss(HostCall& call, const std::vector<double>& logs) {
  const Shape& shape = call.shape(0);
  if (shape.size() < 2) call.fail("{} has no classes", text(shape));
  const std::size_t pixels = product(shape, 2, shape.size());
  if (pixels == 0 || shape[1] == 0) call.fail("{} is empty", text(shape));
  const std::vector<std::int64_t> classes = integers(call.at(1));
  const std::vector<double> weights = call.has(2) ? reals(call.at(2)) : std::vector<double>();
  if (classes.size() * static_cast<std::size_t>(shape[1]) != logs.size())
    call.fail("classes {}", text(call.shape(1)));
  const bool ignores = call.given("ignore_index");
  const std::int64_t ignored = call.integer("ignore_index", 0);
  std::vector<double> losses;
  double total = 0.0;
  double weight_sum = 0.0;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const std::int64_t c = classes[i];
    const bool skip = ignores && c == ignored;
    if (!skip && (c < 0 || c >= shape[1])) call.fail("class {} of {}", c, shape[1]);
    const auto k = static_cast<std::size_t>(c);
    const std::size_t at =
        (i / pixels * static_cast<std::size_t>(shape[1]) + k) * pixels + i % pixels;
    const double weight = skip ? 0.0 : weights.empty() ? 1.0 : weights.at(k);
    losses.push_back(skip ? 0.0 : -logs[at] * weight);
    total += losses.back();
    weight_sum += weight;
  }
  const std::string how = call.string("reduction", "mean");
  if (how == "none") return call.give(call.at(0).type, call.shape(1), losses);
  const double result = how == "sum" ? total : total / weight_sum;
  call.give<double>(call.at(0).type, {}, {result});
}

void cross_entropy(HostCall& call) {
  const Shape& shape = call.shape(0);
  if (shape.size() < 2) call.fail("{} has no classes", text(shape));
  const std::size_t pixels = product(shape, 2, shape.size());
  const auto classes = static_cast<std::size_t>(shape[1]);
  std::vector<double> x = reals(call.at(0));
  for (std::size_t row = 0; classes > 0 && row < x.size() / classes; ++row) {
    const std::size_t start = row / pixels * classes * pixels + row % pixels;
    double top = x[start];
    for (std::size_t k = 1; k < classes; ++k) top = std::max(top, x[start + k * pixels]);
    double sum = 0.0;
    for (std::size_t k = 0; k < classes; ++k) sum += std::exp(x[start + k * pixels] - top);
    for (std::size_t k = 0; k < classes; ++k) x[start + k * pixels] -= top + std::log(sum);
  }
  likelihood_loss(call, x);
  call.give(call.at(0).type, shape, x);
}

}  // namespace

void add_host_norms(HostTable& t) {
  t["LayerNormalization"] = {layer_norm, {}};
  t["InstanceNormalization"] = {
      [](HostCall& call) {
        grouped_norm(call, call.rank(0) > 1 ? static_cast<std::size_t>(call.shape(0)[1]) : 0);
      },
      {}};
  t["GroupNormalization"] = {[](HostCall& call) {
                               grouped_norm(call, static_cast<std::size_t>(std::max<std::int64_t>(
                                                      0, call.integer("num_groups", 0))));
                             },
                             {}};
  t["BatchNormalization"] = {batch_norm, {}};
  t["MeanVarianceNormalization"] = {mean_variance_norm, {}};
  t["LRN"] = {local_response_norm, {}};
  t["LpNormalization"] = {lp_norm, {}};
  t["NegativeLogLikelihoodLoss"] = {
      [](HostCall& call) { likelihood_loss(call, reals(call.at(0))); }, {}};
  t["SoftmaxCrossEntropyLoss"] = {cross_entropy, {}};
}

}  // namespace steppe::graph
