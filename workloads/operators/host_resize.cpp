// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "workloads/operators/host.h"

/// Resize by ONNX's reference: axis after axis, each a weighted sum of neighbours.
namespace steppe::graph {
namespace {

struct Tap {
  std::int64_t index;
  double weight;
};

/// How one axis is resampled.
struct Axis {
  std::int64_t in = 1, out = 1;
  double scale = 1.0;
  double start = 0.0, end = 1.0;  ///< region of interest
};

double source(const HostCall& call, const std::string& mode, const Axis& a, double x) {
  const auto in = static_cast<double>(a.in);
  const double length = a.scale * in;
  if (mode == "half_pixel") return (x + 0.5) / a.scale - 0.5;
  if (mode == "half_pixel_symmetric") {
    const double adjustment = static_cast<double>(a.out) / length;
    return in / 2.0 * (1.0 - adjustment) + (x + 0.5) / a.scale - 0.5;
  }
  if (mode == "pytorch_half_pixel") return length > 1.0 ? (x + 0.5) / a.scale - 0.5 : -0.5;
  if (mode == "asymmetric") return x / a.scale;
  if (mode == "align_corners") return length == 1.0 ? 0.0 : x * (in - 1.0) / (length - 1.0);
  if (mode == "tf_half_pixel_for_nn") return (x + 0.5) / a.scale;
  if (mode == "tf_crop_and_resize") {
    if (a.out <= 1) return 0.5 * (a.start + a.end) * (in - 1.0);
    return a.start * (in - 1.0) +
           x * (a.end - a.start) * (in - 1.0) / (static_cast<double>(a.out) - 1.0);
  }
  call.fail("coordinates by '{}'", mode);
}

double cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  return x < 2.0 ? ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a : 0.0;
}

double nearest(const std::string& mode, double x) {
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  if (mode == "round_prefer_ceil") return std::floor(x + 0.5);
  return std::ceil(x - 0.5);
}

std::vector<Tap> taps(const HostCall& call, const Axis& a, double x) {
  const std::string kind = call.string("mode", "nearest");
  x = std::isnan(x) ? 0.0 : std::clamp(x, -1e9, 1e9);
  const double last = static_cast<double>(a.in - 1);
  if (kind == "nearest") {
    return {{static_cast<std::int64_t>(std::clamp(
                 nearest(call.string("nearest_mode", "round_prefer_floor"), x), 0.0, last)),
             1.0}};
  }
  const bool is_cubic = kind == "cubic";
  const bool antialias = call.integer("antialias", 0) != 0 && a.scale < 1.0;
  const double shrink = antialias ? a.scale : 1.0;
  const double reach = (is_cubic ? 2.0 : 1.0) / shrink;
  if (!(reach < 65536.0)) call.fail("a scale of {}", a.scale);
  const double coefficient = call.real("cubic_coeff_a", -0.75);
  const bool exclude = call.integer("exclude_outside", 0) != 0 || antialias;
  std::vector<Tap> result;
  double sum = 0.0;
  for (double at = std::floor(x - reach) + 1.0; at < x + reach || at == std::floor(x); at += 1.0) {
    const double distance = (at - x) * shrink;
    double weight =
        is_cubic ? cubic(distance, coefficient) : std::max(0.0, 1.0 - std::abs(distance));
    if (exclude && (at < 0.0 || at > last)) weight = 0.0;
    sum += weight;
    result.push_back({static_cast<std::int64_t>(std::clamp(at, 0.0, last)), weight});
  }
  if (exclude) {
    for (Tap& tap : result) tap.weight /= sum;
  }
  return result;
}

std::vector<double> along(const HostCall& call, const std::vector<double>& x, Shape& shape,
                          std::size_t axis, const Axis& a) {
  const std::string mode = call.op() == "Upsample" || call.opset() < 11
                               ? "asymmetric"
                               : call.string("coordinate_transformation_mode", "half_pixel");
  const std::int64_t step = row_major_steps(shape)[axis];
  const Shape from = row_major_steps(shape);
  shape[axis] = a.out;
  std::vector<std::vector<Tap>> plan;
  std::vector<bool> outside;
  for (std::int64_t i = 0; i < a.out; ++i) {
    const double at = source(call, mode, a, static_cast<double>(i));
    outside.push_back(mode == "tf_crop_and_resize" &&
                      (at < 0.0 || at > static_cast<double>(a.in - 1)));
    plan.push_back(taps(call, a, at));
  }
  std::vector<double> y;
  y.reserve(call.room(shape));
  for_each_index(shape, [&](const Shape& index) {
    const auto i = static_cast<std::size_t>(index[axis]);
    const std::int64_t base = static_cast<std::int64_t>(offset(index, from)) - index[axis] * step;
    double sum = 0.0;
    for (const Tap& tap : plan[i])
      sum += tap.weight * x[static_cast<std::size_t>(base + tap.index * step)];
    y.push_back(outside[i] ? call.real("extrapolation_value", 0.0) : sum);
  });
  return y;
}

void resize(HostCall& call) {
  const bool old = call.op() == "Upsample" || call.opset() < 11;
  const std::size_t scales_at = old ? 1 : 2;
  Shape shape = call.shape(0);
  Shape axes(shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = call.integers("axes", axes);
  std::vector<double> scales, roi;
  if (call.has(scales_at)) scales = reals(call.at(scales_at));
  if (call.given("scales")) {
    const auto* given = std::get_if<std::vector<float>>(&call.node.attributes.at("scales"));
    if (given != nullptr) scales.assign(given->begin(), given->end());
  }
  if (!old && call.has(1)) roi = reals(call.at(1));
  const Shape sizes = !old && call.has(3) ? integers(call.at(3)) : Shape{};
  if (std::max(scales.size(), sizes.size()) != axes.size())
    call.fail("neither scales nor sizes fit {}", text(shape));
  double policy = 0.0;
  const std::string keep = call.string("keep_aspect_ratio_policy", "stretch");
  std::vector<double> x = reals(call.at(0));
  for (std::size_t i = 0; i < axes.size() && keep != "stretch"; ++i) {
    const double ratio =
        static_cast<double>(sizes.at(i)) /
        static_cast<double>(shape[static_cast<std::size_t>(call.axis(axes[i], call.rank(0)))]);
    policy = i == 0                 ? ratio
             : keep == "not_larger" ? std::min(policy, ratio)
                                    : std::max(policy, ratio);
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(call.axis(axes[i], call.rank(0)));
    Axis a;
    a.in = shape[axis];
    if (a.in < 1) call.fail("an empty axis");
    const bool crops = roi.size() == 2 * axes.size() &&
                       call.string("coordinate_transformation_mode", "") == "tf_crop_and_resize";
    if (crops) a.start = roi[i], a.end = roi[i + axes.size()];
    a.scale = sizes.empty()   ? scales[i]
              : policy != 0.0 ? policy
                              : static_cast<double>(sizes[i]) / static_cast<double>(a.in);
    const double out =
        policy != 0.0 ? std::round(policy * static_cast<double>(a.in))
        : sizes.empty()
            ? std::floor(static_cast<double>(a.in) * a.scale * (crops ? a.end - a.start : 1.0))
            : static_cast<double>(sizes[i]);
    if (!(out >= 0.0 && out < static_cast<double>(max_host_elements)) || !(a.scale > 0.0))
      call.fail("a scale of {}", a.scale);
    a.out = static_cast<std::int64_t>(out);
    if (a.out != a.in || crops || a.scale != 1.0) x = along(call, x, shape, axis, a);
  }
  call.give(call.at(0).type, shape, x);
}

}  // namespace

void add_host_resize(HostTable& t) {
  t["Resize"] = {resize, {1, 2, 3}};
  t["Upsample"] = {resize, {1}};
}

}  // namespace steppe::graph
