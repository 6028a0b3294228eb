// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/graph/graph.h"
#include "workloads/graph/shape.h"

/// Arrays of any element type, as the host computes with them.
namespace steppe::graph {

/// One array, row major. The elements stand in `fp32` for fp32, fp16 and bf16 (rounded to the
/// type), in `fp64` for fp64, in `int64` for integers (wrapped to the type; uint64 as its bits)
/// and booleans (0 or 1).
struct Tensor {
  DataType type = DataType::fp32;
  Shape shape;
  std::vector<float> fp32;
  std::vector<double> fp64;
  std::vector<std::int64_t> int64;

  [[nodiscard]] std::size_t size() const;
};

[[nodiscard]] bool is_real(DataType type);
/// "int8"
[[nodiscard]] const char* text(DataType type);
/// The type with this number in onnx.TensorProto.DataType. Throws ModelError naming `what` for
/// strings and complex numbers.
[[nodiscard]] DataType type_of_onnx(std::int64_t number, const std::string& what);
[[nodiscard]] std::int64_t bits_of(DataType type);

/// x to the nearest number of the type, ties to even; of a type of real numbers.
[[nodiscard]] double rounded(DataType type, double x);
/// x modulo 2^bits, in the range of an integer type; 0 or 1 for booleans.
[[nodiscard]] std::int64_t wrapped(DataType type, std::int64_t x);

/// The elements as binary64; integers above 2^53 lose bits.
[[nodiscard]] std::vector<double> reals(const Tensor& tensor);
/// The elements as integers; real numbers lose their fraction.
[[nodiscard]] std::vector<std::int64_t> integers(const Tensor& tensor);

/// Rounds or wraps the elements to the type.
[[nodiscard]] Tensor make_tensor(DataType type, Shape shape, const std::vector<double>& elements);
[[nodiscard]] Tensor make_tensor(DataType type, Shape shape,
                                 const std::vector<std::int64_t>& elements);
[[nodiscard]] Tensor zeros(DataType type, Shape shape);

/// A constant whose elements are known, and back.
[[nodiscard]] Tensor tensor_of(const Value& value);
[[nodiscard]] Value value_of(Tensor tensor, const std::string& name);

}  // namespace steppe::graph
