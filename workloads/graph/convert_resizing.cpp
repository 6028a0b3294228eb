// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "workloads/graph/context.h"

namespace steppe::graph {
namespace {

/// Repeats each element (`inner`) or the whole (`!inner`) along every axis: a new axis next to each
/// is stretched and joined with it.
ValueId repeated(Context& c, const Shape& counts, bool inner) {
  const Shape from = c.shape(0);
  Shape split, stretched, to;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (counts[i] < 0 || counts[i] > max_elements / std::max<std::int64_t>(from[i], 1)) {
      c.fail("{} cannot be repeated {} times", text(from), counts[i]);
    }
    to.push_back(from[i] * counts[i]);
    const bool once = counts[i] == 1;
    if (!once && !inner) {
      split.push_back(1);
      stretched.push_back(counts[i]);
    }
    split.push_back(from[i]);
    stretched.push_back(from[i]);
    if (!once && inner) {
      split.push_back(1);
      stretched.push_back(counts[i]);
    }
  }
  if (to == from) return c.in(0);
  const ValueId apart = c.b.reshape(c.in(0), split);
  return c.b.reshape(c.b.add("Expand", {apart}, {}, stretched), to);
}

void tile(Context& c) {
  const Shape counts = c.integers_in(1);
  if (counts.size() != c.shape(0).size()) {
    c.fail("{} counts for {}", counts.size(), text(c.shape(0)));
  }
  c.give(repeated(c, counts, false));
}

/// The factors of an enlargement, which must be whole.
Shape whole_factors(const Context& c, const std::vector<float>& scales) {
  if (scales.size() != c.shape(0).size()) {
    c.fail("{} scales for {}", scales.size(), text(c.shape(0)));
  }
  Shape factors;
  for (const float scale : scales) {
    if (!(scale >= 1.0F && scale < 65536.0F) || scale != std::floor(scale)) {
      c.fail("a scale of {}; only whole factors of an enlargement are supported", scale);
    }
    factors.push_back(static_cast<std::int64_t>(scale));
  }
  return factors;
}

Shape factors_to(const Context& c, const Shape& sizes) {
  const Shape& from = c.shape(0);
  if (sizes.size() != from.size()) c.fail("{} sizes for {}", sizes.size(), text(from));
  Shape factors;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] == 0 || sizes[i] < from[i] || sizes[i] % from[i] != 0) {
      c.fail("{} to {}; only whole factors of an enlargement are supported", text(from),
             text(sizes));
    }
    factors.push_back(sizes[i] / from[i]);
  }
  return factors;
}

/// Nearest neighbour by whole factors. All of ONNX's coordinate and rounding rules agree on these
/// but for asymmetric with ceil and the rules with aligned corners.
void resize(Context& c) {
  const std::string mode = c.string("mode", "nearest");
  if (mode != "nearest") c.fail("the mode is '{}'; only 'nearest' is supported", mode);
  const bool old = c.raw.op == "Upsample" || c.opset < 11;
  const std::string coordinates = c.string("coordinate_transformation_mode", "half_pixel");
  const std::string rounding = c.string("nearest_mode", "round_prefer_floor");
  const bool half = coordinates == "half_pixel" || coordinates == "pytorch_half_pixel";
  const bool repeats = half ? rounding.starts_with("round") : rounding == "floor";
  if (!old && !(repeats && (half || coordinates == "asymmetric"))) {
    c.fail("nearest neighbours by '{}' and '{}' are not supported", coordinates, rounding);
  }
  const std::size_t scales = old ? 1 : 2;
  if (c.has(3) && !old) return c.give(repeated(c, factors_to(c, c.integers_in(3)), true));
  if (c.given("scales")) {
    const auto* given = std::get_if<std::vector<float>>(&c.raw.attributes.at("scales"));
    if (given == nullptr) c.fail("the attribute 'scales' is no list of real numbers");
    return c.give(repeated(c, whole_factors(c, *given), true));
  }
  c.give(repeated(c, whole_factors(c, c.reals_in(scales)), true));
}

/// Blocks of channels become blocks of pixels.
void depth_to_space(Context& c) {
  const Shape x = c.shape(0);
  const std::int64_t block = c.integer("blocksize", 0);
  if (x.size() != 4 || block < 1 || block > 4096 || x[1] % (block * block) != 0) {
    c.fail("blocks of {} of {}", block, text(x));
  }
  const std::int64_t depth = x[1] / (block * block);
  const bool columns_last = c.string("mode", "DCR") == "CRD";
  const Shape split = columns_last ? Shape{x[0], depth, block, block, x[2], x[3]}
                                   : Shape{x[0], block, block, depth, x[2], x[3]};
  const Shape perm = columns_last ? Shape{0, 1, 4, 2, 5, 3} : Shape{0, 3, 4, 1, 5, 2};
  const ValueId moved = c.b.transpose(c.b.reshape(c.in(0), split), perm);
  c.give(c.b.reshape(moved, {x[0], depth, x[2] * block, x[3] * block}));
}

void space_to_depth(Context& c) {
  const Shape x = c.shape(0);
  const std::int64_t block = c.integer("blocksize", 0);
  if (x.size() != 4 || block < 1 || block > 4096 || x[2] % block != 0 || x[3] % block != 0) {
    c.fail("blocks of {} of {}", block, text(x));
  }
  const Shape split{x[0], x[1], x[2] / block, block, x[3] / block, block};
  const ValueId moved = c.b.transpose(c.b.reshape(c.in(0), split), {0, 3, 5, 1, 2, 4});
  c.give(c.b.reshape(moved, {x[0], x[1] * block * block, x[2] / block, x[3] / block}));
}

}  // namespace

void add_resizing(Conversions& table) {
  table["Tile"] = tile;
  table["Resize"] = resize;
  table["Upsample"] = resize;
  table["DepthToSpace"] = depth_to_space;
  table["SpaceToDepth"] = space_to_depth;
}

}  // namespace steppe::graph
