// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/tensor/tensor_unit.h"
#include "tests/models/tensor/conv_case.h"
#include "tests/support/unit_bench.h"

namespace steppe::test {

struct TensorBench : UnitBench<TensorUnit> {
  explicit TensorBench(Mode mode = Mode::functional) : UnitBench("tensor", mode) {}
};

/// The Conv with all its operands relative to base register 1.
inline isa::Conv in_slice(isa::Conv conv) {
  conv.in_base = conv.weights_base = conv.scales_base = conv.out_base = conv.residual_base =
      conv.lut_base = conv.partial_base = 1;
  return conv;
}

}  // namespace steppe::test
