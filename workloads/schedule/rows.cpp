// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/rows.h"

#include <cmath>

#include "models/base/error.h"
#include "models/base/units.h"

namespace steppe::schedule {

RowRange hull(const RowRange& a, const RowRange& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

RowRange intersect(const RowRange& a, const RowRange& b) {
  const RowRange both{std::max(a.begin, b.begin), std::min(a.end, b.end)};
  return both.empty() ? RowRange{} : both;
}

RowRange owned_rows(std::uint64_t rows, std::uint32_t part, std::uint32_t parts) {
  return {ceil_div<std::uint64_t>(rows * part, parts),
          ceil_div<std::uint64_t>(rows * (part + 1), parts)};
}

std::vector<ImageRows> split_by_image(const RowRange& rows, std::uint32_t image_height,
                                      std::uint64_t most) {
  std::vector<ImageRows> parts;
  for (std::uint64_t at = rows.begin; at < rows.end;) {
    const std::uint64_t image = at / image_height;
    std::uint64_t end = std::min(rows.end, (image + 1) * image_height);
    if (end - at > most) end = at + most;
    parts.push_back({static_cast<std::uint32_t>(image),
                     static_cast<std::uint32_t>(at - image * image_height),
                     static_cast<std::uint32_t>(end - image * image_height)});
    at = end;
  }
  return parts;
}

WindowRows window_rows(const ImageRows& out, std::uint32_t in_height, std::uint32_t kernel,
                       std::uint32_t stride, std::uint32_t dilation, std::uint32_t pad) {
  const std::int64_t first = std::int64_t{out.begin} * stride - pad;
  const std::int64_t last =
      std::int64_t{out.end - 1} * stride - pad + std::int64_t{kernel - 1} * dilation;
  const std::int64_t bottom = std::int64_t{in_height} - 1;
  const std::int64_t begin = std::clamp<std::int64_t>(first, 0, bottom);
  const std::int64_t end = std::clamp<std::int64_t>(last, begin, bottom) + 1;
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end),
          static_cast<std::int32_t>(begin - first)};
}

namespace {

/// Hull over the images that `out_rows` touches of what `rows_of_image` says of each.
RowRange over_images(const RowRange& out_rows, std::uint32_t out_height, std::uint32_t in_height,
                     const std::function<RowRange(const ImageRows&)>& rows_of_image) {
  RowRange all;
  for (const ImageRows& part : split_by_image(out_rows, out_height)) {
    const RowRange in = rows_of_image(part);
    const std::uint64_t base = std::uint64_t{part.image} * in_height;
    all = hull(all, {base + in.begin, base + in.end});
  }
  return all;
}

RowRange permute_rows(const net::Net& network, const net::Permute& permute, net::TensorId in,
                      const RowRange& out_rows) {
  const std::uint64_t out_row = network.tensor(permute.out).shape.row_elements();
  const std::uint64_t in_row = network.tensor(in).shape.row_elements();
  RowRange all;
  for (const net::PermutePart& whole : permute.parts) {
    if (whole.in != in) continue;
    clip_permute(whole, static_cast<std::int64_t>(out_rows.begin * out_row),
                 static_cast<std::int64_t>(out_rows.end * out_row),
                 [&](const net::PermutePart& part) {
                   std::int64_t low = part.in_start;
                   std::int64_t high = part.in_start;
                   for (std::size_t axis = 0; axis < part.size.size(); ++axis) {
                     const std::int64_t reach = part.in_step[axis] * (part.size[axis] - 1);
                     (reach < 0 ? low : high) += reach;
                   }
                   all = hull(all, {static_cast<std::uint64_t>(low) / in_row,
                                    static_cast<std::uint64_t>(high) / in_row + 1});
                 });
  }
  return all;
}

/// The rows that output rows look at, and one more on both sides.
RowRange resized_rows(const net::Resize& resize, const ImageRows& out, std::uint32_t in_height) {
  const auto look = [&](std::uint32_t row) {
    const double centre = resize.half_pixel ? 0.5 : 0.0;
    const double at = (row + centre) * double{resize.step_h} - centre;
    return static_cast<std::int64_t>(
        std::clamp(std::floor(at), 0.0, static_cast<double>(in_height - 1)));
  };
  const std::int64_t first = look(out.begin);
  const std::int64_t last = look(out.end - 1);
  return {static_cast<std::uint64_t>(std::max<std::int64_t>(std::min(first, last) - 1, 0)),
          static_cast<std::uint64_t>(
              std::min<std::int64_t>(std::max(first, last) + 3, std::int64_t{in_height}))};
}

}  // namespace

RowRange needed_rows(const net::Net& network, const net::Layer& layer, net::TensorId in,
                     const RowRange& out_rows) {
  if (out_rows.empty()) return {};
  const net::Shape& shape = network.tensor(in).shape;
  const std::uint32_t out_height = network.tensor(net::output_of(layer)).shape.h;
  RowRange needed;
  if (const auto* conv = std::get_if<net::Conv>(&layer.op)) {
    if (in == conv->in) {
      needed = over_images(out_rows, out_height, shape.h, [&](const ImageRows& part) {
        const WindowRows rows = window_rows(part, shape.h, conv->kernel_h, conv->stride_h,
                                            conv->dilation_h, conv->pad_top);
        return RowRange{rows.begin, rows.end};
      });
    }
    if (in == conv->residual) needed = hull(needed, out_rows);
    return needed;
  }
  if (const auto* pool = std::get_if<net::Pool>(&layer.op)) {
    return over_images(out_rows, out_height, shape.h, [&](const ImageRows& part) {
      const WindowRows rows =
          window_rows(part, shape.h, pool->kernel_h, pool->stride_h, 1, pool->pad_top);
      return RowRange{rows.begin, rows.end};
    });
  }
  if (const auto* matmul = std::get_if<net::MatMul>(&layer.op)) {
    if (in == matmul->a) needed = out_rows;
    if (in == matmul->b) {
      needed = hull(needed, over_images(out_rows, out_height, shape.h, [&](const ImageRows&) {
                      return RowRange{0, shape.h};
                    }));
    }
    return needed;
  }
  if (std::holds_alternative<net::Map>(layer.op)) {
    for (const ImageRows& part : split_by_image(out_rows, out_height)) {
      const std::uint64_t image = shape.n == 1 ? 0 : part.image;
      const RowRange rows = shape.h == 1 ? RowRange{0, 1} : RowRange{part.begin, part.end};
      needed = hull(needed, {image * shape.h + rows.begin, image * shape.h + rows.end});
    }
    return needed;
  }
  if (const auto* resize = std::get_if<net::Resize>(&layer.op)) {
    return over_images(out_rows, out_height, shape.h,
                       [&](const ImageRows& part) { return resized_rows(*resize, part, shape.h); });
  }
  if (const auto* permute = std::get_if<net::Permute>(&layer.op)) {
    return permute_rows(network, *permute, in, out_rows);
  }
  return out_rows;  // Lut, Softmax, LayerNorm, Reduce, CacheStore: row by row
}

void clip_permute(const net::PermutePart& part, std::int64_t begin, std::int64_t end,
                  const std::function<void(const net::PermutePart&)>& visit) {
  std::int64_t last = part.out_start;
  std::size_t widest = 0;
  for (std::size_t axis = 0; axis < part.size.size(); ++axis) {
    STEPPE_CHECK(part.out_step[axis] >= 0, "permutations write forwards");
    last += part.out_step[axis] * (part.size[axis] - 1);
    const auto reach = [&](std::size_t a) { return part.size[a] > 1 ? part.out_step[a] : -1; };
    if (reach(axis) > reach(widest)) widest = axis;
  }
  if (last < begin || part.out_start >= end) return;
  if (part.out_start >= begin && last < end) {
    visit(part);
    return;
  }
  // Halve the axis with the widest steps: both halves are strided copies again, and only those that
  // straddle a bound are halved further.
  STEPPE_CHECK(part.size[widest] > 1, "a single element straddles a bound");
  net::PermutePart half = part;
  half.size[widest] = part.size[widest] / 2;
  clip_permute(half, begin, end, visit);
  half.out_start += part.out_step[widest] * half.size[widest];
  half.in_start += part.in_step[widest] * half.size[widest];
  half.size[widest] = part.size[widest] - half.size[widest];
  clip_permute(half, begin, end, visit);
}

}  // namespace steppe::schedule
