// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/sensitivity.h"

#include "models/base/error.h"
#include "workloads/passes/compensate.h"
#include "workloads/passes/gather.h"
#include "workloads/passes/layout.h"

namespace steppe::passes {
namespace {

double noise_of(const std::vector<float>& weights, const Moments& moments, PruneMethod method,
                const net::Sparsity& sparsity) {
  std::vector<float> change = weights;
  if (method == PruneMethod::obs) {
    prune_compensated(change, moments, sparsity);
  } else {
    prune_by_magnitude(change, moments.k(), sparsity);
  }
  for (std::size_t i = 0; i < change.size(); ++i) change[i] -= weights[i];
  const double signal = moments.energy(weights);
  return signal > 0 ? moments.energy(change) / signal : 0.0;
}

}  // namespace

std::vector<Sensitivity> scan(const graph::Graph& graph, const LowerOptions& options) {
  const std::vector<Step> steps = fuse(graph, node_types(graph, options));
  const Layout layout = lay_out(graph, steps, options.precision);
  const std::vector<std::size_t> layers = prunable_layers(layout);
  const std::vector<Sample> samples =
      options.samples.empty() ? std::vector{random_sample(graph, options.seed)} : options.samples;
  std::vector<Sensitivity> result;
  double all = 0;
  with_moments(graph, steps, layout, layers, samples, [&](std::size_t i, const Moments& moments) {
    const net::Layer& layer = layout.net.layers[i];
    const LayerSource& source = layout.sources[i];
    const graph::Value& value = graph.value(graph.nodes[steps[source.step].node].inputs[1]);
    if (!value.fp32) throw ModelError("layer '{}': its weights have no data", layer.name);
    const std::vector<float> weights = gathered(*value.fp32, source.weights);
    Sensitivity& entry = result.emplace_back();
    entry.layer = layer.name;
    entry.share = static_cast<double>(net::dense_macs(layout.net, layer));
    all += entry.share;
    const Bytes item = layout.net.tensor(std::get<net::Conv>(layer.op).in).item_bytes();
    const net::Sparsity own = cheapest_encoding(weights, moments.k(), item);
    for (std::size_t r = 0; r < scanned_ratios.size(); ++r) {
      const net::Sparsity ratio = net::balanced(scanned_ratios.at(r));
      if (own.stored() > ratio.stored()) {
        entry.noise.at(r) = noise_of(weights, moments, options.pruning.method, ratio);
      }
    }
  });
  for (Sensitivity& entry : result) entry.share /= all;
  return result;
}

std::map<std::string, Ratio> choose_ratios(const std::vector<Sensitivity>& layers, double price) {
  std::map<std::string, Ratio> ratios;
  for (const Sensitivity& layer : layers) {
    std::uint32_t best = 1;
    double least = layer.share;
    for (std::size_t r = 0; r < scanned_ratios.size(); ++r) {
      const std::uint32_t ratio = scanned_ratios.at(r);
      const double cost = layer.share / ratio + price * layer.noise.at(r);
      if (cost < least) {
        least = cost;
        best = ratio;
      }
    }
    ratios[layer.layer] = net::balanced(best);
  }
  return ratios;
}

}  // namespace steppe::passes
