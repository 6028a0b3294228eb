// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/compensate.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "builder.h"
#include "workloads/passes/layout.h"
#include "workloads/passes/prune.h"

using namespace steppe;
using namespace steppe::passes;
using test::Builder;
using test::Dims;

namespace {

/// A graph of one layer with its moments over a few normally distributed samples, in which
/// neighbouring elements are alike.
struct OneLayer {
  graph::Graph graph;
  std::vector<Step> steps;
  Layout layout;
  std::vector<Sample> samples;

  OneLayer(graph::Graph given, std::size_t count) : graph(std::move(given)) {
    steps = fuse(graph);
    layout = lay_out(graph, steps);
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < count; ++i) {
      Sample& sample = samples.emplace_back();
      for (const graph::ValueId id : graph.inputs) {
        std::vector<float>& x = sample[graph.value(id).name];
        x.resize(graph.value(id).elements());
        float last = 0;
        for (float& element : x) element = last = 0.7F * last + normal(random);
      }
    }
  }

  [[nodiscard]] std::size_t layer() const { return prunable_layers(layout).at(0); }
  [[nodiscard]] const graph::Value& weights() const {
    return graph.value(graph.nodes[steps[layout.sources[layer()].step].node].inputs[1]);
  }
  [[nodiscard]] std::vector<float> in_order(const std::vector<float>& data) const {
    std::vector<float> result(data.size());
    const Axis& axis = layout.sources[layer()].weights;
    std::vector<std::uint64_t> index(axis.size());
    for (float& element : result) {
      std::int64_t offset = 0;
      for (std::size_t i = 0; i < axis.size(); ++i) {
        offset += static_cast<std::int64_t>(index[i]) * axis[i].step;
      }
      element = data.at(static_cast<std::size_t>(offset));
      for (std::size_t i = axis.size(); i-- > 0;) {
        if (++index[i] < axis[i].size) break;
        index[i] = 0;
      }
    }
    return result;
  }
  /// Squared sum of what the model of these weights puts out; of the executor, not of moments.
  [[nodiscard]] double energy(const std::vector<float>& data) const {
    graph::Graph changed = graph;
    for (graph::Value& value : changed.values) {
      if (value.name == weights().name) {
        value.fp32 = std::make_shared<const std::vector<float>>(data);
      }
    }
    graph::FloatExecutor executor(changed);
    double sum = 0;
    for (const Sample& sample : samples) {
      executor.run(sample);
      for (const float y : executor.value(changed.outputs[0])) sum += double{y} * double{y};
    }
    return sum;
  }
  template <typename F>
  void with(F f) const {
    const std::size_t only = layer();
    with_moments(graph, steps, layout, std::span(&only, 1), samples,
                 [&](std::size_t /*layer*/, const Moments& moments) { f(moments); });
  }
};

graph::Graph conv_graph(const Dims& in, const Dims& weights, const Dims& out, const Dims& strides,
                        const Dims& pads, const Dims& dilations, std::int64_t group) {
  Builder b;
  const graph::ValueId x = b.input("x", in);
  const graph::ValueId w = b.constant("w", weights);
  return b.finish({b.node("Conv", {x, w}, out,
                          {{"kernel_shape", Dims{weights.begin() + 2, weights.end()}},
                           {"strides", strides},
                           {"pads", pads},
                           {"dilations", dilations},
                           {"group", group}})});
}

std::vector<OneLayer> layers() {
  std::vector<OneLayer> all;
  // 3 x 2 kernel over 8 channels, steps of 2 and 1, uneven padding.
  all.emplace_back(
      conv_graph({2, 8, 9, 7}, {6, 8, 3, 2}, {2, 6, 5, 8}, {2, 1}, {1, 0, 1, 2}, {1, 1}, 1), 3);
  // Two groups, dilated.
  all.emplace_back(
      conv_graph({1, 16, 8, 8}, {4, 8, 3, 3}, {1, 4, 4, 8}, {1, 1}, {0, 2, 0, 2}, {2, 2}, 2), 4);
  // One axis.
  all.emplace_back(conv_graph({2, 16, 11}, {5, 16, 3}, {2, 5, 11}, {1}, {1, 1}, {1}, 1), 3);
  {
    Builder b;
    const graph::ValueId x = b.input("x", {2, 5, 48});
    all.emplace_back(b.finish({b.node("MatMul", {x, b.constant("w", {48, 10})}, {2, 5, 10})}), 8);
  }
  {  // A flattened image: the engine's order of K is not that of the matrix.
    Builder b;
    const graph::ValueId x = b.conv(b.input("x", {1, 4, 3, 3}), 16, 1, 0);
    const graph::ValueId flat = b.reshape(x, {1, 144});
    const graph::ValueId w = b.constant("w", {144, 7});
    all.emplace_back(b.finish({b.node("MatMul", {flat, w}, {1, 7})}), 6);
  }
  return all;
}

/// Whether weights [channels][k] have no more than the sparsity lets stay.
bool follows(const std::vector<float>& weights, std::size_t k, const net::Sparsity& sparsity) {
  const auto filled = [&](std::size_t from, std::size_t to) {
    return static_cast<std::uint64_t>(std::count_if(
        weights.begin() + static_cast<std::ptrdiff_t>(from),
        weights.begin() + static_cast<std::ptrdiff_t>(to), [](float w) { return w != 0.0F; }));
  };
  if (sparsity.encoding == numerics::Encoding::bitmap) {
    const double most = sparsity.density * static_cast<double>(weights.size());
    return static_cast<double>(filled(0, weights.size())) <= most + 2;  // rounded up by group
  }
  for (std::size_t row = 0; row < weights.size(); row += k) {
    for (std::size_t block = row; block < row + k; block += 32) {
      if (filled(block, std::min(block + 32, row + k)) > sparsity.kept) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("moments give the energy of a layer's results") {
  for (const OneLayer& one : layers()) {
    one.with([&](const Moments& moments) {
      const std::vector<float>& weights = *one.weights().fp32;
      CHECK(moments.energy(one.in_order(weights)) ==
            doctest::Approx(one.energy(weights)).epsilon(1e-4));
    });
  }
}

TEST_CASE("what is left makes up for what was pruned") {
  for (const OneLayer& one : layers()) {
    one.with([&](const Moments& moments) {
      const std::vector<float> weights = one.in_order(*one.weights().fp32);
      const auto lost = [&](std::vector<float> pruned) {
        for (std::size_t i = 0; i < pruned.size(); ++i) pruned[i] -= weights[i];
        return moments.energy(pruned);
      };
      for (const net::Sparsity& sparsity :
           {net::balanced(2), net::balanced(8),
            net::Sparsity{.encoding = numerics::Encoding::bitmap, .density = 0.3}}) {
        std::vector<float> plain = weights, made_up = weights;
        prune_by_magnitude(plain, moments.k(), sparsity);
        prune_compensated(made_up, moments, sparsity);
        INFO(one.graph.nodes.back().op, " ", moments.k(), " ", format_ratio(sparsity));
        CHECK(lost(made_up) < lost(plain));
        CHECK(follows(made_up, moments.k(), sparsity));
      }
    });
  }
}

TEST_CASE("of two inputs that are always equal, one takes over the other's weight") {
  Builder b;
  const graph::ValueId x = b.input("x", {1, 32});
  std::vector<float> w(32, 0.0F);
  w[3] = 0.5F;
  w[9] = 1.0F;
  OneLayer one(b.finish({b.node("MatMul", {x, b.constant("w", {32, 1}, w)}, {1, 1})}), 0);
  one.samples = {{{"x", std::vector<float>(32, 0.0F)}}};
  one.samples[0]["x"][3] = one.samples[0]["x"][9] = 4.0F;
  one.with([&](const Moments& moments) {
    std::vector<float> pruned = w;
    prune_compensated(pruned, moments, net::balanced(32));
    // Moments of 16 in the four places of the pair; the mean diagonal is 2 * 16 / 32 = 1, so that
    // 0.01 is added to it. Least squares with w3 = 0: w9 = 1 + 0.5 * 16 / 16.01.
    CHECK(pruned[9] == doctest::Approx(1.0 + 0.5 * 16 / 16.01).epsilon(1e-4));
    CHECK(std::ranges::count(pruned, 0.0F) == 31);
  });
}

TEST_CASE("inputs of any size: what stays does not depend on their scale") {
  std::vector<std::vector<float>> pruned;
  for (const float factor : {1.0F, 1e17F, 1e-17F}) {
    Builder b;
    const graph::ValueId x = b.input("x", {2, 5, 96});
    OneLayer layer(b.finish({b.node("MatMul", {x, b.constant("w", {96, 10})}, {2, 5, 10})}), 12);
    for (Sample& sample : layer.samples) {
      for (float& element : sample.at("x")) element *= factor;
    }
    layer.with([&](const Moments& moments) {
      std::vector<float> weights = layer.in_order(*layer.weights().fp32);
      prune_compensated(weights, moments, net::balanced(4));
      for (const float w : weights) CHECK(std::isfinite(w));
      pruned.push_back(weights);
    });
  }
  for (const std::size_t other : {1U, 2U}) {
    for (std::size_t i = 0; i < pruned[0].size(); ++i) {
      CHECK(pruned[other][i] == doctest::Approx(pruned[0][i]).epsilon(1e-3).scale(0.01));
    }
  }
}
