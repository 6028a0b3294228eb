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
  return npy::text(index);
}

}  // namespace

Verdict compare(const std::string& name, const npy::Array& expected, const npy::Array& got) {
  if (expected.type != got.type || expected.shape != got.shape) {
    return {name, false,
            fmt::format("expected shape {} ({}), got {} ({})", npy::text(expected.shape),
                        npy::name_of(expected.type), npy::text(got.shape), npy::name_of(got.type))};
  }
  const bool real = npy::is_real(got.type);
  const auto differs = [&](std::size_t i) {
    if (!real) return expected.integers[i] != got.integers[i];
    return std::bit_cast<std::uint32_t>(expected.reals[i]) !=
           std::bit_cast<std::uint32_t>(got.reals[i]);
  };
  const auto number = [&](const npy::Array& array, std::size_t i) {
    return real ? fmt::format("{}", array.reals[i]) : fmt::format("{}", array.integers[i]);
  };
  std::size_t differing = 0;
  std::size_t first = 0;
  for (std::size_t i = got.elements(); i-- > 0;) {
    if (!differs(i)) continue;
    ++differing;
    first = i;
  }
  if (differing == 0) {
    return {name, true, fmt::format("{} elements equal bit for bit", got.elements())};
  }
  return {name, false,
          fmt::format("{} of {} elements differ, the first at {}: expected {}, got {}", differing,
                      got.elements(), format_index(first, got.shape), number(expected, first),
                      number(got, first))};
}

npy::Array top1(const npy::Array& outputs) {
  if (!npy::is_real(outputs.type)) {  // answers already
    return {.type = npy::Type::int64, .shape = {outputs.elements()}, .integers = outputs.integers};
  }
  const std::uint64_t samples = outputs.shape.empty() ? 1 : outputs.shape.front();
  const std::size_t classes = outputs.reals.size() / std::max<std::uint64_t>(samples, 1);
  npy::Array result{.type = npy::Type::int64, .shape = {samples}};
  for (std::size_t sample = 0; sample < samples; ++sample) {
    const auto begin = outputs.reals.begin() + static_cast<std::ptrdiff_t>(sample * classes);
    result.integers.push_back(
        std::max_element(begin, begin + static_cast<std::ptrdiff_t>(classes)) - begin);
  }
  return result;
}

double top1_accuracy(const npy::Array& outputs, const npy::Array& labels,
                     const std::string& labels_file) {
  const npy::Array best = top1(outputs);
  const std::uint64_t samples = best.integers.size();
  const std::vector<float> expected = labels.as_reals();
  if (expected.size() != samples) {
    throw ConfigError("{}: {} labels for {} samples", labels_file, expected.size(), samples);
  }
  std::size_t right = 0;
  for (std::size_t sample = 0; sample < samples; ++sample) {
    if (static_cast<float>(best.integers[sample]) == expected[sample]) ++right;
  }
  return static_cast<double>(right) / static_cast<double>(samples);
}

}  // namespace steppe::sim
