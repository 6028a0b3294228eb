// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <limits>
#include <numeric>

#include "models/base/error.h"
#include "workloads/passes/calibrate.h"

using namespace steppe;
using namespace steppe::passes;

namespace {

/// Bins of width 1 from 0 to 2048.
Histogram whole_numbers() { return Histogram(2048.0F); }

void add(Histogram& histogram, float value, int times) {
  for (int i = 0; i < times; ++i) histogram.add(value);
}

}  // namespace

TEST_CASE("the names of the range methods") {
  CHECK(parse_method("minmax").kind == RangeMethod::Kind::minmax);
  CHECK(parse_method("mse").kind == RangeMethod::Kind::mse);
  CHECK(parse_method("entropy").kind == RangeMethod::Kind::entropy);
  CHECK(parse_method("percentile:99.5").percent == 99.5);
  for (const char* wrong : {"", "max", "percentile", "percentile:", "percentile:50",
                            "percentile:101", "percentile:nan", "MSE"}) {
    CHECK_THROWS_AS(parse_method(wrong), ConfigError);
  }
}

TEST_CASE("a histogram takes magnitudes, without zeros and what is not finite") {
  Histogram histogram(4.0F);
  for (const float value : {0.0F, -1.0F, 1.0F, 4.0F, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    histogram.add(value);
  }
  CHECK(histogram.counts[512] == 2);  // 1 / (4 / 2048)
  CHECK(histogram.counts[2047] == 1);
  CHECK(std::accumulate(histogram.counts.begin(), histogram.counts.end(), 0ULL) == 3);
}

TEST_CASE("percentile: the least bound that holds the share of the elements") {
  Histogram histogram = whole_numbers();
  add(histogram, 10.5F, 98);
  add(histogram, -20.5F, 1);
  add(histogram, 2047.5F, 1);
  const auto at = [&](double percent) {
    return threshold(histogram, {.kind = RangeMethod::Kind::percentile, .percent = percent});
  };
  CHECK(at(98) == 11.0F);
  CHECK(at(99) == 21.0F);
  CHECK(at(99.5) == 2048.0F);
  CHECK(threshold(histogram, {}) == 2048.0F);
}

TEST_CASE("mse: rounding of the many against clipping of the few") {
  // A million elements spread over [0, 128) and one at 2047.5. A bound c rounds to steps of c /
  // 127: the error is about 1e6 (c / 127)^2 / 12 + (2047.5 - c)^2, least at c = 2047.5 / (1 + 5.17)
  // = 332.
  Histogram histogram = whole_numbers();
  for (int bin = 0; bin < 128; ++bin) histogram.counts[static_cast<std::size_t>(bin)] = 7812;
  histogram.add(2047.5F);
  const float clip = threshold(histogram, {.kind = RangeMethod::Kind::mse});
  CHECK(clip > 332.0F * 0.75F);
  CHECK(clip < 332.0F * 1.25F);
  // With a thousand elements clipping costs more than rounding: least at 2047.5 / 1.00517 = 2037.
  for (int bin = 0; bin < 128; ++bin) histogram.counts[static_cast<std::size_t>(bin)] = 8;
  CHECK(threshold(histogram, {.kind = RangeMethod::Kind::mse}) >= 2000.0F);
}

TEST_CASE("entropy: an even distribution is kept whole, a far element is clipped") {
  Histogram histogram = whole_numbers();
  for (std::uint64_t& count : histogram.counts) count = 10;
  CHECK(threshold(histogram, {.kind = RangeMethod::Kind::entropy}) == 2048.0F);
  // Falling steeply within the first 300 bins, then one element: 128 levels over all 2048 bins
  // would merge 16 bins each.
  for (std::size_t i = 0; i < Histogram::bins; ++i) {
    histogram.counts[i] = i < 300 ? 1 + (300 - i) * (300 - i) * (300 - i) / 1000 : 0;
  }
  histogram.add(2047.5F);
  const float clip = threshold(histogram, {.kind = RangeMethod::Kind::entropy});
  CHECK(clip >= 128.0F);
  CHECK(clip <= 400.0F);
}
