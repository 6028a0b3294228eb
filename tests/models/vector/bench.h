// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "models/vector/vector_unit.h"
#include "tests/models/vector/vector_case.h"
#include "tests/support/unit_bench.h"

namespace steppe::test {

struct VectorBench : UnitBench<VectorUnit> {
  explicit VectorBench(Mode mode = Mode::functional) : UnitBench("vector", mode) {}
  void load(const VectorCase& c) { std::memcpy(memory(), c.memory.data(), c.memory.size()); }
};

}  // namespace steppe::test
