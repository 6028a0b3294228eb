// SPDX-License-Identifier: Apache-2.0
#include "sim/report/layer_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "workloads/graph/float_executor.h"
#include "workloads/passes/gather.h"
#include "workloads/reference/executor.h"

namespace steppe::sim {
namespace {

/// The number that an element stands for.
float number(const net::Tensor& tensor, const reference::Values& values, std::size_t at) {
  if (tensor.type == net::Type::int8) {
    return static_cast<float>(values.int8[at] - tensor.quant.zero) * tensor.quant.scale;
  }
  if (tensor.type == net::Type::int32) {
    return static_cast<float>(values.int32[at]) * tensor.quant.scale;
  }
  return values.real[at];
}

}  // namespace

void Power::add(float wanted, float got) {
  if (!std::isfinite(wanted)) return;  // a mask
  const double difference = double{wanted} - double{got};
  signal += double{wanted} * double{wanted};
  noise += difference * difference;
}

double Power::decibels() const {
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

std::vector<LayerError> layer_errors(const graph::Graph& graph, const net::Net& network,
                                     const passes::LowerReport& lowered,
                                     const std::vector<passes::Sample>& samples) {
  std::map<net::TensorId, const passes::ValuePlace*> places;
  for (const passes::ValuePlace& place : lowered.places) places[place.tensor] = &place;
  std::vector<Power> powers(network.tensors.size());
  reference::Executor executor(network);
  graph::FloatExecutor real(graph);
  std::vector<float> storage;
  for (const passes::Sample& sample : samples) {
    std::vector<std::vector<float>> inputs;
    for (const net::Port& port : network.inputs) inputs.push_back(sample.at(port.name));
    executor.run(inputs);
    real.run(sample);
    for (const auto& entry : places) {
      const net::Tensor& tensor = network.tensor(entry.first);
      const passes::ValuePlace* place = entry.second;
      const std::vector<float>& wanted = real.numbers(place->value, storage);
      const reference::Values& got = executor.tensor(entry.first);
      Power& power = powers[entry.first];
      passes::for_each_step(place->steps, [&](std::uint64_t i, std::size_t step) {
        const auto at = static_cast<std::size_t>(place->offset + static_cast<std::int64_t>(step));
        power.add(wanted[i], number(tensor, got, at));
      });
    }
  }
  std::vector<LayerError> errors;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const net::TensorId out = net::output_of(network.layers[i]);
    if (!places.contains(out) || lowered.layers[i].nodes.empty()) continue;
    const bool output = std::ranges::any_of(
        network.outputs, [&](const net::Port& port) { return port.tensor == out; });
    errors.push_back({.name = network.layers[i].name,
                      .kind = lowered.layers[i].kind,
                      .nodes = lowered.layers[i].nodes,
                      .type = std::string(net::name_of(network.tensor(out).type)),
                      .decibels = powers[out].decibels(),
                      .output = output});
  }
  return errors;
}

std::string format_table(const std::vector<LayerError>& errors) {
  std::string text =
      fmt::format("{:<44} {:<10} {:<5} {:>14}\n", "layer", "kind", "type", "signal / noise");
  for (const LayerError& error : errors) {
    text += fmt::format("{:<44} {:<10} {:<5} {:>11.1f} dB{}\n", error.name, error.kind, error.type,
                        error.decibels, error.output ? "  output" : "");
  }
  return text;
}

}  // namespace steppe::sim
