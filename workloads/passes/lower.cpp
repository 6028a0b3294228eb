// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/lower.h"

#include <algorithm>

#include "models/base/error.h"
#include "workloads/passes/fuse.h"
#include "workloads/passes/layout.h"
#include "workloads/passes/prune.h"
#include "workloads/passes/quantise.h"

namespace steppe::passes {
namespace {

bool lacks_data(const graph::Graph& graph) {
  return std::any_of(graph.values.begin(), graph.values.end(), [](const graph::Value& value) {
    return value.constant && value.type == graph::DataType::fp32 && value.elements() > 0 &&
           !value.fp32;
  });
}

const char* kind_name(const net::Layer& layer) {
  constexpr std::array names{"Conv",      "MatMul", "Map",    "Lut",     "Pool",      "Softmax",
                             "LayerNorm", "Reduce", "Resize", "Permute", "CacheStore"};
  return names.at(layer.op.index());
}

double density_of(const net::Conv& conv) {
  if (!conv.weights.has_data()) return conv.sparsity.stored();
  const auto zeros = [](const auto& all) { return std::count(all.begin(), all.end(), 0); };
  const auto count = conv.weights.int8 ? zeros(*conv.weights.int8) : zeros(*conv.weights.bf16);
  return 1.0 - static_cast<double>(count) / static_cast<double>(conv.weights.size);
}

void describe(const net::Net& net, const std::vector<Range>& ranges, LowerReport& report) {
  for (const net::Layer& layer : net.layers) {
    LayerReport row;
    row.name = layer.name;
    row.kind = kind_name(layer);
    row.nodes = layer.nodes;
    row.shape = net.tensor(net::output_of(layer)).shape;
    row.macs = net::dense_macs(net, layer);
    if (const auto* conv = std::get_if<net::Conv>(&layer.op)) {
      row.sparsity = conv->sparsity;
      row.density = density_of(*conv);
    }
    report.layers.push_back(std::move(row));
  }
  for (std::size_t i = 0; i < net.tensors.size(); ++i) {
    report.tensors.push_back({net.tensors[i].name, ranges[i], net.tensors[i].quant.scale});
  }
}

void check_in_bf16(const graph::Graph& graph, const LowerOptions& options) {
  std::set<std::string> unknown = options.in_bf16;
  for (const graph::Node& node : graph.nodes) unknown.erase(node.name);
  if (!unknown.empty()) {
    throw ModelError("there is no node '{}' to keep in bf16", *unknown.begin());
  }
}

/// The ranges of a table, by value; every value that has a tensor has to be in it.
std::vector<Range> given_ranges(const graph::Graph& graph, const Layout& layout,
                                const std::map<std::string, Range>& table) {
  std::vector<Range> ranges(graph.values.size());
  for (std::size_t id = 0; id < graph.values.size(); ++id) {
    const auto found = table.find(graph.values[id].name);
    if (found != table.end()) ranges[id] = found->second;
  }
  for (std::size_t i = 0; i < layout.values.size(); ++i) {
    const graph::ValueId id = layout.values[i];
    if (id == graph::no_value || layout.net.tensors[i].type != net::Type::int8) continue;
    if (!table.contains(graph.value(id).name)) {
      throw ModelError("the calibration table has no range for value '{}'", graph.value(id).name);
    }
  }
  return ranges;
}

}  // namespace

std::vector<net::Type> node_types(const graph::Graph& graph, const LowerOptions& options) {
  std::vector<net::Type> types(graph.nodes.size(), options.precision);
  if (options.precision != net::Type::int8) return types;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (options.in_bf16.contains(graph.nodes[i].name)) types[i] = net::Type::bf16;
  }
  return types;
}

net::Net lower(const graph::Graph& graph, const LowerOptions& options, LowerReport* report) {
  check_in_bf16(graph, options);
  const std::vector<net::Type> types = node_types(graph, options);
  const std::vector<Step> steps = fuse(graph, types);
  Layout layout = lay_out(graph, steps, options.precision);
  const bool timing = options.timing_only || lacks_data(graph);
  const bool drawn = options.samples.empty();
  std::vector<Sample> drawn_samples;
  if (drawn && !timing) drawn_samples.push_back(random_sample(graph, options.seed));
  const std::vector<Sample>& samples = drawn ? drawn_samples : options.samples;
  graph::Graph pruned = graph;
  Pruning pruning = options.pruning;
  if (timing) pruning.method = PruneMethod::magnitude;  // samples and values may be missing
  prune(pruned, steps, layout, pruning, samples);
  std::vector<Range> ranges(layout.net.tensors.size());
  std::vector<Range> values;
  if (!timing) {
    if (options.precision == net::Type::int8) {
      values = options.ranges.empty() ? calibrate(pruned, samples, options.method)
                                      : given_ranges(graph, layout, options.ranges);
    }
    for (graph::ValueId id = 0; id < values.size(); ++id) {
      const auto known = options.known.find(graph.value(id).name);
      if (known != options.known.end()) values[id] = known->second;
    }
    ranges = set_quantisations(layout, values, options.symmetric);
    quantise(pruned, steps, values, layout, options.symmetric);
  }
  net::check(layout.net);
  if (report != nullptr) {
    *report = {};
    const bool calibrated =
        !timing && options.precision == net::Type::int8 && options.ranges.empty();
    report->samples = !calibrated ? 0
                      : drawn     ? 1
                                  : static_cast<std::uint32_t>(options.samples.size());
    const bool guided = !timing && options.pruning.method == PruneMethod::obs;
    report->random_samples = drawn && (calibrated || guided);
    describe(layout.net, ranges, *report);
    for (const graph::ValueId id : layout.values) {
      if (id < values.size()) report->values[graph.value(id).name] = values[id];
    }
    for (const auto& [value, view] : layout.places) {
      ValuePlace place{value, view.tensor, view.offset, {}};
      for (const Axis& axis : view.axes) {
        place.steps.insert(place.steps.end(), axis.begin(), axis.end());
      }
      report->places.push_back(std::move(place));
    }
  }
  return std::move(layout.net);
}

}  // namespace steppe::passes
