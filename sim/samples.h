// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "workloads/npy/npy.h"
#include "workloads/package/package.h"

namespace steppe::sim {

/// Inputs of any number of runs, by port, as the user gave them or drawn from a seed.
struct Samples {
  std::uint64_t runs = 1;
  std::uint64_t samples = 1;  ///< the last run may be filled up
  bool drawn = false;
  std::vector<std::vector<float>> inputs;  ///< by port: elements of all runs

  /// One port's array of one run, in the user's axis order.
  [[nodiscard]] std::span<const float> input(std::size_t port, std::uint64_t run,
                                             std::size_t elements) const {
    return std::span(inputs[port]).subspan(run * elements, elements);
  }
};

/// Name and axis lengths of an input, from a package or a model.
struct InputShape {
  std::string name;
  std::vector<std::uint64_t> dims;
};

/// Reads the arrays of `files` (name to .npy): one for each input, of its shape or with a longer
/// first axis; ports without a file are drawn (normal, from `seed`), `samples` of them where no
/// port has a file. `batch` samples make a run. Throws ConfigError for unknown names and wrong
/// shapes.
Samples load_samples(const std::vector<InputShape>& inputs,
                     const std::map<std::string, std::string>& files, std::uint32_t batch,
                     std::uint64_t samples, std::uint64_t seed);

/// The card's elements of a port from the user's fp32 array, and back; `card` has port.bytes.
void to_card(const package::Port& port, std::span<const float> user, std::uint8_t* card);
void from_card(const package::Port& port, const std::uint8_t* card, std::span<float> user);

}  // namespace steppe::sim
