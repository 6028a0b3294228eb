// SPDX-License-Identifier: Apache-2.0
// How the histogram of a value's magnitudes becomes a range.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "models/base/config.h"
#include "models/base/error.h"
#include "models/base/param.h"
#include "workloads/passes/calibrate.h"

namespace steppe::passes {
namespace {

constexpr std::size_t levels = 128;  ///< of a symmetric int8 magnitude

/// The number of leading bins that hold the share of the elements.
std::size_t bins_of_share(const Histogram& histogram, double share) {
  const auto total = std::accumulate(histogram.counts.begin(), histogram.counts.end(), 0.0);
  double seen = 0;
  for (std::size_t i = 0; i < Histogram::bins; ++i) {
    seen += static_cast<double>(histogram.counts[i]);
    if (seen >= share * total) return i + 1;
  }
  return Histogram::bins;
}

/// Squared error of all elements, each taken at its bin's middle, if they are clipped behind
/// `kept` bins and rounded to multiples of a 127th of that.
double squared_error(const Histogram& histogram, std::size_t kept) {
  const double clip = static_cast<double>(kept);  // in bins
  const double step = clip / 127.0;
  double error = 0;
  for (std::size_t i = 0; i < Histogram::bins; ++i) {
    if (histogram.counts[i] == 0) continue;
    const double x = static_cast<double>(i) + 0.5;
    const double q = std::min(std::nearbyint(x / step), 127.0) * step;
    error += static_cast<double>(histogram.counts[i]) * (x - q) * (x - q);
  }
  return error;
}

/// Divergence of the first `kept` bins, with everything behind them in the last, from the same
/// bins merged into 128 levels and spread again over those that are not empty.
double divergence(const Histogram& histogram, std::size_t kept) {
  std::vector<double> p(histogram.counts.begin(),
                        histogram.counts.begin() + static_cast<std::ptrdiff_t>(kept));
  std::vector<double> q(kept);
  for (std::size_t level = 0; level < levels; ++level) {
    const std::size_t begin = level * kept / levels;
    const std::size_t end = (level + 1) * kept / levels;
    double sum = 0;
    double filled = 0;
    for (std::size_t i = begin; i < end; ++i) {
      sum += p[i];
      filled += p[i] > 0 ? 1 : 0;
    }
    for (std::size_t i = begin; i < end; ++i) q[i] = p[i] > 0 ? sum / filled : 0;
  }
  p.back() += std::accumulate(histogram.counts.begin() + static_cast<std::ptrdiff_t>(kept),
                              histogram.counts.end(), 0.0);
  const double p_sum = std::accumulate(p.begin(), p.end(), 0.0);
  const double q_sum = std::accumulate(q.begin(), q.end(), 0.0);
  if (q_sum == 0) return std::numeric_limits<double>::infinity();
  double result = 0;
  for (std::size_t i = 0; i < kept; ++i) {
    if (p[i] == 0) continue;
    // What was clipped into an empty bin has no counterpart: as if it had a tiny one.
    const double other = std::max(q[i] / q_sum, 1e-9);
    result += p[i] / p_sum * std::log(p[i] / p_sum / other);
  }
  return result;
}

template <typename Cost>
std::size_t cheapest(std::size_t first, std::size_t step, Cost cost) {
  std::size_t best = Histogram::bins;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t kept = first; kept <= Histogram::bins; kept += step) {
    const double is = cost(kept);
    if (is < least) {
      least = is;
      best = kept;
    }
  }
  return best;
}

}  // namespace

RangeMethod parse_method(const std::string& text) {
  using Kind = RangeMethod::Kind;
  const std::string percentile = "percentile:";
  if (text == "minmax") return {};
  if (text == "mse") return {.kind = Kind::mse};
  if (text == "entropy") return {.kind = Kind::entropy};
  if (text.starts_with(percentile)) {
    const double percent = detail::parse_number(text.substr(percentile.size()), "", text);
    if (percent > 50 && percent <= 100) return {.kind = Kind::percentile, .percent = percent};
  }
  throw ConfigError(
      "range method '{}': there are minmax, percentile:P with P above 50 and at most 100, mse and "
      "entropy",
      text);
}

void Histogram::add(float value) {
  if (!std::isfinite(value) || value == 0.0F || limit == 0.0F) return;
  const auto bin = static_cast<std::size_t>(double{std::abs(value)} / width());
  ++counts[std::min(bin, bins - 1)];
}

float threshold(const Histogram& histogram, const RangeMethod& method) {
  std::size_t kept = Histogram::bins;
  switch (method.kind) {
    case RangeMethod::Kind::minmax:
      return histogram.limit;
    case RangeMethod::Kind::percentile:
      kept = bins_of_share(histogram, method.percent / 100);
      break;
    case RangeMethod::Kind::mse:
      kept = cheapest(levels, 16, [&](std::size_t n) { return squared_error(histogram, n); });
      break;
    case RangeMethod::Kind::entropy:
      kept = cheapest(levels, 16, [&](std::size_t n) { return divergence(histogram, n); });
      break;
  }
  return static_cast<float>(static_cast<double>(kept) * histogram.width());
}

}  // namespace steppe::passes
