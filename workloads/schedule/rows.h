// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "workloads/net/net.h"

/// Which rows of which tensor a cluster computes and reads. A tensor's rows are its images' rows,
/// one image behind the other: row n * h + y.
namespace steppe::schedule {

/// Half-open.
struct RowRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  [[nodiscard]] bool empty() const { return begin >= end; }
  [[nodiscard]] std::uint64_t size() const { return empty() ? 0 : end - begin; }
  [[nodiscard]] bool contains(const RowRange& other) const {
    return other.empty() || (begin <= other.begin && other.end <= end);
  }
  bool operator==(const RowRange&) const = default;
};

RowRange hull(const RowRange& a, const RowRange& b);
RowRange intersect(const RowRange& a, const RowRange& b);

/// The rows of a tensor of `rows` rows that cluster `part` of `parts` owns: it computes them.
RowRange owned_rows(std::uint64_t rows, std::uint32_t part, std::uint32_t parts);

/// The part of one image that lies in a range of rows.
struct ImageRows {
  std::uint32_t image = 0;
  std::uint32_t begin = 0;  ///< within the image
  std::uint32_t end = 0;
};
/// Of at most `most` rows each.
std::vector<ImageRows> split_by_image(const RowRange& rows, std::uint32_t image_height,
                                      std::uint64_t most = ~std::uint64_t{0});

/// How the rows of a window operator's tile lie in its input: rows present and padding above them.
struct WindowRows {
  std::uint32_t begin = 0;  ///< within the image
  std::uint32_t end = 0;
  std::int32_t pad_top = 0;  ///< above `begin`; negative where the window starts below it
};
/// For output rows [begin, end) of one image. At least one input row is always present.
WindowRows window_rows(const ImageRows& out, std::uint32_t in_height, std::uint32_t kernel,
                       std::uint32_t stride, std::uint32_t dilation, std::uint32_t pad);

/// The rows of input `in` that a layer reads to compute `out_rows` of its output.
RowRange needed_rows(const net::Net& network, const net::Layer& layer, net::TensorId in,
                     const RowRange& out_rows);

/// The parts of a permutation that write bytes [begin, end) of its output, as whole strided copies.
void clip_permute(const net::PermutePart& part, std::int64_t begin, std::int64_t end,
                  const std::function<void(const net::PermutePart&)>& visit);

}  // namespace steppe::schedule
