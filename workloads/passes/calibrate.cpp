// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/calibrate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "models/base/error.h"
#include "workloads/graph/float_executor.h"

namespace steppe::passes {
namespace {

constexpr float mask_value = -1e4F;  ///< at or below: an element that is masked out
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

/// Whether a node adds a constant that holds mask values, or puts them in.
bool adds_mask(const graph::Graph& graph, const graph::Node& node) {
  if (node.op != "Add" && node.op != "Where") return false;
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](graph::ValueId id) {
    const graph::Value& value = graph.value(id);
    return value.fp32 && std::any_of(value.fp32->begin(), value.fp32->end(),
                                     [](float x) { return x <= mask_value; });
  });
}

/// By value: the sum of scores and a mask that only Softmax reads.
std::vector<bool> masked_values(const graph::Graph& graph) {
  const Uses uses(graph);
  std::vector<bool> result(graph.values.size(), false);
  for (const graph::Node& node : graph.nodes) {
    if (!adds_mask(graph, node)) continue;
    const std::vector<std::size_t>& readers = uses.consumers[node.outputs[0]];
    result[node.outputs[0]] = std::all_of(readers.begin(), readers.end(), [&](std::size_t reader) {
      return graph.nodes[reader].op == "Softmax";
    });
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
    if (!std::isfinite(value)) continue;
    if (masked && value <= mask_value) {
      hidden = true;
      continue;
    }
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
  const std::vector<bool> masked = masked_values(graph);
  std::vector<Range> ranges(graph.values.size());
  graph::FloatExecutor executor(graph);
  for (const Sample& sample : samples) {
    executor.run(sample);
    for (graph::ValueId id = 0; id < graph.values.size(); ++id) {
      ranges[id].include(range_of(executor.value(id), masked[id]));
    }
  }
  if (method.kind == RangeMethod::Kind::minmax) return ranges;

  std::vector<Histogram> histograms;
  histograms.reserve(ranges.size());
  for (const Range& range : ranges) histograms.emplace_back(range.magnitude());
  for (const Sample& sample : samples) {
    if (samples.size() > 1) executor.run(sample);  // of one, the values are still there
    for (graph::ValueId id = 0; id < graph.values.size(); ++id) {
      if (masked[id] || graph.value(id).constant) continue;
      for (const float value : executor.value(id)) histograms[id].add(value);
    }
  }
  for (graph::ValueId id = 0; id < graph.values.size(); ++id) {
    if (masked[id] || graph.value(id).constant || histograms[id].limit == 0.0F) continue;
    const float clip = threshold(histograms[id], method);
    ranges[id] = {std::max(ranges[id].low, -clip), std::min(ranges[id].high, clip)};
  }
  return ranges;
}

}  // namespace steppe::passes
