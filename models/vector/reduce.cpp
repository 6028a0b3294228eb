// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "models/vector/elements.h"
#include "models/vector/vector_kernels.h"

namespace steppe::vector_kernels {
namespace {

enum Function : std::uint32_t {
  sum,
  mean,
  largest,
  smallest,
  product,
  squares,
  root,
  argmax,
  argmin
};

/// The exact sum of an int8 row, or of its squares, as fp32.
float integer_sum(const isa::Reduce& op, const std::uint8_t* row) {
  std::int64_t total = 0;
  const bool squared = op.function >= squares;
  for (std::uint32_t i = 0; i < op.elements; ++i) {
    const std::int32_t d = read_as<std::int8_t>(row + std::int64_t{i} * op.in_step) - op.in_zero;
    total += squared ? d * d : d;
  }
  const auto value = static_cast<float>(total);
  return squared ? (value * op.in_scale) * op.in_scale : value;
}

/// What one row has come to so far.
struct Running {
  float value = 0;
  std::uint32_t index = 0;
};

void take(std::uint32_t function, Running& running, float x, std::uint32_t i) {
  switch (function) {
    case sum:
    case mean:
      running.value = running.value + x;
      return;
    case product:
      running.value = running.value * x;
      return;
    case squares:
    case root:
      running.value = running.value + x * x;
      return;
    case largest:
    case argmax:
      if (running.value < x) running = {x, i};
      return;
    default:
      if (x < running.value) running = {x, i};
  }
}

Running number_of(const isa::Reduce& op, const std::uint8_t* row) {
  Running running;
  Chunk values;
  in_chunks(op.elements, [&](std::uint32_t first, std::uint32_t count) {
    load(source_of(op), row + std::int64_t{first} * op.in_step, op.in_step, count, values.data());
    std::uint32_t i = 0;
    if (first == 0) {
      running.value =
          op.function == squares || op.function == root ? values[0] * values[0] : values[0];
      i = 1;
    }
    for (; i < count; ++i) take(op.function, running, values[i], first + i);
  });
  return running;
}

}  // namespace

void run(const isa::Reduce& op, const std::uint8_t* in, std::uint8_t* out) {
  const bool exact = op.in_type == int8 && (op.function == sum || op.function == mean ||
                                            op.function == squares || op.function == root);
  const auto n = static_cast<float>(op.elements);
  for (std::uint32_t group = 0; group < op.outer; ++group) {
    for (std::uint32_t r = 0; r < op.rows; ++r) {
      const std::uint8_t* row =
          in + std::int64_t{group} * op.in_outer + std::int64_t{r} * op.in_pitch;
      std::uint8_t* to = out + std::int64_t{group} * op.out_outer + std::int64_t{r} * op.out_pitch;
      const Running running = exact ? Running{integer_sum(op, row), 0} : number_of(op, row);
      if (op.function >= argmax) {
        write_as(to, static_cast<std::int32_t>(running.index));
        continue;
      }
      float value = running.value;
      if (op.function == mean) value = value / n;
      if (exact && op.function <= mean) value = value * op.in_scale;
      if (op.function == root) value = std::sqrt(value);
      store(target_of(op), &value, 1, to, 0);
    }
  }
}

}  // namespace steppe::vector_kernels
