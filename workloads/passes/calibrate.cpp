// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/calibrate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "models/base/error.h"
#include "workloads/graph/float_executor.h"

namespace steppe::passes {
namespace {

constexpr float mask_value = -1e3F;  ///< at or below: an element that is masked out
constexpr float mask_depth = 16.0F;  ///< how far below the largest a masked element is kept

/// A 64-bit mixing generator (SplitMix64; Steele, Lea, Flood 2014): the same on every platform.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  /// In (0, 1].
  double uniform() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return static_cast<double>(((z ^ (z >> 31U)) >> 11U) + 1) * 0x1p-53;
  }
  /// Box and Muller's transform.
  float normal() {
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    return static_cast<float>(radius * std::cos(2.0 * std::numbers::pi * uniform()));
  }

 private:
  std::uint64_t state_;
};

/// By value: what only Softmax reads, moved or not. There a number far below all others stands for
/// "not this one", and how far below makes no difference.
std::vector<bool> maskable_values(const graph::Graph& graph) {
  const Uses uses(graph);
  std::vector<bool> result(graph.values.size(), false);
  const auto hides = [&](std::size_t reader) {
    const graph::Node& node = graph.nodes[reader];
    if (node.op == "Softmax") return true;
    const bool moves = node.op == "Reshape" || node.op == "Transpose" || node.op == "Expand";
    return moves && result[node.outputs[0]];
  };
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    for (const graph::ValueId id : graph.nodes[i].outputs) {
      const std::vector<std::size_t>& readers = uses.consumers[id];
      result[id] = !readers.empty() && !uses.output[id] && std::ranges::all_of(readers, hides);
    }
  }
  return result;
}

}  // namespace

float Range::magnitude() const { return std::max(std::abs(low), std::abs(high)); }

void Range::include(const Range& other) {
  low = std::min(low, other.low);
  high = std::max(high, other.high);
}

Range range_of(std::span<const float> values, bool masked) {
  Range range;
  float largest = mask_value;
  bool hidden = false;
  for (const float value : values) {
    if (masked && value <= mask_value) {
      hidden = true;
      continue;
    }
    if (!std::isfinite(value)) continue;
    largest = std::max(largest, value);
    range.include({value, value});
  }
  if (hidden && largest > mask_value) range.low = std::min(range.low, largest - mask_depth);
  return range;
}

Sample random_sample(const graph::Graph& graph, std::uint64_t seed) {
  Random random(seed);
  Sample sample;
  for (const graph::ValueId id : graph.inputs) {
    std::vector<float>& values = sample[graph.value(id).name];
    values.resize(graph.value(id).elements());
    const bool real = graph.value(id).type == graph::DataType::fp32;
    for (float& value : values) value = real ? random.normal() : random.uniform() > 0.5 ? 1 : 0;
  }
  return sample;
}

std::vector<Range> calibrate(const graph::Graph& graph, const std::vector<Sample>& samples,
                             const RangeMethod& method) {
  const std::vector<bool> maskable = maskable_values(graph);
  std::vector<bool> masked(graph.values.size(), false);  // what has masked elements, indeed
  std::vector<Range> ranges(graph.values.size());
  std::vector<float> storage;
  graph::FloatExecutor executor(graph);
  for (const Sample& sample : samples) {
    executor.run(sample);
    for (graph::ValueId id = 0; id < graph.values.size(); ++id) {
      if (graph.value(id).type == graph::DataType::boolean) continue;  // exact: 0 and 1
      const std::vector<float>& values = executor.numbers(id, storage);
      ranges[id].include(range_of(values, maskable[id]));
      masked[id] =
          masked[id] ||
          (maskable[id] && std::ranges::any_of(values, [](float x) { return x <= mask_value; }));
    }
  }
  if (method.kind == RangeMethod::Kind::minmax) return ranges;

  const auto clips = [&](graph::ValueId id) {
    const graph::Value& value = graph.value(id);
    return !masked[id] && !value.constant && value.type == graph::DataType::fp32;
  };
  std::vector<Histogram> histograms;
  histograms.reserve(ranges.size());
  for (const Range& range : ranges) histograms.emplace_back(range.magnitude());
  for (const Sample& sample : samples) {
    if (samples.size() > 1) executor.run(sample);  // of one, the values are still there
    for (graph::ValueId id = 0; id < graph.values.size(); ++id) {
      if (!clips(id)) continue;
      for (const float value : executor.value(id)) histograms[id].add(value);
    }
  }
  for (graph::ValueId id = 0; id < graph.values.size(); ++id) {
    if (!clips(id) || histograms[id].limit == 0.0F) continue;
    const float clip = threshold(histograms[id], method);
    ranges[id] = {std::max(ranges[id].low, -clip), std::min(ranges[id].high, clip)};
  }
  return ranges;
}

}  // namespace steppe::passes
