// SPDX-License-Identifier: Apache-2.0
//
// ConvTranspose as a convolution: output position o = q * stride + r - pad of phase r takes the
// kernel elements r, r + stride, …, each from one input position. So all phases together are one
// convolution of stride 1 with stride times stride as many channels, which are then put side by
// side as pixels.
#include <algorithm>
#include <array>

#include "workloads/graph/context.h"

namespace steppe::graph {
namespace {

/// One spatial axis.
struct Axis {
  std::int64_t in = 1, kernel = 1, stride = 1, dilation = 1;
  std::int64_t begin = 0;  ///< padding: results left out in front
  std::int64_t out = 1;

  [[nodiscard]] std::int64_t spread() const { return (kernel - 1) * dilation + 1; }
  /// Kernel elements of one phase, zeros among them: enough that no window lies wholly behind the
  /// input.
  [[nodiscard]] std::int64_t taps() const {
    return std::max((spread() + stride - 1) / stride, steps() - in + 1);
  }
  /// Positions of one phase that are needed.
  [[nodiscard]] std::int64_t steps() const { return (begin + out + stride - 1) / stride; }
};
using Axes = std::array<Axis, 2>;

/// Sets `begin` and `out` from the pads, the output's shape or auto_pad.
void set_output(const Context& c, Axis& axis, std::size_t i, std::size_t rank) {
  const Shape none(rank, 0);
  const std::int64_t extra = c.integers("output_padding", none).at(i);
  const std::int64_t full = axis.stride * (axis.in - 1) + extra + axis.spread();
  const std::string automatic = c.string("auto_pad", "NOTSET");
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!same && automatic != "NOTSET" && automatic != "VALID") {
    c.fail("auto_pad '{}' is unknown", automatic);
  }
  if (c.given("output_shape") || same) {
    const Shape shape = c.integers("output_shape", none);
    if (shape.size() < rank) c.fail("an output_shape of {} for {} spatial axes", text(shape), rank);
    axis.out = c.given("output_shape") ? shape.at(shape.size() - rank + i) : axis.in * axis.stride;
    const std::int64_t total = std::max<std::int64_t>(full - axis.out, 0);
    axis.begin = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
    return;
  }
  const Shape pads = c.integers("pads", Shape(2 * rank, 0));
  if (pads.size() != 2 * rank) c.fail("{} pads for {} spatial axes", pads.size(), rank);
  axis.begin = pads[i];
  axis.out = full - pads[i] - pads[rank + i];
}

Axes read_axes(const Context& c) {
  const Shape& in = c.shape(0);
  const Shape& weights = c.shape(1);
  const std::size_t rank = weights.size() - 2;
  const Shape strides = c.integers("strides", Shape(rank, 1));
  const Shape dilations = c.integers("dilations", Shape(rank, 1));
  if (strides.size() != rank || dilations.size() != rank ||
      (c.given("output_padding") && c.integers("output_padding", {}).size() != rank)) {
    c.fail("strides, dilations and output_padding need {} numbers", rank);
  }
  Axes axes;
  for (std::size_t i = 0; i < rank; ++i) {
    Axis& axis = axes.at(2 - rank + i);  // one spatial axis is a row of pixels
    axis = {in[2 + i], weights[2 + i], strides[i], dilations[i]};
    if (axis.stride < 1 || axis.dilation < 1 || axis.kernel < 1) {
      c.fail("kernel {}, stride {}, dilation {}; all must be 1 or more", axis.kernel, axis.stride,
             axis.dilation);
    }
    set_output(c, axis, i, rank);
    if (axis.out < 1 || axis.begin < 0)
      c.fail("an output of {} with padding {}", axis.out, axis.begin);
  }
  return axes;
}

ValueId pad_end(Builder& b, ValueId x, Shape extents) {
  const std::size_t rank = extents.size();
  Shape pads(2 * rank, 0);
  for (std::size_t i = 0; i < rank; ++i) pads[rank + i] = extents[i] - b.shape(x)[i];
  return b.add("Pad", {x}, {{"pads", pads}, {"value", 0.0F}});
}

/// [groups * ic, oc, kh, kw] to [groups * phases * oc, ic, taps, taps], the taps of a phase from
/// the last to the first.
ValueId phase_weights(Builder& b, ValueId w, const Axes& axes, std::int64_t groups) {
  const Shape shape = b.shape(w);
  const std::int64_t ic = shape[0] / groups;
  const std::int64_t oc = shape[1];
  const auto& [h, v] = axes;
  w = b.reshape(w, {shape[0], oc, h.kernel, 1, v.kernel, 1});
  w = pad_end(b, w, {shape[0], oc, h.kernel, h.dilation, v.kernel, v.dilation});
  w = b.reshape(w, {shape[0], oc, h.kernel * h.dilation, v.kernel * v.dilation});
  w = b.slice(b.slice(w, 2, 0, h.spread()), 3, 0, v.spread());
  w = pad_end(b, w, {shape[0], oc, h.taps() * h.stride, v.taps() * v.stride});
  w = b.reshape(w, {groups, ic, oc, h.taps(), h.stride, v.taps(), v.stride});
  w = b.add("Slice", {w},
            {{"axes", Shape{3, 5}},
             {"starts", Shape{h.taps() - 1, v.taps() - 1}},
             {"ends", Shape{-1, -1}},
             {"steps", Shape{-1, -1}}});
  w = b.transpose(w, {0, 4, 6, 2, 1, 3, 5});
  return b.reshape(w, {groups * h.stride * v.stride * oc, ic, h.taps(), v.taps()});
}

void conv_transpose(Context& c) {
  Builder& b = c.b;
  const Shape weights = c.shape(1);  // a copy: values move as nodes are added
  if (weights.size() < 3 || weights.size() > 4 || c.rank(0) != c.rank(1)) {
    c.fail("input {} with weights {}; one and two spatial axes are supported", text(c.shape(0)),
           text(weights));
  }
  const std::int64_t groups = c.integer("group", 1);
  if (groups < 1 || weights[0] % groups != 0 || c.shape(0)[1] != weights[0]) {
    c.fail("{} groups, input {} with weights {}", groups, text(c.shape(0)), text(weights));
  }
  const Axes axes = read_axes(c);
  const auto& [h, v] = axes;
  const std::int64_t n = c.shape(0)[0];
  const std::int64_t oc = weights[1];
  const std::int64_t phases = h.stride * v.stride;

  const ValueId x = b.reshape(c.in(0), {n, weights[0], h.in, v.in});
  const ValueId four = b.reshape(c.in(1), {weights[0], oc, h.kernel, v.kernel});
  std::vector<ValueId> operands{x, phase_weights(b, four, axes, groups)};
  if (c.has(2)) {
    const ValueId bias =
        b.add("Expand", {b.reshape(c.in(2), {groups, 1, oc})}, {}, {groups, phases, oc});
    operands.push_back(b.reshape(bias, {groups * phases * oc}));
  }
  // Position q of a phase reads the inputs q - taps + 1 … q.
  const auto end = [](const Axis& axis) {
    return std::max<std::int64_t>(axis.steps() - axis.in, 0);
  };
  ValueId y = b.add("Conv", operands,
                    {{"kernel_shape", Shape{h.taps(), v.taps()}},
                     {"strides", Shape{1, 1}},
                     {"pads", Shape{h.taps() - 1, v.taps() - 1, end(h), end(v)}},
                     {"dilations", Shape{1, 1}},
                     {"group", groups}});
  const std::int64_t rows = b.shape(y)[2];
  const std::int64_t pixels = b.shape(y)[3];
  y = b.reshape(y, {n, groups, h.stride, v.stride, oc, rows, pixels});
  y = b.transpose(y, {0, 1, 4, 5, 2, 6, 3});
  y = b.reshape(y, {n, groups * oc, rows * h.stride, pixels * v.stride});
  y = b.slice(b.slice(y, 2, h.begin, h.begin + h.out), 3, v.begin, v.begin + v.out);
  Shape shape{n, groups * oc, h.out, v.out};
  if (weights.size() == 3) shape.erase(shape.begin() + 2);
  c.give(b.reshape(y, shape));
}

}  // namespace

void add_transposed(Conversions& table) { table["ConvTranspose"] = conv_transpose; }

}  // namespace steppe::graph
