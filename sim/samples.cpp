// SPDX-License-Identifier: Apache-2.0
#include "sim/samples.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>

#include "models/base/config.h"
#include "models/base/error.h"
#include "models/numerics/bf16.h"
#include "models/numerics/numerics.h"

namespace steppe::sim {
namespace {

std::uint64_t elements_of(const std::vector<std::uint64_t>& dims) {
  std::uint64_t elements = 1;
  for (const std::uint64_t extent : dims) elements *= extent;
  return elements;
}

void check_names(const std::vector<InputShape>& inputs,
                 const std::map<std::string, std::string>& files) {
  std::vector<std::string> names;
  names.reserve(inputs.size());
  for (const InputShape& input : inputs) names.push_back(input.name);
  for (const auto& [name, file] : files) {
    if (std::ranges::find(names, name) != names.end()) continue;
    throw ConfigError("--input {}={}: there is no input '{}'; the inputs are {}", name, file, name,
                      fmt::join(names, ", "));
  }
}

npy::Array read_input(const InputShape& input, const std::string& file) {
  npy::Array array = npy::read(file);
  const bool fits = array.shape.size() == input.dims.size() && !array.shape.empty() &&
                    array.shape[0] != 0 &&
                    std::equal(array.shape.begin() + 1, array.shape.end(), input.dims.begin() + 1);
  if (!fits) {
    throw ConfigError(
        "{}: the shape {} does not fit input '{}', which takes {} (the first axis may be longer)",
        file, npy::text(array.shape), input.name, npy::text(input.dims));
  }
  return array;
}

/// Normally distributed, the same on every machine: sums of twelve uniform numbers.
std::vector<float> draw(std::uint64_t elements, std::mt19937_64& random) {
  std::vector<float> values(elements);
  for (float& value : values) {
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random() >> 11) * 0x1p-53;
    value = static_cast<float>(sum);
  }
  return values;
}

/// Calls visit(card index, user index) for all elements of a port.
template <typename Visit>
void for_each_element(const package::Port& port, Visit visit) {
  const std::size_t rank = port.dims.size();
  std::vector<std::size_t> user_stride(rank, 1);
  for (std::size_t axis = rank; axis-- > 1;) {
    user_stride[axis - 1] = user_stride[axis] * port.dims[axis];
  }
  std::vector<std::uint64_t> at(rank, 0);
  std::size_t user = 0;
  for (std::size_t card = 0; card < port.elements(); ++card) {
    visit(card, user);
    for (std::size_t axis = rank; axis-- > 0;) {
      const std::uint32_t user_axis = port.to_card[axis];
      user += user_stride[user_axis];
      if (++at[axis] < port.dims[user_axis]) break;
      user -= user_stride[user_axis] * port.dims[user_axis];
      at[axis] = 0;
    }
  }
}

}  // namespace

Samples load_samples(const std::vector<InputShape>& inputs,
                     const std::map<std::string, std::string>& files, std::uint32_t batch,
                     std::uint64_t samples, std::uint64_t seed) {
  check_names(inputs, files);
  Samples loaded;
  loaded.inputs.resize(inputs.size());
  std::optional<std::uint64_t> runs;
  loaded.samples = samples;
  loaded.runs = ceil_div<std::uint64_t>(samples, batch);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto file = files.find(inputs[i].name);
    if (file == files.end()) continue;
    npy::Array array = read_input(inputs[i], file->second);
    const std::uint64_t these = ceil_div(array.shape[0], inputs[i].dims[0]);
    if (runs && *runs != these) {
      throw ConfigError("{}: it holds inputs for {} runs, another file for {}", file->second, these,
                        *runs);
    }
    runs = these;
    loaded.runs = these;
    loaded.samples = inputs[i].dims[0] == batch ? array.shape[0] : these * batch;
    loaded.inputs[i] = array.as_reals();
    loaded.inputs[i].resize(these * elements_of(inputs[i].dims));
  }
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (files.contains(inputs[i].name)) continue;
    loaded.drawn = true;
    loaded.inputs[i] = draw(loaded.runs * elements_of(inputs[i].dims), random);
  }
  return loaded;
}

void to_card(const package::Port& port, std::span<const float> user, std::uint8_t* card) {
  std::vector<float> ordered(port.elements());
  for_each_element(port, [&](std::size_t to, std::size_t from) { ordered[to] = user[from]; });
  const auto put = [&](std::size_t at, auto item) {
    std::memcpy(card + at * sizeof item, &item, sizeof item);
  };
  switch (port.type) {
    case package::ElementType::int8:
      return numerics::quantise(ordered, port.scale, port.zero,
                                {reinterpret_cast<std::int8_t*>(card), port.bytes});
    case package::ElementType::fp32:
      std::memcpy(card, ordered.data(), port.bytes);
      return;
    case package::ElementType::bf16:
      for (std::size_t i = 0; i < ordered.size(); ++i) put(i, numerics::to_bf16(ordered[i]));
      return;
    case package::ElementType::int32:
      for (std::size_t i = 0; i < ordered.size(); ++i) {
        const double rounded = std::nearbyint(double{ordered[i]} / double{port.scale});
        put(i, static_cast<std::int32_t>(std::clamp(rounded, -2147483648.0, 2147483647.0)));
      }
      return;
  }
}

void from_card(const package::Port& port, const std::uint8_t* card, std::span<float> user) {
  std::vector<float> ordered(port.elements());
  const auto get = [&]<typename Item>(std::size_t at, Item item) {
    std::memcpy(&item, card + at * sizeof item, sizeof item);
    return item;
  };
  switch (port.type) {
    case package::ElementType::int8:
      numerics::dequantise({reinterpret_cast<const std::int8_t*>(card), port.bytes}, port.scale,
                           port.zero, ordered);
      break;
    case package::ElementType::fp32:
      std::memcpy(ordered.data(), card, port.bytes);
      break;
    case package::ElementType::bf16:
      for (std::size_t i = 0; i < ordered.size(); ++i) {
        ordered[i] = numerics::to_float(get(i, numerics::Bf16{}));
      }
      break;
    case package::ElementType::int32:
      for (std::size_t i = 0; i < ordered.size(); ++i) {
        ordered[i] = static_cast<float>(get(i, std::int32_t{})) * port.scale;
      }
      break;
  }
  for_each_element(port, [&](std::size_t from, std::size_t to) { user[to] = ordered[from]; });
}

}  // namespace steppe::sim
