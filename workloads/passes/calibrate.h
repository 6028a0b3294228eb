// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "workloads/graph/graph.h"
#include "workloads/passes/uses.h"

namespace steppe::passes {

/// One set of inputs, by name.
using Sample = std::map<std::string, std::vector<float>>;

/// The values a tensor takes.
struct Range {
  float low = 0.0F;
  float high = 0.0F;

  /// The largest magnitude; 0 where nothing was seen.
  [[nodiscard]] float magnitude() const;
  void include(const Range& other);
};

/// Bounds of the finite elements. Where `masked` (what Softmax alone reads), elements of -1e3 and
/// below, infinite ones too, stand for "not this one": they count as 16 below the largest element,
/// where the exponential is 1e-7 of the largest, so that they do not coarsen all others.
Range range_of(std::span<const float> values, bool masked);

/// How a range follows from the elements seen. All but `minmax` clip both sides at one magnitude,
/// which they choose from a histogram of 2048 magnitudes.
struct RangeMethod {
  enum class Kind : std::uint8_t {
    minmax,      ///< all elements
    percentile,  ///< the share `percent` of the elements, by magnitude
    mse,         ///< the least mean squared error of symmetric int8
    entropy,     ///< the least Kullback-Leibler divergence of 128 levels from the histogram
                 ///< (Migacz, 8-bit Inference with TensorRT, GTC 2017)
  };
  Kind kind = Kind::minmax;
  double percent = 99.99;
};
/// "minmax", "percentile:99.9", "mse" or "entropy"; throws ConfigError for anything else.
RangeMethod parse_method(const std::string& text);

/// Magnitudes of elements that are not 0, counted in bins of equal width from 0 to `limit`. Zeros
/// are left out: any range holds them, and behind a ReLU they would outweigh all else.
struct Histogram {
  static constexpr std::size_t bins = 2048;
  explicit Histogram(float largest) : limit(largest), counts(bins) {}
  void add(float value);
  [[nodiscard]] double width() const { return double{limit} / bins; }

  float limit;
  std::vector<std::uint64_t> counts;
};
/// The magnitude at which the method clips.
float threshold(const Histogram& histogram, const RangeMethod& method);

/// Normally distributed inputs for every input of the graph; the same for the same seed everywhere.
Sample random_sample(const graph::Graph& graph, std::uint64_t seed);

/// The range of every value of the graph over the samples, by running it in fp32 (twice, but for
/// `minmax`). Throws ModelError for samples that do not fit the inputs.
std::vector<Range> calibrate(const graph::Graph& graph, const std::vector<Sample>& samples,
                             const RangeMethod& method = {});

}  // namespace steppe::passes
