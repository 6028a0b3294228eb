// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "workloads/operators/host_windows.h"

/// Quantised operators, bit exact by ONNX's definitions: half to even, then saturation.
namespace steppe::graph {
namespace {

struct Limits {
  double low, high;
};
Limits limits(const HostCall& call, DataType type) {
  if (type == DataType::uint8) return {0.0, 255.0};
  if (type == DataType::int8) return {-128.0, 127.0};
  call.fail("a quantised type of {}; int8 and uint8 are supported", text(type));
}

/// In fp32, as ONNX defines it.
double quantised(double x, double scale, double zero, const Limits& range) {
  const float q = std::nearbyint(static_cast<float>(x) / static_cast<float>(scale));
  const double y = double{q} + zero;
  return std::isnan(y) ? zero : std::clamp(y, range.low, range.high);
}

/// One scale, or one for each index of `axis`, read at every element of `shape`.
std::vector<double> along(const HostCall& call, std::size_t operand, const Shape& shape,
                          std::int64_t axis, double absent) {
  const auto size = call.room(shape);
  if (!call.has(operand)) return std::vector<double>(size, absent);
  const std::vector<double> x = reals(call.at(operand));
  if (x.size() == 1) return std::vector<double>(size, x[0]);
  const auto at =
      static_cast<std::size_t>(call.axis(axis, static_cast<std::int64_t>(shape.size())));
  if (static_cast<std::int64_t>(x.size()) != shape[at])
    call.fail("operand {} of {} for {}", operand, text(call.shape(operand)), text(shape));
  Shape own(shape.size(), 1);
  own[at] = shape[at];
  return broadcast_to(call, x, own, shape);
}

void quantize(HostCall& call) {
  const Shape& shape = call.shape(0);
  const std::int64_t axis = call.integer("axis", 1);
  const DataType type = call.has(2) ? call.at(2).type : DataType::uint8;
  const Limits range = limits(call, type);
  const std::vector<double> scale = along(call, 1, shape, axis, 1.0);
  const std::vector<double> zero = along(call, 2, shape, axis, 0.0);
  std::vector<double> x = reals(call.at(0));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = quantised(x[i], scale[i], zero[i], range);
  call.give(type, shape, x);
}

void dequantize(HostCall& call) {
  const Shape& shape = call.shape(0);
  const std::int64_t axis = call.integer("axis", 1);
  const std::vector<double> scale = along(call, 1, shape, axis, 1.0);
  const std::vector<double> zero = along(call, 2, shape, axis, 0.0);
  std::vector<double> x = reals(call.at(0));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = (x[i] - zero[i]) * scale[i];
  call.give(call.at(1).type, shape, x);
}

void dynamic_quantize(HostCall& call) {
  const std::vector<double> x = reals(call.at(0));
  float low = 0.0F, high = 0.0F;
  for (const double each : x) {
    low = std::min(low, static_cast<float>(each));
    high = std::max(high, static_cast<float>(each));
  }
  const float scale = (high - low) / 255.0F;
  const double zero =
      scale == 0.0F ? 0.0 : std::clamp(std::nearbyint(double{-low / scale}), 0.0, 255.0);
  std::vector<double> y;
  y.reserve(x.size());
  for (const double each : x) {
    y.push_back(scale == 0.0F ? zero : quantised(each, double{scale}, zero, {0.0, 255.0}));
  }
  call.give(DataType::uint8, call.shape(0), y);
  call.give<double>(DataType::fp32, {}, {double{scale}});
  call.give<double>(DataType::uint8, {}, {zero});
}

/// The elements less their zero point, which may be one for each index of `axis`.
std::vector<double> centred(const HostCall& call, std::size_t operand, std::size_t zero,
                            std::int64_t axis) {
  std::vector<double> x = reals(call.at(operand));
  const std::vector<double> zeros_of = along(call, zero, call.shape(operand), axis, 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= zeros_of[i];
  return x;
}

void matmul_integer(HostCall& call) {
  Shape to;
  const std::int64_t rows = call.rank(0) > 1 ? -2 : -1;
  const std::vector<double> y = multiplied(call, centred(call, 0, 2, rows), call.shape(0),
                                           centred(call, 1, 3, -1), call.shape(1), to);
  call.give(DataType::int32, to, y);
}

void conv_integer(HostCall& call) {
  Shape to;
  const std::vector<double> y = convolved(call, centred(call, 0, 2, 1), call.shape(0),
                                          centred(call, 1, 3, 0), call.shape(1), to);
  call.give(DataType::int32, to, y);
}

/// Exact sums times a * b / y in fp32, quantised.
void requantise(HostCall& call, std::vector<double> sums, const Shape& to, std::int64_t axis,
                std::int64_t b_axis) {
  const DataType type = call.at(7).type;
  const Limits range = limits(call, type);
  const std::vector<double> a = along(call, 1, to, axis, 1.0);
  const std::vector<double> b = along(call, 4, to, b_axis, 1.0);
  const double y_scale = call.scalar(6, 1.0);
  const double zero = call.scalar(7, 0.0);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] = quantised(sums[i] * (a[i] * b[i]), y_scale, zero, range);
  }
  call.give(type, to, sums);
}

void qlinear_matmul(HostCall& call) {
  Shape to;
  const std::int64_t rows = call.rank(0) > 1 ? -2 : -1;
  const std::vector<double> y = multiplied(call, centred(call, 0, 2, rows), call.shape(0),
                                           centred(call, 3, 5, -1), call.shape(3), to);
  requantise(call, y, to, rows, -1);
}

void qlinear_conv(HostCall& call) {
  Shape to;
  std::vector<double> y = convolved(call, centred(call, 0, 2, 1), call.shape(0),
                                    centred(call, 3, 5, 0), call.shape(3), to);
  const std::vector<double> bias = along(call, 8, to, 1, 0.0);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += bias[i];
  requantise(call, y, to, 1, 1);
}

}  // namespace

void add_host_quantised(HostTable& t) {
  t["QuantizeLinear"] = {quantize, {}};
  t["DequantizeLinear"] = {dequantize, {}};
  t["DynamicQuantizeLinear"] = {dynamic_quantize, {}};
  t["MatMulInteger"] = {matmul_integer, {}};
  t["ConvInteger"] = {conv_integer, {}};
  t["QLinearMatMul"] = {qlinear_matmul, {}};
  t["QLinearConv"] = {qlinear_conv, {}};
}

}  // namespace steppe::graph
