// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/smooth.h"

#include <algorithm>
#include <cmath>

#include "models/base/error.h"
#include "workloads/graph/float_executor.h"
#include "workloads/passes/uses.h"

namespace steppe::passes {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

/// A normalisation over the last axis, and the products that read it.
struct Site {
  std::size_t norm = 0;
  std::vector<std::size_t> products;
  std::size_t channels = 0;
};

bool is_own_constant(const Graph& graph, const Uses& uses, ValueId id) {
  const graph::Value& value = graph.value(id);
  if (!value.constant || uses.consumers[id].size() != 1) return false;
  if (!value.fp32)
    throw ModelError("constant '{}' has no elements to move scales into", value.name);
  return true;
}

std::vector<Site> find_sites(const Graph& graph) {
  const Uses uses(graph);
  std::vector<Site> sites;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& norm = graph.nodes[i];
    if (norm.op != "LayerNormalization" || norm.inputs.size() < 3) continue;
    const ValueId out = norm.outputs[0];
    const std::vector<std::int64_t>& shape = graph.value(out).shape;
    const auto channels = static_cast<std::size_t>(shape.back());
    Site site{.norm = i, .products = uses.consumers[out], .channels = channels};
    const bool last_axis = norm.integer("axis") == static_cast<std::int64_t>(shape.size()) - 1;
    const auto is_product = [&](std::size_t reader) {
      const Node& node = graph.nodes[reader];
      return node.op == "MatMul" && node.inputs[0] == out && node.inputs[1] != out &&
             graph.value(node.inputs[1]).shape.size() == 2 &&
             is_own_constant(graph, uses, node.inputs[1]);
    };
    const auto fits = [&](ValueId id) {
      return is_own_constant(graph, uses, id) && graph.value(id).fp32->size() == channels;
    };
    if (last_axis && !uses.output[out] && !site.products.empty() && fits(norm.inputs[1]) &&
        fits(norm.inputs[2]) && std::ranges::all_of(site.products, is_product)) {
      sites.push_back(std::move(site));
    }
  }
  return sites;
}

void include(std::vector<float>& largest, const std::vector<float>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    float& all = largest[i % largest.size()];
    all = std::max(all, std::abs(rows[i]));
  }
}

/// Multiplies element i by factor(i).
template <typename F>
void multiply(graph::Value& value, F factor) {
  std::vector<float> elements = *value.fp32;
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] *= factor(i);
  value.fp32 = std::make_shared<const std::vector<float>>(std::move(elements));
}

}  // namespace

std::vector<std::string> smooth(Graph& graph, const std::vector<Sample>& samples, double alpha) {
  const std::vector<Site> sites = find_sites(graph);
  if (sites.empty()) return {};
  std::vector<std::vector<float>> inputs;
  inputs.reserve(sites.size());
  for (const Site& site : sites) inputs.emplace_back(site.channels);
  {
    graph::FloatExecutor executor(graph);
    for (const Sample& sample : samples) {
      executor.run(sample);
      for (std::size_t i = 0; i < sites.size(); ++i) {
        include(inputs[i], executor.value(graph.nodes[sites[i].norm].outputs[0]));
      }
    }
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const Site& site = sites[i];
    std::vector<float> weights(site.channels);
    for (const std::size_t product : site.products) {
      const std::vector<float>& w = *graph.value(graph.nodes[product].inputs[1]).fp32;
      const std::size_t columns = w.size() / site.channels;
      for (std::size_t j = 0; j < site.channels; ++j) {
        for (std::size_t k = 0; k < columns; ++k) {
          weights[j] = std::max(weights[j], std::abs(w[j * columns + k]));
        }
      }
    }
    std::vector<float> scale(site.channels, 1.0F);
    for (std::size_t j = 0; j < site.channels; ++j) {
      const double s =
          std::pow(double{inputs[i][j]}, alpha) / std::pow(double{weights[j]}, 1 - alpha);
      // A channel that is always zero, or that nothing weighs, stays as it is.
      if (inputs[i][j] > 0 && weights[j] > 0) scale[j] = static_cast<float>(s);
    }
    const Node& norm = graph.nodes[site.norm];
    for (const std::size_t input : {1U, 2U}) {
      multiply(graph.values[norm.inputs[input]], [&](std::size_t j) { return 1.0F / scale[j]; });
    }
    for (const std::size_t product : site.products) {
      graph::Value& w = graph.values[graph.nodes[product].inputs[1]];
      const std::size_t columns = std::max<std::size_t>(w.fp32->size() / site.channels, 1);
      multiply(w, [&](std::size_t at) { return scale[at / columns]; });
    }
    names.push_back(norm.name);
  }
  return names;
}

}  // namespace steppe::passes
