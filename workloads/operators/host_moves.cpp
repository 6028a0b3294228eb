// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "workloads/operators/host.h"

/// Operators that move elements.
namespace steppe::graph {
namespace {

/// The result's element i is the operand's element source(i); -1 stands for `fill`.
template <typename F>
void move(HostCall& call, const Shape& to, F source, double fill = 0.0, std::size_t operand = 0) {
  const std::size_t size = call.room(to);
  by_kind(call.at(operand).type, [&](auto kind) {
    using T = decltype(kind);
    const std::vector<T> x = elements<T>(call.at(operand));
    std::vector<T> y;
    y.reserve(size);
    for_each_index(to, [&](const Shape& index) {
      const std::int64_t at = source(index);
      y.push_back(at < 0 ? static_cast<T>(fill) : x.at(static_cast<std::size_t>(at)));
    });
    call.give(call.at(operand).type, to, y);
  });
}

void reshaped(HostCall& call, const Shape& to) {
  Tensor result = call.at(0);
  if (result.size() != call.room(to))
    call.fail("{} does not become {}", text(result.shape), text(to));
  result.shape = to;
  call.out.push_back(std::move(result));
}

void reshape(HostCall& call) {
  const Shape& from = call.shape(0);
  Shape to = call.integers(1, "shape", {});
  std::int64_t known = 1;
  std::size_t open = to.size();
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == 0 && call.integer("allowzero", 0) == 0) {
      if (i >= from.size()) call.fail("there is no axis {} to keep", i);
      to[i] = from[i];
    }
    if (to[i] < 0) {
      if (open < to.size() || to[i] != -1) call.fail("{} is no shape", text(to));
      open = i;
    }
  }
  Shape rest = to;
  if (open < to.size()) rest[open] = 1;
  known = checked_elements(rest, described(call.node));
  if (open < to.size()) {
    if (known == 0) call.fail("{} is no shape for {}", text(to), text(from));
    to[open] = checked_elements(from, described(call.node)) / known;
  }
  reshaped(call, to);
}

void flatten(HostCall& call) {
  const Shape& from = call.shape(0);
  const std::int64_t given = call.integer("axis", 1);
  const std::int64_t axis = given < 0 ? given + call.rank(0) : given;
  if (axis < 0 || axis > call.rank(0)) call.fail("axis {} of {}", given, text(from));
  const auto product = [](auto first, auto last) {
    return std::accumulate(first, last, std::int64_t{1}, std::multiplies<>());
  };
  reshaped(call,
           {product(from.begin(), from.begin() + axis), product(from.begin() + axis, from.end())});
}

void squeeze(HostCall& call) {
  Shape axes = call.integers(1, "axes", {});
  for (std::int64_t& axis : axes) axis = call.axis(axis, call.rank(0));
  Shape to;
  for (std::size_t i = 0; i < call.shape(0).size(); ++i) {
    const std::int64_t extent = call.shape(0)[i];
    const bool named = std::count(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) > 0;
    if (!(named || (axes.empty() && extent == 1))) to.push_back(extent);
  }
  reshaped(call, to);
}

void unsqueeze(HostCall& call) {
  Shape axes = call.integers(1, "axes", {});
  const std::int64_t rank = call.rank(0) + static_cast<std::int64_t>(axes.size());
  for (std::int64_t& axis : axes) axis = call.axis(axis, rank);
  std::sort(axes.begin(), axes.end());
  Shape to = call.shape(0);
  for (const std::int64_t axis : axes) {
    if (axis > static_cast<std::int64_t>(to.size())) call.fail("axis {} is named twice", axis);
    to.insert(to.begin() + axis, 1);
  }
  reshaped(call, to);
}

void transpose(HostCall& call) {
  const Shape& from = call.shape(0);
  Shape perm(from.size());
  std::iota(perm.rbegin(), perm.rend(), 0);
  perm = call.integers("perm", perm);
  if (perm.size() != from.size()) call.fail("'perm' does not fit {}", text(from));
  const Shape own = row_major_steps(from);
  Shape steps, to;
  std::vector<bool> seen(from.size(), false);
  for (const std::int64_t axis : perm) {
    const auto i = static_cast<std::size_t>(call.axis(axis, call.rank(0)));
    if (seen[i]) call.fail("'perm' names axis {} twice", axis);
    seen[i] = true;
    steps.push_back(own[i]);
    to.push_back(from[i]);
  }
  move(call, to,
       [&](const Shape& index) { return static_cast<std::int64_t>(offset(index, steps)); });
}

void concat(HostCall& call) {
  const auto axis = static_cast<std::size_t>(call.axis(call.integer("axis", 1), call.rank(0)));
  Shape to = call.shape(0);
  to[axis] = 0;
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    Shape rest = call.shape(i);
    if (rest.size() != to.size() || call.at(i).type != call.at(0).type) {
      call.fail("operand {} does not fit", i);
    }
    to[axis] += rest[axis];
    rest[axis] = call.shape(0)[axis];
    if (rest != call.shape(0))
      call.fail("{} and {} do not fit", text(call.shape(i)), text(call.shape(0)));
  }
  const Shape steps = row_major_steps(to);
  by_kind(call.at(0).type, [&](auto kind) {
    using T = decltype(kind);
    std::vector<T> y(call.room(to));
    std::int64_t start = 0;
    for (std::size_t i = 0; i < call.in.size(); ++i) {
      const std::vector<T> x = elements<T>(call.at(i));
      std::size_t k = 0;
      for_each_index(call.shape(i), [&](const Shape& index) {
        y[offset(index, steps) + static_cast<std::size_t>(start)] = x[k++];
      });
      start += call.shape(i)[axis] * steps[axis];
    }
    call.give(call.at(0).type, to, y);
  });
}

/// A block of the operand from `starts` on with `steps` (which may be negative).
void block(HostCall& call, const Shape& starts, const Shape& steps, const Shape& to) {
  const Shape own = row_major_steps(call.shape(0));
  move(call, to, [&](const Shape& index) {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < index.size(); ++i) at += (starts[i] + index[i] * steps[i]) * own[i];
    return at;
  });
}

void split(HostCall& call) {
  const auto axis = static_cast<std::size_t>(call.axis(call.integer("axis", 0), call.rank(0)));
  const std::int64_t size = call.shape(0)[axis];
  const std::int64_t count = call.integer("num_outputs", call.integer("results", 1));
  if (count < 1 || count > 65536) call.fail("{} parts", count);
  Shape parts = call.integers(1, "split", {});
  if (parts.empty()) {
    const std::int64_t each = (size + count - 1) / std::max<std::int64_t>(count, 1);
    for (std::int64_t i = 0; i < count; ++i) {
      parts.push_back(std::clamp<std::int64_t>(size - i * each, 0, each));
    }
  }
  Shape starts(call.shape(0).size(), 0);
  for (const std::int64_t part : parts) {
    if (part < 0 || part > size - starts[axis]) call.fail("{} of an axis of {}", text(parts), size);
    Shape to = call.shape(0);
    to[axis] = part;
    block(call, starts, Shape(starts.size(), 1), to);
    starts[axis] += part;
  }
}

void slice(HostCall& call) {
  const Shape& from = call.shape(0);
  const Shape starts = call.integers(1, "starts", {});
  const Shape ends = call.integers(2, "ends", {});
  Shape axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = call.integers(3, "axes", axes);
  const Shape steps = call.has(4) ? integers(call.at(4)) : Shape(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    call.fail("starts, ends, axes and steps differ in number");
  }
  Shape first(from.size(), 0), stride(from.size(), 1), to = from;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto axis = static_cast<std::size_t>(call.axis(axes[i], call.rank(0)));
    const std::int64_t size = from[axis];
    const std::int64_t step = steps[i];
    if (step == 0 || step < -max_elements || step > max_elements) call.fail("a step of {}", step);
    const auto clamped = [&](std::int64_t at) {
      if (at < 0) at = at < -size ? -1 : at + size;
      return step > 0 ? std::clamp<std::int64_t>(at, 0, size)
                      : std::clamp<std::int64_t>(at, -1, size - 1);
    };
    first[axis] = clamped(starts[i]);
    const std::int64_t span =
        step > 0 ? clamped(ends[i]) - first[axis] : first[axis] - clamped(ends[i]);
    stride[axis] = step;
    to[axis] = span <= 0 ? 0 : (span + std::abs(step) - 1) / std::abs(step);
  }
  block(call, first, stride, to);
}

void expand(HostCall& call) {
  const Shape given = integers(call.at(1));
  const std::optional<Shape> to = broadcast_shape(call.shape(0), given);
  if (!to) call.fail("{} does not become {}", text(call.shape(0)), text(given));
  const Shape steps = broadcast_steps(call.shape(0), *to);
  move(call, *to,
       [&](const Shape& index) { return static_cast<std::int64_t>(offset(index, steps)); });
}

void tile(HostCall& call) {
  const Shape counts = integers(call.at(1));
  Shape to = call.shape(0);
  if (counts.size() != to.size()) call.fail("{} counts for {}", counts.size(), text(to));
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (counts[i] < 0 || counts[i] > max_host_elements) call.fail("{} times", counts[i]);
    to[i] *= counts[i];
  }
  const Shape own = row_major_steps(call.shape(0));
  move(call, to, [&](const Shape& index) {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < index.size(); ++i) at += index[i] % call.shape(0)[i] * own[i];
    return at;
  });
}

/// The position that a padded one repeats; -1 for the constant.
std::int64_t padded(std::int64_t at, std::int64_t size, const std::string& mode) {
  if (at >= 0 && at < size) return at;
  if (mode == "edge") return std::clamp<std::int64_t>(at, 0, size - 1);
  if (mode == "wrap") return ((at % size) + size) % size;
  if (mode != "reflect") return -1;
  if (size == 1) return 0;
  const std::int64_t period = 2 * (size - 1);
  const std::int64_t phase = ((at % period) + period) % period;
  return phase < size ? phase : period - phase;
}

void pad(HostCall& call) {
  const std::string mode = call.string("mode", "constant");
  const Shape given = call.integers(1, "pads", {});
  const Shape& from = call.shape(0);
  Shape axes(from.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (call.has(3)) axes = integers(call.at(3));
  if (given.size() != 2 * axes.size()) call.fail("{} pads for {} axes", given.size(), axes.size());
  Shape to = from, before(from.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(call.axis(axes[i], call.rank(0)));
    for (const std::int64_t each : {given[i], given[i + axes.size()]}) {
      if (std::abs(each) > max_host_elements) call.fail("a pad of {}", each);
    }
    before[axis] = given[i];
    to[axis] += given[i] + given[i + axes.size()];
    if (mode != "constant" && from[axis] == 0) call.fail("nothing to repeat on an empty axis");
  }
  const Shape own = row_major_steps(from);
  move(
      call, to,
      [&](const Shape& index) {
        std::int64_t at = 0;
        for (std::size_t i = 0; i < index.size(); ++i) {
          const std::int64_t position = padded(index[i] - before[i], from[i], mode);
          if (position < 0) return std::int64_t{-1};
          at += position * own[i];
        }
        return at;
      },
      call.has(2) ? call.scalar(2, 0.0) : call.real("value", 0.0));
}

void triangle(HostCall& call) {
  const bool upper = call.integer("upper", 1) != 0;
  const auto k = static_cast<std::int64_t>(call.scalar(1, 0.0));
  const Shape own = row_major_steps(call.shape(0));
  if (own.size() < 2) call.fail("{} is no matrix", text(call.shape(0)));
  move(call, call.shape(0), [&](const Shape& index) {
    const std::int64_t ahead = index.back() - index[index.size() - 2];
    const bool kept = upper ? ahead >= k : ahead <= k;
    return kept ? static_cast<std::int64_t>(offset(index, own)) : std::int64_t{-1};
  });
}

void reverse_sequence(HostCall& call) {
  const auto time = static_cast<std::size_t>(call.axis(call.integer("time_axis", 0), call.rank(0)));
  const auto batch =
      static_cast<std::size_t>(call.axis(call.integer("batch_axis", 1), call.rank(0)));
  const std::vector<std::int64_t> lengths = integers(call.at(1));
  const Shape own = row_major_steps(call.shape(0));
  move(call, call.shape(0), [&](Shape index) {
    const std::int64_t length = lengths.at(static_cast<std::size_t>(index[batch]));
    if (length > call.shape(0)[time]) call.fail("a length of {}", length);
    if (index[time] < length) index[time] = length - 1 - index[time];
    return static_cast<std::int64_t>(offset(index, own));
  });
}

void depth_to_space(HostCall& call) {
  const Shape& x = call.shape(0);
  const std::int64_t b = call.integer("blocksize", 0);
  if (x.size() != 4 || b < 1 || b > 4096 || x[1] % (b * b) != 0)
    call.fail("blocks of {} of {}", b, text(x));
  const std::int64_t depth = x[1] / (b * b);
  const bool crd = call.string("mode", "DCR") == "CRD";
  const Shape own = row_major_steps(x);
  move(call, {x[0], depth, x[2] * b, x[3] * b}, [&](const Shape& i) {
    const std::int64_t part = i[2] % b * b + i[3] % b;
    const std::int64_t channel = crd ? i[1] * b * b + part : part * depth + i[1];
    return static_cast<std::int64_t>(offset({i[0], channel, i[2] / b, i[3] / b}, own));
  });
}

void space_to_depth(HostCall& call) {
  const Shape& x = call.shape(0);
  const std::int64_t b = call.integer("blocksize", 0);
  if (x.size() != 4 || b < 1 || b > 4096 || x[2] % b != 0 || x[3] % b != 0)
    call.fail("blocks of {} of {}", b, text(x));
  const Shape own = row_major_steps(x);
  move(call, {x[0], x[1] * b * b, x[2] / b, x[3] / b}, [&](const Shape& i) {
    const std::int64_t part = i[1] / x[1];
    return static_cast<std::int64_t>(
        offset({i[0], i[1] % x[1], i[2] * b + part / b, i[3] * b + part % b}, own));
  });
}

void center_crop_pad(HostCall& call) {
  const Shape sizes = integers(call.at(1));
  Shape axes(call.shape(0).size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = call.integers("axes", axes);
  if (sizes.size() != axes.size()) call.fail("{} sizes for {} axes", sizes.size(), axes.size());
  Shape to = call.shape(0), shift(to.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(call.axis(axes[i], call.rank(0)));
    const std::int64_t size = call.shape(0)[axis];
    to[axis] = sizes[i];
    shift[axis] = sizes[i] > size ? -((sizes[i] - size) / 2) : (size - sizes[i]) / 2;
  }
  const Shape own = row_major_steps(call.shape(0));
  move(call, to, [&](const Shape& index) {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < index.size(); ++i) {
      const std::int64_t position = index[i] + shift[i];
      if (position < 0 || position >= call.shape(0)[i]) return std::int64_t{-1};
      at += position * own[i];
    }
    return at;
  });
}

}  // namespace

void add_host_moves(HostTable& t) {
  t["Reshape"] = {reshape, {1}};
  t["Flatten"] = {flatten, {}};
  t["Squeeze"] = {squeeze, {1}};
  t["Unsqueeze"] = {unsqueeze, {1}};
  t["Transpose"] = {transpose, {}};
  t["Concat"] = {concat, {}};
  t["Split"] = {split, {1}};
  t["Slice"] = {slice, {1, 2, 3, 4}};
  t["Expand"] = {expand, {1}};
  t["Tile"] = {tile, {1}};
  t["Pad"] = {pad, {1, 3}};
  t["Trilu"] = {triangle, {1}};
  t["ReverseSequence"] = {reverse_sequence, {}};
  t["DepthToSpace"] = {depth_to_space, {}};
  t["SpaceToDepth"] = {space_to_depth, {}};
  t["CenterCropPad"] = {center_crop_pad, {1}};
}

}  // namespace steppe::graph
