// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/smooth.h"

#include <doctest/doctest.h>

#include <cmath>

#include "builder.h"
#include "workloads/graph/float_executor.h"
#include "workloads/passes/lower.h"
#include "workloads/reference/executor.h"

using namespace steppe;
using namespace steppe::passes;
using test::Builder;

namespace {

/// A normalisation whose channel 5 is a hundred times the others, read by two products.
graph::Graph outlier_graph() {
  Builder b;
  const graph::ValueId x = b.input("x", {6, 32});
  std::vector<float> gain(32, 1.0F);
  gain[5] = 100.0F;
  const graph::ValueId norm =
      b.node("LayerNormalization",
             {x, b.constant("g", {32}, gain), b.constant("s", {32}, std::vector<float>(32, 0.1F))},
             {6, 32}, {{"axis", std::int64_t{1}}, {"epsilon", 1e-5F}});
  const graph::ValueId p = b.node("MatMul", {norm, b.constant("p", {32, 24})}, {6, 24});
  std::vector<float> small(32 * 16);
  for (std::size_t i = 0; i < small.size(); ++i) {
    // What the outlier is multiplied with is small, as in trained models.
    small[i] = (static_cast<float>(i % 11) - 5.0F) / (i / 16 == 5 ? 500.0F : 5.0F);
  }
  const graph::ValueId q = b.node("MatMul", {norm, b.constant("q", {32, 16}, small)}, {6, 16});
  graph::Graph graph = b.finish({p, q});
  for (graph::Value& value : graph.values) {
    if (value.name != "p") continue;
    std::vector<float> w = *value.fp32;
    for (std::size_t i = 5 * 24; i < 6 * 24; ++i) w[i] /= 100;
    value.fp32 = std::make_shared<const std::vector<float>>(w);
  }
  return graph;
}

std::vector<float> run(const graph::Graph& graph, const Sample& sample, std::size_t output) {
  graph::FloatExecutor executor(graph);
  executor.run(sample);
  return executor.value(graph.outputs[output]);
}

double decibels(const graph::Graph& graph, const std::vector<float>& wanted, const Sample& sample) {
  LowerOptions options;
  options.pruning.ratio = net::balanced(1);
  options.samples = {sample};
  const net::Net net = lower(graph, options);
  const std::vector<float> got = reference::Executor(net).run({sample.at("x")}).at(1);
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    signal += double{wanted[i]} * double{wanted[i]};
    noise += std::pow(double{wanted[i]} - double{got[i]}, 2);
  }
  return 10 * std::log10(signal / noise);
}

}  // namespace

TEST_CASE("scales move from a normalisation into the products that read it") {
  const graph::Graph before = outlier_graph();
  graph::Graph after = before;
  const Sample sample = random_sample(before, 3);
  CHECK(smooth(after, {sample}, 0.5) == std::vector<std::string>{"LayerNormalization0"});
  for (const std::size_t output : {0U, 1U}) {
    const std::vector<float> wanted = run(before, sample, output);
    const std::vector<float> got = run(after, sample, output);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      CHECK(got[i] == doctest::Approx(wanted[i]).epsilon(1e-4));
    }
  }
  // int8 with the outlier: one step is as large as the other channels; without, a hundredth.
  const std::vector<float> wanted = run(before, sample, 1);
  CHECK(decibels(after, wanted, sample) > decibels(before, wanted, sample) + 10);
}

TEST_CASE("alpha 0 leaves rows of weights with a largest magnitude of 1, alpha 1 activations") {
  const Sample sample = random_sample(outlier_graph(), 3);
  graph::Graph graph = outlier_graph();
  smooth(graph, {sample}, 0.0);
  for (std::size_t row = 0; row < 32; ++row) {
    float largest = 0;
    for (const graph::Value& value : graph.values) {
      if (value.name != "p" && value.name != "q") continue;
      const std::size_t columns = value.fp32->size() / 32;
      for (std::size_t i = 0; i < columns; ++i) {
        largest = std::max(largest, std::abs((*value.fp32)[row * columns + i]));
      }
    }
    CHECK(largest == doctest::Approx(1.0));
  }
  graph = outlier_graph();
  smooth(graph, {sample}, 1.0);
  graph::FloatExecutor executor(graph);
  executor.run(sample);
  const std::vector<float>& norm = executor.value(graph.nodes[0].outputs[0]);
  for (std::size_t j = 0; j < 32; ++j) {
    float largest = 0;
    for (std::size_t row = 0; row < 6; ++row)
      largest = std::max(largest, std::abs(norm[row * 32 + j]));
    CHECK(largest == doctest::Approx(1.0));
  }
}

TEST_CASE("a normalisation that something else reads keeps its scales") {
  Builder b;
  const graph::ValueId x = b.input("x", {4, 8});
  const graph::ValueId norm =
      b.node("LayerNormalization", {x, b.constant("g", {8}), b.constant("s", {8})}, {4, 8},
             {{"axis", std::int64_t{1}}, {"epsilon", 1e-5F}});
  const graph::ValueId p = b.node("MatMul", {norm, b.constant("p", {8, 8})}, {4, 8});
  graph::Graph graph = b.finish({b.node("Add", {p, norm}, {4, 8})});
  CHECK(smooth(graph, {random_sample(graph, 1)}, 0.5).empty());
}
