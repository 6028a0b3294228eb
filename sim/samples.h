// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "workloads/npy/npy.h"
#include "workloads/operators/tensor.h"
#include "workloads/package/package.h"

namespace steppe::sim {

/// Inputs of any number of runs, by port, as the user gave them or drawn from a seed.
struct Samples {
  std::uint64_t runs = 1;
  std::uint64_t samples = 1;  ///< the last run may be filled up
  bool drawn = false;
  std::vector<graph::Tensor> inputs;  ///< by port: of one run's shape, elements of all runs

  /// One port's array of one run, in the user's axis order.
  [[nodiscard]] graph::Tensor input(std::size_t port, std::uint64_t run) const;
};

/// Name, axis lengths and type of an input or output, from a package or a model.
struct Signature {
  std::string name;
  std::vector<std::uint64_t> dims;
  graph::DataType type = graph::DataType::fp32;
};
Signature signature_of(const graph::Value& value);
Signature signature_of(const package::Port& port);

/// Reads the arrays of `files` (name to .npy): one for each input, of its shape or with a longer
/// first axis; ports without a file are drawn from `seed` (normal; integers and booleans 0 or 1),
/// `samples` of them where no port has a file. `batch` samples make a run. Throws ConfigError for
/// unknown names, wrong shapes and real numbers where integers are due.
Samples load_samples(const std::vector<Signature>& inputs,
                     const std::map<std::string, std::string>& files, std::uint32_t batch,
                     std::uint64_t samples, std::uint64_t seed);

/// The elements of a file as an array of a model's type. Throws ConfigError naming `file` where
/// they are real numbers and the model wants integers, or do not fit its type.
graph::Tensor tensor_of(const npy::Array& array, graph::DataType type, const std::string& file);
/// Of a file's elements in a model.
graph::DataType type_of(npy::Type type);
/// The file's type is the array's, fp32 for other real numbers.
npy::Array array_of(const graph::Tensor& tensor);

/// Appends one run's array along the first axis; `all` is without elements before the first.
void append_run(npy::Array run, npy::Array& all);

/// The elements of an fp32, integer or boolean array as fp32.
std::vector<float> as_floats(const graph::Tensor& tensor);

/// The card's elements of a port from the user's array, and back; `card` has port.bytes.
void to_card(const package::Port& port, const graph::Tensor& user, std::uint8_t* card);
graph::Tensor from_card(const package::Port& port, const std::uint8_t* card);

}  // namespace steppe::sim
