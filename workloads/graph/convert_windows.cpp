// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "workloads/graph/window.h"

namespace steppe::graph {
namespace {

constexpr std::int64_t max_window = std::int64_t{1} << 24;

struct Axis {
  std::int64_t size, kernel, stride, dilation;
  [[nodiscard]] std::int64_t covered() const { return (kernel - 1) * dilation + 1; }
};

/// Pads so that the output has ceil(size / stride) elements; an odd one goes to the end or start.
void pad_same(const Axis& axis, bool lower, std::int64_t& before, std::int64_t& after) {
  const std::int64_t out = (axis.size + axis.stride - 1) / axis.stride;
  const std::int64_t total =
      std::max<std::int64_t>(0, (out - 1) * axis.stride + axis.covered() - axis.size);
  before = lower ? total - total / 2 : total / 2;
  after = total - before;
}

/// ONNX rounds the number of windows up; a window must still start in the array or the pad in
/// front.
void pad_ceil(const Axis& axis, std::int64_t before, std::int64_t& after) {
  const std::int64_t room = axis.size + before + after - axis.covered();
  if (room < 0) return;
  std::int64_t out = (room + axis.stride - 1) / axis.stride + 1;
  if ((out - 1) * axis.stride >= axis.size + before) --out;
  after += std::max<std::int64_t>(0, (out - 1) * axis.stride - room);
}

void pool(Context& c) {
  if (c.shape(0).size() < 3 || c.shape(0).size() > 4) {
    c.fail("input {}; one and two spatial axes are supported", text(c.shape(0)));
  }
  if (c.raw.outputs.size() > 1 && !c.raw.outputs[1].empty()) {
    c.fail("its indices are asked for; only the values are supported");
  }
  if (!c.given("kernel_shape")) c.fail("the attribute 'kernel_shape' is missing");
  const bool ceil_mode = c.integer("ceil_mode", 0) != 0;
  Attributes window = window_attributes(c, c.integers("kernel_shape", {}), ceil_mode);
  if (c.raw.op == "AveragePool") {
    const std::int64_t padding = c.integer("count_include_pad", 0);
    const bool grown = window != window_attributes(c, c.integers("kernel_shape", {}));
    if (padding != 0 && grown) {
      c.fail("count_include_pad with a ceil_mode that adds a window is not supported");
    }
    window["count_include_pad"] = padding;
  }
  c.give(c.b.add(c.raw.op, {c.in(0)}, window));
}

void global_max(Context& c) {
  const Shape& x = c.shape(0);
  if (x.size() < 3 || x.size() > 4) {
    c.fail("input {}; one and two spatial axes are supported", text(x));
  }
  const std::size_t axes = x.size() - 2;
  c.give(c.b.add("MaxPool", {c.in(0)},
                 {{"kernel_shape", Shape(x.begin() + 2, x.end())},
                  {"strides", Shape(axes, 1)},
                  {"pads", Shape(2 * axes, 0)},
                  {"dilations", Shape(axes, 1)}}));
}

}  // namespace

Attributes window_attributes(const Context& c, const Shape& kernel, bool ceil_mode) {
  const std::size_t axes = c.shape(0).size() - 2;
  const Shape strides = c.integers("strides", Shape(axes, 1));
  const Shape dilations = c.integers("dilations", Shape(axes, 1));
  Shape pads = c.integers("pads", Shape(2 * axes, 0));
  const std::string mode = c.string("auto_pad", "NOTSET");
  if (kernel.size() != axes || strides.size() != axes || dilations.size() != axes ||
      pads.size() != 2 * axes) {
    c.fail("kernel_shape, strides, dilations or pads do not fit {} spatial axes", axes);
  }
  if (mode != "NOTSET" && mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    c.fail("auto_pad is '{}'; it may be NOTSET, VALID, SAME_UPPER or SAME_LOWER", mode);
  }
  if (mode == "VALID") std::fill(pads.begin(), pads.end(), 0);
  for (std::size_t i = 0; i < axes; ++i) {
    const Axis axis{c.shape(0)[i + 2], kernel[i], strides[i], dilations[i]};
    for (const std::int64_t n : {axis.kernel, axis.stride, axis.dilation}) {
      if (n < 1 || n > max_window) c.fail("a kernel, stride or dilation of {}", n);
    }
    for (const std::int64_t n : {pads[i], pads[i + axes]}) {
      if (n < 0 || n > max_window) c.fail("a pad of {}", n);
    }
    if (mode.starts_with("SAME")) pad_same(axis, mode == "SAME_LOWER", pads[i], pads[i + axes]);
    if (ceil_mode) pad_ceil(axis, pads[i], pads[i + axes]);
  }
  return {{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}, {"dilations", dilations}};
}

void add_windows(Conversions& table) {
  table["MaxPool"] = pool;
  table["AveragePool"] = pool;
  table["GlobalMaxPool"] = global_max;
  table["GlobalAveragePool"] = [](Context& c) { c.give(c.b.add("GlobalAveragePool", {c.in(0)})); };
}

}  // namespace steppe::graph
