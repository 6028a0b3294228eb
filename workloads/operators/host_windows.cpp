// SPDX-License-Identifier: Apache-2.0
#include "workloads/operators/host_windows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace steppe::graph {
namespace {

constexpr std::int64_t max_extent = std::int64_t{1} << 24;

std::int64_t planes(const HostCall& call) {
  if (call.rank(0) < 3) call.fail("{} has no spatial axes", text(call.shape(0)));
  return call.shape(0)[0] * call.shape(0)[1];
}

Shape with_spatial(const HostCall& call, const Shape& spatial) {
  Shape to{call.shape(0)[0], call.shape(0)[1]};
  to.insert(to.end(), spatial.begin(), spatial.end());
  return to;
}

std::size_t volume(const Shape& shape) {
  return static_cast<std::size_t>(checked_elements(shape, "a window"));
}

void max_pool(HostCall& call) {
  const std::int64_t count = planes(call);
  const HostWindow window(call, call.shape(0), call.integers("kernel_shape", {}), true);
  const Shape to = with_spatial(call, window.out);
  static_cast<void>(call.room(to));
  const std::size_t size = volume(window.in);
  const bool by_columns = call.integer("storage_order", 0) != 0;
  const Shape& steps = window.steps;
  Shape column_steps = steps;
  std::int64_t step = 1;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    column_steps[i] = step;
    step *= window.in[i];
  }
  const std::vector<double> x = reals(call.at(0));
  std::vector<double> y;
  std::vector<std::int64_t> places;
  for (std::size_t plane = 0; plane < static_cast<std::size_t>(count); ++plane) {
    for_each_index(window.out, [&](const Shape& at) {
      double best = is_real(call.at(0).type) ? -std::numeric_limits<double>::infinity()
                                             : std::numeric_limits<double>::lowest();
      std::size_t place = 0;
      window.visit(at, [&](std::size_t i, std::size_t) {
        if (x[plane * size + i] <= best) return;
        best = x[plane * size + i];
        place = i;
      });
      y.push_back(best);
      std::int64_t index = 0;
      for (std::size_t i = 0; by_columns && i < steps.size(); ++i) {
        index += static_cast<std::int64_t>(place) / steps[i] % window.in[i] * column_steps[i];
      }
      places.push_back(static_cast<std::int64_t>(plane * size) +
                       (by_columns ? index : static_cast<std::int64_t>(place)));
    });
  }
  call.give(call.at(0).type, to, y);
  call.give(DataType::int64, to, places);
}

/// Averages or p-norms.
void pool(HostCall& call, std::int64_t p) {
  const std::int64_t count = planes(call);
  const HostWindow window(call, call.shape(0), call.integers("kernel_shape", {}), true);
  const Shape to = with_spatial(call, window.out);
  static_cast<void>(call.room(to));
  const std::size_t size = volume(window.in);
  const bool padding = call.integer("count_include_pad", 0) != 0;
  const std::vector<double> x = reals(call.at(0));
  std::vector<double> y;
  for (std::size_t plane = 0; plane < static_cast<std::size_t>(count); ++plane) {
    for_each_index(window.out, [&](const Shape& at) {
      double sum = 0.0;
      double inside = 0.0;
      window.visit(at, [&](std::size_t i, std::size_t) {
        const double each = x[plane * size + i];
        sum += p == 0 ? each : std::pow(std::abs(each), static_cast<double>(p));
        inside += 1.0;
      });
      if (p != 0) return y.push_back(std::pow(sum, 1.0 / static_cast<double>(p)));
      double counted = inside;
      if (padding) {
        counted = 1.0;
        for (std::size_t i = 0; i < at.size(); ++i) {
          const std::int64_t start = at[i] * window.strides[i] - window.pads[i];
          const std::int64_t end = window.in[i] + window.pads[i + at.size()];
          const std::int64_t most = (end - start + window.dilations[i] - 1) / window.dilations[i];
          counted *= static_cast<double>(std::min(window.kernel[i], most));
        }
      }
      y.push_back(counted == 0.0 ? 0.0 : sum / counted);
    });
  }
  call.give(call.at(0).type, to, y);
}

/// Over all pixels: 'a' averages, 'm' the largest, 'p' the norm.
void global_pool(HostCall& call, char kind) {
  const auto count = static_cast<std::size_t>(planes(call));
  const std::vector<double> x = reals(call.at(0));
  const std::size_t size = count == 0 ? 0 : x.size() / count;
  const auto p = static_cast<double>(call.integer("p", 2));
  std::vector<double> y;
  for (std::size_t plane = 0; plane < count; ++plane) {
    double result = kind == 'm' ? -std::numeric_limits<double>::infinity() : 0.0;
    for (std::size_t i = 0; i < size; ++i) {
      const double each = x[plane * size + i];
      result = kind == 'm' ? std::max(result, each)
                           : result + (kind == 'p' ? std::pow(std::abs(each), p) : each);
    }
    if (kind == 'a') result /= static_cast<double>(size);
    y.push_back(kind == 'p' ? std::pow(result, 1.0 / p) : result);
  }
  call.give(call.at(0).type, with_spatial(call, Shape(call.shape(0).size() - 2, 1)), y);
}

void max_unpool(HostCall& call) {
  const std::int64_t count = planes(call);
  const std::size_t axes = call.shape(0).size() - 2;
  const Shape kernel = call.integers("kernel_shape", {});
  const Shape strides = call.integers("strides", Shape(axes, 1));
  const Shape pads = call.integers("pads", Shape(2 * axes, 0));
  if (kernel.size() != axes || strides.size() != axes || pads.size() != 2 * axes) {
    call.fail("kernel_shape, strides or pads do not fit {} axes", axes);
  }
  Shape natural;
  for (std::size_t i = 0; i < axes; ++i) {
    natural.push_back((call.shape(0)[i + 2] - 1) * strides[i] + kernel[i] - pads[i] -
                      pads[i + axes]);
  }
  natural = with_spatial(call, natural);
  const Shape to = call.has(2) ? integers(call.at(2)) : natural;
  if (to.size() != natural.size()) call.fail("a result of {}", text(to));
  std::vector<double> y(call.room(to), 0.0);
  const std::vector<double> x = reals(call.at(0));
  const std::vector<std::int64_t> places = integers(call.at(1));
  if (places.size() != x.size() || count < 0) call.fail("indices {}", text(call.shape(1)));
  const Shape from_steps = row_major_steps(natural);
  const Shape to_steps = row_major_steps(to);
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::int64_t at = 0;
    for (std::size_t axis = 0; axis < to.size(); ++axis) {
      at += places[i] / std::max<std::int64_t>(1, from_steps[axis]) %
            std::max<std::int64_t>(1, natural[axis]) * to_steps[axis];
    }
    if (at < 0 || at >= static_cast<std::int64_t>(y.size())) call.fail("index {}", places[i]);
    y[static_cast<std::size_t>(at)] = x[i];
  }
  call.give(call.at(0).type, to, y);
}

void conv(HostCall& call) {
  Shape to;
  std::vector<double> y =
      convolved(call, reals(call.at(0)), call.shape(0), reals(call.at(1)), call.shape(1), to);
  if (call.has(2)) {
    const std::vector<double> bias = reals(call.at(2));
    const std::size_t size = volume({to.begin() + 2, to.end()});
    for (std::size_t i = 0; i < y.size(); ++i)
      y[i] += bias.at(i / size % static_cast<std::size_t>(to[1]));
  }
  call.give(call.at(0).type, to, y);
}

/// Every element of x [N, C, d…] adds itself times w [C, M / group, k…] to the result.
void conv_transpose(HostCall& call) {
  static_cast<void>(planes(call));
  const Shape& xs = call.shape(0);
  const Shape& ws = call.shape(1);
  const std::size_t axes = xs.size() - 2;
  const std::int64_t group = call.integer("group", 1);
  if (ws.size() != xs.size() || ws[0] != xs[1] || group < 1 || xs[1] % group != 0) {
    call.fail("{} by {} in {} groups", text(xs), text(ws), group);
  }
  const Shape strides = call.integers("strides", Shape(axes, 1));
  const Shape dilations = call.integers("dilations", Shape(axes, 1));
  const Shape extra = call.integers("output_padding", Shape(axes, 0));
  Shape pads = call.integers("pads", Shape(2 * axes, 0));
  const Shape given = call.integers("output_shape", {});
  const std::string mode = call.string("auto_pad", "NOTSET");
  if (strides.size() != axes || dilations.size() != axes || extra.size() != axes ||
      pads.size() != 2 * axes || (!given.empty() && given.size() < axes)) {
    call.fail("strides, dilations, pads or output_shape do not fit {} axes", axes);
  }
  Shape to{xs[0], ws[1] * group};
  for (std::size_t i = 0; i < axes; ++i) {
    if (strides[i] < 1 || dilations[i] < 1 || strides[i] > max_extent || dilations[i] > max_extent)
      call.fail("a stride of {}", strides[i]);
    const std::int64_t all =
        (xs[i + 2] - 1) * strides[i] + extra[i] + (ws[i + 2] - 1) * dilations[i] + 1;
    const bool same = mode.starts_with("SAME");
    if (!given.empty() || same) {
      const std::int64_t want =
          given.empty() ? xs[i + 2] * strides[i] : given[given.size() - axes + i];
      const std::int64_t total = std::max<std::int64_t>(0, all - want);
      const bool more_in_front = mode != "SAME_UPPER";
      pads[i] = more_in_front ? total - total / 2 : total / 2;
      pads[i + axes] = total - pads[i];
      to.push_back(want);
    } else {
      to.push_back(all - pads[i] - pads[i + axes]);
    }
    if (to.back() < 1) call.fail("an output of {}", to.back());
  }
  std::vector<double> y(call.room(to), 0.0);
  const std::vector<double> x = reals(call.at(0));
  const std::vector<double> w = reals(call.at(1));
  const Shape steps = row_major_steps(to);
  const Shape w_steps = row_major_steps(ws);
  const Shape kernel(ws.begin() + 2, ws.end());
  std::size_t i = 0;
  for_each_index(xs, [&](const Shape& at) {
    const double value = x[i++];
    const std::int64_t g = at[1] / (xs[1] / group);
    for_each_index(kernel, [&](const Shape& k) {
      std::int64_t place = at[0] * steps[0] + g * ws[1] * steps[1];
      std::int64_t weight = at[1] * w_steps[0];
      for (std::size_t axis = 0; axis < axes; ++axis) {
        const std::int64_t p =
            at[axis + 2] * strides[axis] + k[axis] * dilations[axis] - pads[axis];
        if (p < 0 || p >= to[axis + 2]) return;
        place += p * steps[axis + 2];
        weight += k[axis] * w_steps[axis + 2];
      }
      for (std::int64_t m = 0; m < ws[1]; ++m) {
        y[static_cast<std::size_t>(place + m * steps[1])] +=
            value * w[static_cast<std::size_t>(weight + m * w_steps[1])];
      }
    });
  });
  if (call.has(2)) {
    const std::vector<double> bias = reals(call.at(2));
    for (std::size_t k = 0; k < y.size(); ++k) {
      y[k] += bias.at(k / static_cast<std::size_t>(steps[1]) % static_cast<std::size_t>(to[1]));
    }
  }
  call.give(call.at(0).type, to, y);
}

}  // namespace

HostWindow::HostWindow(const HostCall& call, const Shape& operand, const Shape& kernel_shape,
                       bool pooling)
    : in(operand.begin() + 2, operand.end()), steps(row_major_steps(in)), kernel(kernel_shape) {
  const std::size_t axes = in.size();
  strides = call.integers("strides", Shape(axes, 1));
  dilations = call.integers("dilations", Shape(axes, 1));
  pads = call.integers("pads", Shape(2 * axes, 0));
  const std::string mode = call.string("auto_pad", "NOTSET");
  if (kernel.size() != axes || strides.size() != axes || dilations.size() != axes ||
      pads.size() != 2 * axes) {
    call.fail("kernel_shape, strides, dilations or pads do not fit {} axes", axes);
  }
  const bool up = pooling && call.integer("ceil_mode", 0) != 0;
  for (std::size_t i = 0; i < axes; ++i) {
    for (const std::int64_t n : {kernel[i], strides[i], dilations[i]}) {
      if (n < 1 || n > max_extent) call.fail("a kernel, stride or dilation of {}", n);
    }
    for (const std::int64_t n : {pads[i], pads[i + axes]}) {
      if (n < 0 || n > max_extent) call.fail("a pad of {}", n);
    }
    const std::int64_t covered = (kernel[i] - 1) * dilations[i] + 1;
    if (mode.starts_with("SAME")) {
      const std::int64_t want = (in[i] + strides[i] - 1) / strides[i];
      const std::int64_t total =
          std::max<std::int64_t>(0, (want - 1) * strides[i] + covered - in[i]);
      pads[i] = mode == "SAME_LOWER" ? total - total / 2 : total / 2;
      pads[i + axes] = total - pads[i];
    } else if (mode == "VALID") {
      pads[i] = pads[i + axes] = 0;
    }
    const std::int64_t room = in[i] + pads[i] + pads[i + axes] - covered;
    if (room < 0) call.fail("a window of {} on {}", covered, in[i]);
    out.push_back((room + (up ? strides[i] - 1 : 0)) / strides[i] + 1);
    if (up && (out.back() - 1) * strides[i] >= in[i] + pads[i]) --out.back();
  }
  double work = 1.0;
  for (std::size_t i = 0; i < axes; ++i) {
    work *= static_cast<double>(out[i]) * static_cast<double>(kernel[i]);
  }
  if (work > 0x1p33) call.fail("a kernel of {} at {} places is too large", text(kernel), text(out));
}

std::vector<double> convolved(const HostCall& call, const std::vector<double>& x,
                              const Shape& x_shape, const std::vector<double>& w,
                              const Shape& w_shape, Shape& to) {
  const std::int64_t group = call.integer("group", 1);
  if (x_shape.size() < 3 || w_shape.size() != x_shape.size() || group < 1 || group > x_shape[1] ||
      x_shape[1] % group != 0 || w_shape[1] != x_shape[1] / group || w_shape[0] % group != 0) {
    call.fail("{} by {} in {} groups", text(x_shape), text(w_shape), group);
  }
  const HostWindow window(call, x_shape, {w_shape.begin() + 2, w_shape.end()}, false);
  to = {x_shape[0], w_shape[0]};
  to.insert(to.end(), window.out.begin(), window.out.end());
  std::vector<double> y;
  y.reserve(call.room(to));
  const std::size_t size = volume(window.in);
  const std::size_t taps = volume(window.kernel);
  const auto depth = static_cast<std::size_t>(w_shape[1]);
  for_each_index({x_shape[0], w_shape[0]}, [&](const Shape& at) {
    const auto out_channel = static_cast<std::size_t>(at[1]);
    const auto g = static_cast<std::size_t>(at[1] / (w_shape[0] / group));
    const std::size_t first = (static_cast<std::size_t>(at[0] * x_shape[1]) + g * depth) * size;
    for_each_index(window.out, [&](const Shape& place) {
      double sum = 0.0;
      window.visit(place, [&](std::size_t i, std::size_t k) {
        for (std::size_t c = 0; c < depth; ++c) {
          sum += x[first + c * size + i] * w[(out_channel * depth + c) * taps + k];
        }
      });
      y.push_back(sum);
    });
  });
  return y;
}

void add_host_windows(HostTable& t) {
  t["MaxPool"] = {max_pool, {}};
  t["AveragePool"] = {[](HostCall& call) { pool(call, 0); }, {}};
  t["LpPool"] = {
      [](HostCall& call) { pool(call, std::max<std::int64_t>(1, call.integer("p", 2))); }, {}};
  t["GlobalAveragePool"] = {[](HostCall& call) { global_pool(call, 'a'); }, {}};
  t["GlobalMaxPool"] = {[](HostCall& call) { global_pool(call, 'm'); }, {}};
  t["GlobalLpPool"] = {[](HostCall& call) { global_pool(call, 'p'); }, {}};
  t["MaxUnpool"] = {max_unpool, {2}};
  t["Conv"] = {conv, {}};
  t["ConvTranspose"] = {conv_transpose, {}};
}

}  // namespace steppe::graph
