// SPDX-License-Identifier: Apache-2.0
#include "sim/samples.h"

#include <algorithm>
#include <array>
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

void check_names(const std::vector<Signature>& inputs,
                 const std::map<std::string, std::string>& files) {
  std::vector<std::string> names;
  names.reserve(inputs.size());
  for (const Signature& input : inputs) names.push_back(input.name);
  for (const auto& [name, file] : files) {
    if (std::ranges::find(names, name) != names.end()) continue;
    throw ConfigError("{}={}: there is no input '{}'; the inputs are {}", name, file, name,
                      fmt::join(names, ", "));
  }
}

std::uint64_t product(std::span<const std::uint64_t> dims) {
  std::uint64_t elements = 1;
  for (const std::uint64_t extent : dims) elements *= extent;
  return elements;
}

std::vector<std::int64_t> shape_of(const std::vector<std::uint64_t>& dims) {
  return {dims.begin(), dims.end()};
}

/// The elements of an array, whichever list they are in.
template <typename Visit>
void visit_elements(graph::Tensor& tensor, Visit visit) {
  if (tensor.type == graph::DataType::fp64) return visit(tensor.fp64);
  if (graph::is_real(tensor.type)) return visit(tensor.fp32);
  visit(tensor.int64);
}

/// What a file holds of one input, and for how many runs and samples.
struct Loaded {
  graph::Tensor tensor;
  std::uint64_t runs = 1;
  std::uint64_t first_axis = 1;
};

Loaded read_input(const Signature& input, const std::string& file) {
  const npy::Array array = npy::read(file);
  const std::vector<std::uint64_t>& dims = input.dims;
  const bool longer = array.shape.size() == dims.size() && !dims.empty() && array.shape[0] != 0 &&
                      dims[0] != 0 &&
                      std::equal(array.shape.begin() + 1, array.shape.end(), dims.begin() + 1);
  if (!longer && array.shape != dims) {
    throw ConfigError(
        "{}: the shape {} does not fit input '{}', which takes {} (the first axis may be longer)",
        file, npy::text(array.shape), input.name, npy::text(dims));
  }
  Loaded loaded{.tensor = tensor_of(array, input.type, file)};
  if (longer) {
    loaded.first_axis = array.shape[0];
    loaded.runs = ceil_div(array.shape[0], dims[0]);
  }
  loaded.tensor.shape = shape_of(dims);
  visit_elements(loaded.tensor,
                 [&](auto& elements) { elements.resize(loaded.runs * product(dims)); });
  return loaded;
}

/// Normally distributed, the same on every machine: sums of twelve uniform numbers. Integers and
/// booleans are 0 or 1, which every model takes as an index.
graph::Tensor draw(const Signature& input, std::uint64_t runs, std::mt19937_64& random) {
  graph::Tensor tensor = graph::zeros(input.type, shape_of(input.dims));
  visit_elements(tensor, [&](auto& elements) {
    using T = typename std::decay_t<decltype(elements)>::value_type;
    elements.resize(runs * product(input.dims));
    for (T& element : elements) {
      if constexpr (std::is_integral_v<T>) {
        element = static_cast<T>(random() >> 63);
      } else {
        double sum = -6.0;
        for (int i = 0; i < 12; ++i) sum += static_cast<double>(random() >> 11) * 0x1p-53;
        element = static_cast<T>(sum);
      }
    }
  });
  return tensor;
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

Signature signature_of(const graph::Value& value) {
  return {value.name, {value.shape.begin(), value.shape.end()}, value.type};
}

Signature signature_of(const package::Port& port) {
  constexpr std::array types{graph::DataType::fp32, graph::DataType::boolean,
                             graph::DataType::int32, graph::DataType::int64};
  return {port.name, port.dims, types.at(static_cast<std::size_t>(port.user))};
}

graph::Tensor Samples::input(std::size_t port, std::uint64_t run) const {
  const graph::Tensor& all = inputs[port];
  graph::Tensor one{.type = all.type, .shape = all.shape};
  const std::size_t elements = all.size();  // of one run, by the shape
  const auto take = [&](const auto& from, auto& to) {
    if (from.empty()) return;
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(run * elements);
    to.assign(begin, begin + static_cast<std::ptrdiff_t>(elements));
  };
  take(all.fp32, one.fp32);
  take(all.fp64, one.fp64);
  take(all.int64, one.int64);
  return one;
}

graph::Tensor tensor_of(const npy::Array& array, graph::DataType type, const std::string& file) {
  if (graph::is_real(type)) {
    const std::vector<float> reals = array.as_reals();
    return graph::make_tensor(type, shape_of(array.shape),
                              std::vector<double>(reals.begin(), reals.end()));
  }
  if (npy::is_real(array.type)) {
    throw ConfigError("{}: it holds real numbers, {} is wanted", file, graph::text(type));
  }
  for (const std::int64_t x : array.integers) {
    if (graph::wrapped(type, x) == x) continue;
    throw ConfigError("{}: {} is no {}", file, x, graph::text(type));
  }
  return graph::make_tensor(type, shape_of(array.shape), array.integers);
}

namespace {

constexpr std::array types{std::pair{graph::DataType::fp32, npy::Type::fp32},
                           std::pair{graph::DataType::fp32, npy::Type::fp64},
                           std::pair{graph::DataType::fp32, npy::Type::fp16},
                           std::pair{graph::DataType::int64, npy::Type::int64},
                           std::pair{graph::DataType::boolean, npy::Type::boolean},
                           std::pair{graph::DataType::int8, npy::Type::int8},
                           std::pair{graph::DataType::int16, npy::Type::int16},
                           std::pair{graph::DataType::int32, npy::Type::int32},
                           std::pair{graph::DataType::uint8, npy::Type::uint8},
                           std::pair{graph::DataType::uint16, npy::Type::uint16},
                           std::pair{graph::DataType::uint32, npy::Type::uint32},
                           std::pair{graph::DataType::uint64, npy::Type::uint64}};

}  // namespace

graph::DataType type_of(npy::Type type) {
  return std::ranges::find(types, type, [](const auto& pair) { return pair.second; })->first;
}

npy::Array array_of(const graph::Tensor& tensor) {
  npy::Array array;
  array.shape.assign(tensor.shape.begin(), tensor.shape.end());
  if (!graph::is_real(tensor.type)) {
    array.type =
        std::ranges::find(types, tensor.type, [](const auto& pair) { return pair.first; })->second;
    array.integers = tensor.int64;
  } else if (tensor.type == graph::DataType::fp64) {
    for (const double x : tensor.fp64) {
      array.reals.push_back(static_cast<float>(x));
      if (std::isfinite(x) && !std::isfinite(array.reals.back())) {
        throw ConfigError("{} is too large for fp32, which files are written in", x);
      }
    }
  } else {
    array.reals = tensor.fp32;
  }
  return array;
}

Samples load_samples(const std::vector<Signature>& inputs,
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
    Loaded these = read_input(inputs[i], file->second);
    if (runs && *runs != these.runs) {
      throw ConfigError("{}: it holds inputs for {} runs, another file for {}", file->second,
                        these.runs, *runs);
    }
    runs = these.runs;
    loaded.runs = these.runs;
    const bool batched = !inputs[i].dims.empty() && inputs[i].dims[0] == batch;
    loaded.samples = batched ? these.first_axis : these.runs * batch;
    loaded.inputs[i] = std::move(these.tensor);
  }
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (files.contains(inputs[i].name)) continue;
    loaded.drawn = true;
    loaded.inputs[i] = draw(inputs[i], loaded.runs, random);
  }
  return loaded;
}

void append_run(npy::Array run, npy::Array& all) {
  if (all.shape.empty() && all.reals.empty() && all.integers.empty()) {
    all = std::move(run);
    return;
  }
  if (all.shape.empty()) all.shape = {1};
  all.shape[0] += run.shape.empty() ? 1 : run.shape[0];
  all.reals.insert(all.reals.end(), run.reals.begin(), run.reals.end());
  all.integers.insert(all.integers.end(), run.integers.begin(), run.integers.end());
}

std::vector<float> as_floats(const graph::Tensor& tensor) {
  if (tensor.type == graph::DataType::fp32) return tensor.fp32;
  return {tensor.int64.begin(), tensor.int64.end()};
}

void to_card(const package::Port& port, const graph::Tensor& user, std::uint8_t* card) {
  const std::vector<float> reals = as_floats(user);
  std::vector<float> ordered(port.elements());
  for_each_element(port, [&](std::size_t to, std::size_t from) { ordered[to] = reals[from]; });
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

graph::Tensor from_card(const package::Port& port, const std::uint8_t* card) {
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
  const Signature signature = signature_of(port);
  graph::Tensor user = graph::zeros(signature.type, shape_of(signature.dims));
  for_each_element(port, [&](std::size_t from, std::size_t to) {
    if (user.type != graph::DataType::fp32) {
      user.int64[to] = std::llrint(ordered[from]);
    } else {
      user.fp32[to] = ordered[from];
    }
  });
  return user;
}

}  // namespace steppe::sim
