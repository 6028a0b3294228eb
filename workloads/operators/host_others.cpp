// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "workloads/operators/host.h"

namespace steppe::graph {
namespace {

void range(HostCall& call) {
  const double start = call.scalar(0, 0.0), step = call.scalar(2, 1.0);
  const double count = std::ceil((call.scalar(1, 0.0) - start) / step);
  if (!(count <= static_cast<double>(max_host_elements))) call.fail("it is endless or too long");
  std::vector<double> y(count > 0.0 ? static_cast<std::size_t>(count) : 0);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = start + static_cast<double>(i) * step;
  const auto size = static_cast<std::int64_t>(y.size());
  call.give(call.at(0).type, {size}, y);
}

void eye_like(HostCall& call) {
  const Shape& shape = call.shape(0);
  if (shape.size() != 2) call.fail("{} is no matrix", text(shape));
  const DataType type = call.given("dtype")
                            ? type_of_onnx(call.integer("dtype", 1), described(call.node))
                            : call.at(0).type;
  const std::int64_t k = call.integer("k", 0);
  std::vector<std::int64_t> y;
  y.reserve(call.room(shape));
  for_each_index(shape, [&](const Shape& index) { y.push_back(index[1] - index[0] == k ? 1 : 0); });
  call.give(type, shape, y);
}

/// At inference it passes its operand on, with a mask of ones.
void dropout(HostCall& call) {
  if (call.has(2) && call.scalar(2, 0.0) != 0.0) {
    if (call.scalar(1, 0.5) != 0.0) call.fail("training is not supported");
  }
  call.out.push_back(call.at(0));
  const DataType mask = call.opset() < 10 ? call.at(0).type : DataType::boolean;
  call.give(mask, call.shape(0), std::vector<std::int64_t>(call.at(0).size(), 1));
}

/// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N)
void window(HostCall& call, double a0, double a1, double a2) {
  const auto size = static_cast<std::int64_t>(call.scalar(0, 0.0));
  std::vector<double> y(call.room({size}));
  const double n = static_cast<double>(call.integer("periodic", 1) != 0 ? size : size - 1);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double phase = 2.0 * std::numbers::pi * static_cast<double>(i) / n;
    y[i] = a0 - a1 * std::cos(phase) + a2 * std::cos(2.0 * phase);
  }
  call.give(type_of_onnx(call.integer("output_datatype", 1), described(call.node)), {size}, y);
}

std::vector<std::complex<double>> transformed(const std::vector<std::complex<double>>& x,
                                              bool inverse) {
  std::vector<std::complex<double>> y(x.size());
  const auto n = static_cast<double>(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double turns = static_cast<double>(i * k % x.size()) / n;
      y[k] += x[i] * std::polar(1.0, (inverse ? 2.0 : -2.0) * std::numbers::pi * turns);
    }
    if (inverse) y[k] /= n;
  }
  return y;
}

constexpr std::int64_t max_transform = 65536;  ///< it takes its square in steps

void dft(HostCall& call) {
  const Shape& shape = call.shape(0);
  if (shape.size() < 2) call.fail("a signal of {}", text(shape));
  const auto axis = static_cast<std::size_t>(call.axis(call.integer("axis", 1), call.rank(0) - 1));
  const bool inverse = call.integer("inverse", 0) != 0;
  const bool half = call.integer("onesided", 0) != 0;
  const bool is_complex = shape.back() == 2;
  const auto length = static_cast<std::int64_t>(call.scalar(1, static_cast<double>(shape[axis])));
  if (length < 1 || length > max_transform) call.fail("a length of {}", length);
  Shape to = shape;
  to.back() = 2;
  to[axis] = half ? length / 2 + 1 : length;
  const std::vector<double> x = reals(call.at(0));
  std::vector<double> y(call.room(to));
  Shape lines = shape;
  lines[axis] = 1;
  lines.back() = 1;
  const Shape from_steps = row_major_steps(shape), to_steps = row_major_steps(to);
  for_each_index(lines, [&](const Shape& index) {
    std::vector<std::complex<double>> line(static_cast<std::size_t>(length));
    const std::size_t start = offset(index, from_steps);
    for (std::size_t i = 0; i < line.size() && static_cast<std::int64_t>(i) < shape[axis]; ++i) {
      const std::size_t at = start + i * static_cast<std::size_t>(from_steps[axis]);
      line[i] = {x[at], is_complex ? x[at + 1] : 0.0};
    }
    line = transformed(line, inverse);
    for (std::size_t i = 0; static_cast<std::int64_t>(i) < to[axis]; ++i) {
      const std::size_t at = offset(index, to_steps) + i * static_cast<std::size_t>(to_steps[axis]);
      y[at] = line[i].real();
      y[at + 1] = line[i].imag();
    }
  });
  call.give(call.at(0).type, to, y);
}

void stft(HostCall& call) {
  const Shape& shape = call.shape(0);
  const auto step = static_cast<std::int64_t>(call.scalar(1, 1.0));
  const std::vector<double> weights = call.has(2) ? reals(call.at(2)) : std::vector<double>();
  const auto length = call.has(3) ? static_cast<std::int64_t>(call.scalar(3, 0.0))
                                  : static_cast<std::int64_t>(weights.size());
  const bool half = call.integer("onesided", 1) != 0;
  if (shape.size() < 2 || step < 1 || length < 1 || length > shape[1] || length > max_transform)
    call.fail("frames of {} by {} of {}", length, step, text(shape));
  if (shape.size() > 2 && shape[2] != 1) call.fail("complex signals are not supported");
  if (!weights.empty() && static_cast<std::int64_t>(weights.size()) != length)
    call.fail("a window of {}", weights.size());
  const std::vector<double> x = reals(call.at(0));
  const std::int64_t frames = (shape[1] - length) / step + 1;
  const Shape to{shape[0], frames, half ? length / 2 + 1 : length, 2};
  std::vector<double> y;
  y.reserve(call.room(to));
  for_each_index({shape[0], frames}, [&](const Shape& index) {
    std::vector<std::complex<double>> line;
    for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i) {
      const auto at = static_cast<std::size_t>(index[0] * shape[1] + index[1] * step) + i;
      line.emplace_back(x[at] * (weights.empty() ? 1.0 : weights[i]), 0.0);
    }
    line = transformed(line, false);
    for (std::size_t i = 0; i < static_cast<std::size_t>(to[2]); ++i) {
      y.push_back(line[i].real());
      y.push_back(line[i].imag());
    }
  });
  call.give(call.at(0).type, to, y);
}

struct Box {
  double top, left, bottom, right;
};
double overlap(const Box& a, const Box& b) {
  const double h = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double w = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (h <= 0.0 || w <= 0.0) return 0.0;
  const auto area = [](const Box& x) { return (x.bottom - x.top) * (x.right - x.left); };
  return h * w / (area(a) + area(b) - h * w);
}

void non_max_suppression(HostCall& call) {
  const std::vector<double> boxes = reals(call.at(0)), scores = reals(call.at(1));
  const Shape& shape = call.shape(1);
  if (shape.size() != 3 || call.shape(0) != Shape{shape[0], shape[2], 4})
    call.fail("boxes {} and scores {}", text(call.shape(0)), text(shape));
  const auto most = static_cast<std::size_t>(std::max(0.0, call.scalar(2, 0.0)));
  const double threshold = call.scalar(3, 0.0);
  const bool centred = call.integer("center_point_box", 0) != 0;
  const auto count = static_cast<std::size_t>(shape[2]);
  const auto box = [&](std::size_t at) {
    const double* b = &boxes[at * 4];
    if (centred) return Box{b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
    return Box{std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]),
               std::max(b[1], b[3])};
  };
  std::vector<std::int64_t> y;
  for_each_index({shape[0], shape[1]}, [&](const Shape& at) {
    const auto image = static_cast<std::size_t>(at[0]);
    const std::size_t row = static_cast<std::size_t>(at[0] * shape[1] + at[1]) * count;
    std::vector<std::size_t> order, chosen;
    for (std::size_t i = 0; i < count; ++i) {
      if (!call.has(4) || scores[row + i] > call.scalar(4, 0.0)) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return scores[row + a] > scores[row + b]; });
    for (const std::size_t i : order) {
      if (chosen.size() >= most) break;
      const bool free = std::none_of(chosen.begin(), chosen.end(), [&](std::size_t k) {
        return overlap(box(image * count + i), box(image * count + k)) > threshold;
      });
      if (!free) continue;
      chosen.push_back(i);
      y.insert(y.end(), {at[0], at[1], static_cast<std::int64_t>(i)});
    }
  });
  const auto rows = static_cast<std::int64_t>(y.size() / 3);
  call.give(DataType::int64, {rows, 3}, y);
}

/// One plane read between its pixels; what lies outside by `outside(position, size)`.
struct Plane {
  const double* x;
  std::int64_t h, w;
};

/// Bilinear as RoiAlign takes it: a little outside is the edge, further is nothing.
double roi_sample(const Plane& p, double y, double x, std::vector<double>* parts) {
  if (y < -1.0 || y > static_cast<double>(p.h) || x < -1.0 || x > static_cast<double>(p.w)) {
    parts->assign(1, 0.0);
    return 0.0;
  }
  y = std::clamp(y, 0.0, static_cast<double>(p.h - 1));
  x = std::clamp(x, 0.0, static_cast<double>(p.w - 1));
  const auto y0 = static_cast<std::int64_t>(y), x0 = static_cast<std::int64_t>(x);
  const std::int64_t y1 = std::min(y0 + 1, p.h - 1), x1 = std::min(x0 + 1, p.w - 1);
  const double fy = y - static_cast<double>(y0), fx = x - static_cast<double>(x0);
  parts->assign({(1 - fy) * (1 - fx) * p.x[y0 * p.w + x0], (1 - fy) * fx * p.x[y0 * p.w + x1],
                 fy * (1 - fx) * p.x[y1 * p.w + x0], fy * fx * p.x[y1 * p.w + x1]});
  return (*parts)[0] + (*parts)[1] + (*parts)[2] + (*parts)[3];
}

void roi_align(HostCall& call) {
  const Shape& shape = call.shape(0);
  const std::vector<double> x = reals(call.at(0)), rois = reals(call.at(1));
  const std::vector<std::int64_t> batch = integers(call.at(2));
  const std::int64_t oh = call.integer("output_height", 1), ow = call.integer("output_width", 1);
  const double scale = call.real("spatial_scale", 1.0);
  const std::int64_t ratio = call.integer("sampling_ratio", 0);
  if (ratio < 0 || ratio > 1024) call.fail("a sampling ratio of {}", ratio);
  const bool largest = call.string("mode", "avg") == "max";
  const bool half = call.opset() >= 16 &&
                    call.string("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  if (shape.size() != 4 || rois.size() != batch.size() * 4 || shape[2] < 1 || shape[3] < 1)
    call.fail("regions {} of {}", text(call.shape(1)), text(shape));
  const Shape to{static_cast<std::int64_t>(batch.size()), shape[1], oh, ow};
  std::vector<double> y;
  y.reserve(call.room(to));
  std::vector<double> parts;
  for_each_index(to, [&](const Shape& at) {
    const double* roi = &rois[static_cast<std::size_t>(at[0]) * 4];
    const std::int64_t image = batch[static_cast<std::size_t>(at[0])];
    if (image < 0 || image >= shape[0]) call.fail("image {} of {}", image, shape[0]);
    const double shift = half ? 0.5 : 0.0;
    const double left = roi[0] * scale - shift, top = roi[1] * scale - shift;
    double width = roi[2] * scale - shift - left, height = roi[3] * scale - shift - top;
    if (!half) width = std::max(width, 1.0), height = std::max(height, 1.0);
    const double bin_h = height / static_cast<double>(oh), bin_w = width / static_cast<double>(ow);
    const auto samples = [&](double bin) {
      return ratio > 0 ? ratio : static_cast<std::int64_t>(std::clamp(std::ceil(bin), 1.0, 4096.0));
    };
    const std::int64_t rows = samples(bin_h), columns = samples(bin_w);
    const Plane plane{
        &x[static_cast<std::size_t>((image * shape[1] + at[1]) * shape[2] * shape[3])], shape[2],
        shape[3]};
    double result = largest ? -std::numeric_limits<double>::infinity() : 0.0;
    for_each_index({rows, columns}, [&](const Shape& i) {
      const double py = top + (static_cast<double>(at[2]) +
                               (static_cast<double>(i[0]) + 0.5) / static_cast<double>(rows)) *
                                  bin_h;
      const double px = left + (static_cast<double>(at[3]) +
                                (static_cast<double>(i[1]) + 0.5) / static_cast<double>(columns)) *
                                   bin_w;
      const double sum = roi_sample(plane, py, px, &parts);
      // ONNX's reference takes the largest of the weighted neighbours, not of their sums.
      result =
          largest ? std::max(result, *std::max_element(parts.begin(), parts.end())) : result + sum;
    });
    y.push_back(largest ? result : result / static_cast<double>(rows * columns));
  });
  call.give(call.at(0).type, to, y);
}

double reflected(double x, double low, double high) {
  const double span = high - low;
  if (span <= 0.0) return low;
  double phase = std::fmod(std::abs(x - low), 2.0 * span);
  if (phase > span) phase = 2.0 * span - phase;
  return low + phase;
}

void grid_sample(HostCall& call) {
  const Shape& shape = call.shape(0);
  const Shape& grid_shape = call.shape(1);
  if (shape.size() != 4 || grid_shape.size() != 4 || grid_shape[3] != 2 ||
      grid_shape[0] != shape[0])
    call.fail("{} at {}", text(shape), text(grid_shape));
  const std::string mode = call.string("mode", "bilinear"),
                    padding = call.string("padding_mode", "zeros");
  const bool corners = call.integer("align_corners", 0) != 0;
  const std::vector<double> x = reals(call.at(0)), grid = reals(call.at(1));
  const Shape to{shape[0], shape[1], grid_shape[1], grid_shape[2]};
  std::vector<double> out;
  out.reserve(call.room(to));
  const auto place = [&](double g, double size) {
    return corners ? (g + 1.0) / 2.0 * (size - 1.0) : ((g + 1.0) * size - 1.0) / 2.0;
  };
  const auto inside = [&](double p, double size) {
    if (padding == "border") return std::clamp(p, 0.0, size - 1.0);
    if (padding == "reflection")
      return corners ? reflected(p, 0.0, size - 1.0)
                     : std::clamp(reflected(p, -0.5, size - 0.5), 0.0, size - 1.0);
    return p;
  };
  for_each_index(to, [&](const Shape& at) {
    const auto h = static_cast<double>(shape[2]), w = static_cast<double>(shape[3]);
    const double* plane = x.data() + (at[0] * shape[1] + at[1]) * shape[2] * shape[3];
    const double* g = grid.data() + ((at[0] * to[2] + at[2]) * to[3] + at[3]) * 2;
    const auto pixel = [&](double py, double px) {
      py = inside(py, h);
      px = inside(px, w);
      if (!(py >= 0.0 && py <= h - 1.0 && px >= 0.0 && px <= w - 1.0)) return 0.0;
      return plane[static_cast<std::int64_t>(py) * shape[3] + static_cast<std::int64_t>(px)];
    };
    double px = place(g[0], w), py = place(g[1], h);
    if (mode == "nearest")
      return out.push_back(pixel(std::nearbyint(inside(py, h)), std::nearbyint(inside(px, w))));
    if (mode == "bilinear" || mode == "linear") py = inside(py, h), px = inside(px, w);
    const double y0 = std::floor(py), x0 = std::floor(px);
    const bool cubic = mode == "bicubic" || mode == "cubic";
    const auto weight = [&](double d) {
      d = std::abs(d);
      if (!cubic) return std::max(0.0, 1.0 - d);
      constexpr double a = -0.75;
      return d <= 1.0  ? ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
             : d < 2.0 ? ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a
                       : 0.0;
    };
    double sum = 0.0;
    const int first = cubic ? -1 : 0;
    const int last = cubic ? 2 : 1;
    for (int dy = first; dy <= last; ++dy) {
      for (int dx = first; dx <= last; ++dx) {
        const double factor = weight(y0 + dy - py) * weight(x0 + dx - px);
        if (factor != 0.0) sum += factor * pixel(y0 + dy, x0 + dx);
      }
    }
    out.push_back(sum);
  });
  call.give(call.at(0).type, to, out);
}

void mel_weights(HostCall& call) {
  const auto bins = static_cast<std::int64_t>(call.scalar(0, 0.0));
  const auto length = static_cast<std::int64_t>(call.scalar(1, 0.0));
  const double rate = call.scalar(2, 1.0);
  if (bins < 1 || bins > 65536 || length < 1 || length > max_host_elements)
    call.fail("{} bins of {}", bins, length);
  const auto mel = [](double hertz) { return 2595.0 * std::log10(1.0 + hertz / 700.0); };
  const double low = mel(call.scalar(3, 0.0)), high = mel(call.scalar(4, 0.0));
  std::vector<double> edges;
  for (std::int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700.0 * (std::pow(10.0, (low + static_cast<double>(i) * (high - low) /
                                                            static_cast<double>(bins + 2)) /
                                                     2595.0) -
                                  1.0);
    edges.push_back(std::floor(static_cast<double>(length + 1) * hertz / rate));
  }
  const Shape to{length / 2 + 1, bins};
  std::vector<double> y;
  y.reserve(call.room(to));
  for_each_index(to, [&](const Shape& at) {
    const auto f = static_cast<double>(at[0]);
    const auto i = static_cast<std::size_t>(at[1]);
    const double a = edges[i], centre = edges[i + 1], b = edges[i + 2];
    double weight = 0.0;
    if (f == centre)
      weight = 1.0;
    else if (f >= a && f < centre)
      weight = (f - a) / (centre - a);
    else if (f > centre && f < b)
      weight = (b - f) / (b - centre);
    y.push_back(weight);
  });
  call.give(type_of_onnx(call.integer("output_datatype", 1), described(call.node)), to, y);
}

}  // namespace

void add_host_others(HostTable& t) {
  t["Range"] = {range, {0, 1, 2}};
  t["EyeLike"] = {eye_like, {}};
  t["Dropout"] = {dropout, {1, 2}};
  t["HannWindow"] = {[](HostCall& call) { window(call, 0.5, 0.5, 0.0); }, {0}};
  t["HammingWindow"] = {[](HostCall& call) { window(call, 25.0 / 46.0, 21.0 / 46.0, 0.0); }, {0}};
  t["BlackmanWindow"] = {[](HostCall& call) { window(call, 0.42, 0.5, 0.08); }, {0}};
  t["DFT"] = {dft, {1}};
  t["STFT"] = {stft, {1, 3}};
  t["MelWeightMatrix"] = {mel_weights, {0, 1, 2, 3, 4}};
  t["NonMaxSuppression"] = {non_max_suppression, {}, Shaping::by_values};
  t["RoiAlign"] = {roi_align, {}};
  t["GridSample"] = {grid_sample, {}};
}

}  // namespace steppe::graph
