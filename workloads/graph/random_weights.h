// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "workloads/graph/raw_model.h"

namespace steppe::graph {

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers on every platform.
class Random {
 public:
  /// A stream of its own for each name.
  Random(std::uint64_t seed, const std::string& name);
  double uniform();  ///< in (0, 1]
  float normal();    ///< Box and Muller's transform

 private:
  std::uint64_t state_;
};

/// `count` normal numbers with the deviation sqrt(2 / fan_in) of He et al. 2015.
std::vector<float> he_weights(Random& random, std::size_t count, double fan_in);

/// Makes initialisers of the constants that nodes hold, so that all weights are found in one place.
void hoist_constants(RawModel& model);

/// Replaces the weights of convolutions, products and normalisations: those with all elements
/// equal, or all.
void randomise(RawModel& model, std::uint64_t seed, bool all);

}  // namespace steppe::graph
