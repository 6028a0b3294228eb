// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "models/isa/isa.h"

namespace steppe::test {

using Random = std::mt19937;

/// A number from low to high, both included.
inline std::uint32_t draw(Random& random, std::uint32_t low, std::uint32_t high) {
  return low + static_cast<std::uint32_t>(random() % (high - low + 1));
}

/// A vector instruction and the memory that its operands lie in. All addresses are relative to base
/// register 1, which stands for the memory's start.
struct VectorCase {
  isa::Operation operation;
  std::vector<std::uint8_t> memory;
};

/// Small instructions with every field drawn.
VectorCase random_map(Random& random);
VectorCase random_lut(Random& random);
VectorCase random_pool(Random& random);
VectorCase random_softmax(Random& random);
VectorCase random_norm(Random& random);
VectorCase random_permute(Random& random);
VectorCase random_reduce(Random& random);
VectorCase random_resize(Random& random);
VectorCase random_gather(Random& random);
VectorCase random_scatter(Random& random);
VectorCase random_topk(Random& random);
/// One of the above.
VectorCase random_vector_case(Random& random);

/// The memory after the instruction, computed from models/numerics/README.md one element at a time.
std::vector<std::uint8_t> reference(const VectorCase& vector_case);

}  // namespace steppe::test
