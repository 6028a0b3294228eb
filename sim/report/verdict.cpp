// SPDX-License-Identifier: Apache-2.0
#include "sim/report/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "models/base/error.h"

namespace steppe::sim {
namespace {

/// "[3, 7]": the index of an element on each axis.
std::string format_index(std::size_t element, const std::vector<std::uint64_t>& dims) {
  std::vector<std::uint64_t> index(dims.size());
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    index[axis] = element % dims[axis];
    element /= dims[axis];
  }
  return npy::format_dims(index);
}

}  // namespace

Verdict compare(const std::string& name, const npy::Array& expected, const npy::Array& got) {
  if (expected.dims != got.dims) {
    return {name, false,
            fmt::format("expected shape {}, got {}", npy::format_dims(expected.dims),
                        npy::format_dims(got.dims))};
  }
  std::size_t differing = 0;
  std::size_t first = 0;
  for (std::size_t i = got.values.size(); i-- > 0;) {
    if (std::bit_cast<std::uint32_t>(expected.values[i]) ==
        std::bit_cast<std::uint32_t>(got.values[i])) {
      continue;
    }
    ++differing;
    first = i;
  }
  if (differing == 0) {
    return {name, true, fmt::format("{} elements equal bit for bit", got.values.size())};
  }
  return {name, false,
          fmt::format("{} of {} elements differ, the first at {}: expected {}, got {}", differing,
                      got.values.size(), format_index(first, got.dims), expected.values[first],
                      got.values[first])};
}

double top1_accuracy(const npy::Array& outputs, const npy::Array& labels,
                     const std::string& labels_file) {
  const std::uint64_t samples = outputs.dims.at(0);
  if (labels.values.size() != samples) {
    throw ConfigError("{}: {} labels for {} samples", labels_file, labels.values.size(), samples);
  }
  const std::size_t classes = outputs.values.size() / samples;
  std::size_t right = 0;
  for (std::size_t sample = 0; sample < samples; ++sample) {
    const auto begin = outputs.values.begin() + static_cast<std::ptrdiff_t>(sample * classes);
    const auto best = std::max_element(begin, begin + static_cast<std::ptrdiff_t>(classes)) - begin;
    if (static_cast<float>(best) == labels.values[sample]) ++right;
  }
  return static_cast<double>(right) / static_cast<double>(samples);
}

}  // namespace steppe::sim
