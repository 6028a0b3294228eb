// SPDX-License-Identifier: Apache-2.0
#include "workloads/operators/tensor.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "models/base/error.h"

namespace steppe::graph {
namespace {

struct TypeFacts {
  DataType type;
  const char* name;
  std::int64_t onnx, bits;
};
constexpr std::array<TypeFacts, 13> facts{{{DataType::fp32, "fp32", 1, 32},
                                           {DataType::int64, "int64", 7, 64},
                                           {DataType::boolean, "boolean", 9, 1},
                                           {DataType::fp64, "fp64", 11, 64},
                                           {DataType::fp16, "fp16", 10, 16},
                                           {DataType::bf16, "bf16", 16, 16},
                                           {DataType::int8, "int8", 3, 8},
                                           {DataType::int16, "int16", 5, 16},
                                           {DataType::int32, "int32", 6, 32},
                                           {DataType::uint8, "uint8", 2, 8},
                                           {DataType::uint16, "uint16", 4, 16},
                                           {DataType::uint32, "uint32", 12, 32},
                                           {DataType::uint64, "uint64", 13, 64}}};

const TypeFacts& facts_of(DataType type) { return facts[static_cast<std::size_t>(type)]; }

double rounded_half(double x) {
  if (!std::isfinite(x)) return x;
  int exponent = 0;
  std::frexp(x, &exponent);
  const int unit = std::max(exponent - 11, -24);  // 11 significant bits, least subnormal 2^-24
  const double y = std::ldexp(std::nearbyint(std::ldexp(x, -unit)), unit);
  if (std::abs(y) > 65504.0) return std::copysign(std::numeric_limits<double>::infinity(), x);
  return y;
}

double rounded_bfloat(double x) {
  const auto narrow = static_cast<float>(x);
  if (std::isnan(narrow)) return x;
  const auto bits = std::bit_cast<std::uint32_t>(narrow);
  return double{std::bit_cast<float>((bits + 0x7fffU + ((bits >> 16U) & 1U)) & 0xffff0000U)};
}

std::int64_t truncated(double x) {
  if (std::isnan(x)) return 0;
  if (x >= 0x1p63)
    return x < 0x1p64 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(x)) : -1;
  return x < -0x1p63 ? std::numeric_limits<std::int64_t>::min() : static_cast<std::int64_t>(x);
}

}  // namespace

std::size_t Tensor::size() const {
  return static_cast<std::size_t>(checked_elements(shape, "an array"));
}

bool is_real(DataType type) {
  return type == DataType::fp32 || type == DataType::fp64 || type == DataType::fp16 ||
         type == DataType::bf16;
}

const char* text(DataType type) { return facts_of(type).name; }
std::int64_t bits_of(DataType type) { return facts_of(type).bits; }

DataType type_of_onnx(std::int64_t number, const std::string& what) {
  for (const TypeFacts& each : facts) {
    if (each.onnx == number) return each.type;
  }
  const char* kind = number == 8 ? " (strings)" : "";
  throw ModelError("{}: element type {}{} is not supported", what, number, kind);
}

double rounded(DataType type, double x) {
  switch (type) {
    case DataType::fp64:
      return x;
    case DataType::fp16:
      return rounded_half(x);
    case DataType::bf16:
      return rounded_bfloat(x);
    default:
      return double{static_cast<float>(x)};
  }
}

std::int64_t wrapped(DataType type, std::int64_t x) {
  if (type == DataType::boolean) return x != 0 ? 1 : 0;
  const std::int64_t bits = bits_of(type);
  if (bits == 64) return x;
  const bool is_signed =
      type == DataType::int8 || type == DataType::int16 || type == DataType::int32;
  const std::uint64_t high = static_cast<std::uint64_t>(x) << (64 - bits);
  return is_signed ? static_cast<std::int64_t>(high) >> (64 - bits)
                   : static_cast<std::int64_t>(high >> (64 - bits));
}

std::vector<double> reals(const Tensor& tensor) {
  if (tensor.type == DataType::fp64) return tensor.fp64;
  if (is_real(tensor.type)) return {tensor.fp32.begin(), tensor.fp32.end()};
  std::vector<double> result;
  result.reserve(tensor.int64.size());
  for (const std::int64_t x : tensor.int64) {
    result.push_back(tensor.type == DataType::uint64
                         ? static_cast<double>(static_cast<std::uint64_t>(x))
                         : static_cast<double>(x));
  }
  return result;
}

std::vector<std::int64_t> integers(const Tensor& tensor) {
  if (!is_real(tensor.type)) return tensor.int64;
  std::vector<std::int64_t> result;
  for (const double x : reals(tensor)) result.push_back(truncated(x));
  return result;
}

Tensor make_tensor(DataType type, Shape shape, const std::vector<double>& elements) {
  Tensor result{type, std::move(shape), {}, {}, {}};
  STEPPE_CHECK(elements.size() == result.size(), "{} of {}", elements.size(), text(result.shape));
  if (type == DataType::fp64) {
    result.fp64 = elements;
  } else if (is_real(type)) {
    result.fp32.reserve(elements.size());
    for (const double x : elements) result.fp32.push_back(static_cast<float>(rounded(type, x)));
  } else {
    for (const double x : elements) {
      result.int64.push_back(type == DataType::boolean ? std::int64_t{x != 0.0}
                                                       : wrapped(type, truncated(x)));
    }
  }
  return result;
}

Tensor make_tensor(DataType type, Shape shape, const std::vector<std::int64_t>& elements) {
  if (is_real(type)) {
    return make_tensor(type, std::move(shape),
                       std::vector<double>(elements.begin(), elements.end()));
  }
  Tensor result{type, std::move(shape), {}, {}, elements};
  STEPPE_CHECK(elements.size() == result.size(), "{} of {}", elements.size(), text(result.shape));
  for (std::int64_t& x : result.int64) x = wrapped(type, x);
  return result;
}

Tensor zeros(DataType type, Shape shape) {
  Tensor result{type, std::move(shape), {}, {}, {}};
  if (type == DataType::fp64) {
    result.fp64.resize(result.size());
  } else if (is_real(type)) {
    result.fp32.resize(result.size());
  } else {
    result.int64.resize(result.size());
  }
  return result;
}

Tensor tensor_of(const Value& value) {
  Tensor result{value.type, value.shape, {}, {}, {}};
  if (value.fp32) result.fp32 = *value.fp32;
  if (value.fp64) result.fp64 = *value.fp64;
  if (value.int64) result.int64 = *value.int64;
  return result;
}

Value value_of(Tensor tensor, const std::string& name) {
  Value value;
  value.name = name;
  value.type = tensor.type;
  value.shape = std::move(tensor.shape);
  value.constant = true;
  if (value.type == DataType::fp64) {
    value.fp64 = std::make_shared<const std::vector<double>>(std::move(tensor.fp64));
  } else if (is_real(value.type)) {
    value.fp32 = std::make_shared<const std::vector<float>>(std::move(tensor.fp32));
  } else {
    value.int64 = std::make_shared<const std::vector<std::int64_t>>(std::move(tensor.int64));
  }
  return value;
}

}  // namespace steppe::graph
