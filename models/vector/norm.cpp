// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "models/vector/elements.h"
#include "models/vector/vector_kernels.h"

namespace steppe::vector_kernels {
namespace {

/// The two numbers that a row's elements are normalised by: v = (x - mean) [* scale] * reciprocal.
struct Row {
  float mean = 0;
  float reciprocal = 1;
};

class Normaliser {
 public:
  explicit Normaliser(const isa::Norm& op)
      : op_(op), count_(static_cast<float>(std::uint64_t{op.outer} * op.inner)) {}

  Row measure(const std::uint8_t* row) const {
    return op_.in_type == int8 ? measure_integers(row) : measure_numbers(row);
  }

 private:
  Row measure_integers(const std::uint8_t* row) const {
    const auto n = std::int64_t{op_.outer} * op_.inner;
    std::int64_t sum = 0;
    std::int64_t squares = 0;
    for (std::uint32_t o = 0; o < op_.outer; ++o) {
      const std::uint8_t* piece = row + std::size_t{o} * op_.in_outer;
      for (std::uint32_t i = 0; i < op_.inner; ++i) {
        const std::int64_t d = read_as<std::int8_t>(piece + i) - op_.in_zero;
        sum += d;
        squares += d * d;
      }
    }
    const bool rms = op_.kind != 0;
    const float mean = rms ? 0.0F : static_cast<float>(sum) / count_;
    const float spread = rms ? static_cast<float>(squares) / count_
                             : static_cast<float>(n * squares - sum * sum) / (count_ * count_);
    return {mean, 1.0F / std::sqrt((spread * op_.in_scale) * op_.in_scale + op_.epsilon)};
  }

  Row measure_numbers(const std::uint8_t* row) const {
    float mean = 0;
    if (op_.kind == 0) {
      float sum = 0;
      each(row, [&](float x) { sum = sum + x; });
      mean = sum / count_;
    }
    float squares = 0;
    if (op_.kind == 0) {
      each(row, [&](float x) { squares = squares + (x - mean) * (x - mean); });
    } else {
      each(row, [&](float x) { squares = squares + x * x; });
    }
    return {mean, 1.0F / std::sqrt(squares / count_ + op_.epsilon)};
  }

  template <typename Body>
  void each(const std::uint8_t* row, Body body) const {
    const std::uint32_t bytes = item_bytes(op_.in_type);
    Chunk values;
    for (std::uint32_t o = 0; o < op_.outer; ++o) {
      in_chunks(op_.inner, [&](std::uint32_t first, std::uint32_t count) {
        load(source_of(op_), row + std::size_t{o} * op_.in_outer + std::size_t{first} * bytes,
             bytes, count, values.data());
        for (std::uint32_t i = 0; i < count; ++i) body(values[i]);
      });
    }
  }

  const isa::Norm& op_;
  float count_;
};

void normalise(const isa::Norm& op, const Row& by, const std::uint8_t* from,
               const std::uint8_t* affine, std::uint8_t* to) {
  const std::uint32_t in_bytes = item_bytes(op.in_type);
  const std::uint32_t out_bytes = item_bytes(op.out_type);
  // int8 elements without their scale, which follows the difference.
  const bool integers = op.in_type == int8;
  const Source source{op.in_type, op.in_zero, integers ? 1.0F : op.in_scale};
  const Source number{.type = fp32};
  const bool centred = op.kind == 0;
  Chunk values;
  Chunk parts;
  in_chunks(op.inner, [&](std::uint32_t first, std::uint32_t count) {
    load(source, from + std::size_t{first} * in_bytes, in_bytes, count, values.data());
    if (centred) {
      for (std::uint32_t i = 0; i < count; ++i) values[i] = values[i] - by.mean;
    }
    if (integers) {
      for (std::uint32_t i = 0; i < count; ++i) values[i] = values[i] * op.in_scale;
    }
    for (std::uint32_t i = 0; i < count; ++i) values[i] = values[i] * by.reciprocal;
    if (op.gains >= 1) {
      load(number, affine + std::size_t{first} * 4, 4, count, parts.data());
      for (std::uint32_t i = 0; i < count; ++i) values[i] = values[i] * parts[i];
    }
    if (op.gains == 2) {
      load(number, affine + (std::size_t{op.inner} + first) * 4, 4, count, parts.data());
      for (std::uint32_t i = 0; i < count; ++i) values[i] = values[i] + parts[i];
    }
    store(target_of(op), values.data(), count, to + std::size_t{first} * out_bytes, out_bytes);
  });
}

}  // namespace

void run(const isa::Norm& op, const std::uint8_t* in, const std::uint8_t* affine,
         std::uint8_t* out) {
  const Normaliser normaliser(op);
  for (std::uint32_t row = 0; row < op.rows; ++row) {
    const std::uint8_t* from = in + std::size_t{row} * op.in_pitch;
    std::uint8_t* to = out + std::size_t{row} * op.out_pitch;
    const std::uint8_t* gains =
        op.gains == 0 ? nullptr : affine + std::size_t{row % op.affine_period} * op.affine_pitch;
    const Row by = normaliser.measure(from);
    for (std::uint32_t o = 0; o < op.outer; ++o) {
      normalise(op, by, from + std::size_t{o} * op.in_outer, gains,
                to + std::size_t{o} * op.out_outer);
    }
  }
}

}  // namespace steppe::vector_kernels
