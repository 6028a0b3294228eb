// SPDX-License-Identifier: Apache-2.0
#include "sim/judge.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/report/layer_error.h"
#include "sim/report/verdict.h"
#include "sim/samples.h"
#include "workloads/graph/float_executor.h"
#include "workloads/reference/executor.h"

namespace steppe::sim {
namespace {

double decibels(const npy::Array& wanted, const npy::Array& got) {
  Power power;
  const std::vector<float> a = wanted.as_reals();
  const std::vector<float> b = got.as_reals();
  for (std::size_t i = 0; i < a.size(); ++i) power.add(a[i], b[i]);
  return power.decibels();
}

}  // namespace

Judge::Judge(const graph::Graph& graph, std::vector<passes::Sample> samples,
             std::optional<npy::Array> labels, const std::string& labels_file)
    : samples_(std::move(samples)), outputs_(graph.outputs.size()), labelled_(labels.has_value()) {
  graph::FloatExecutor executor(graph);
  for (const passes::Sample& sample : samples_) {
    executor.run(sample);
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      append_run(array_of(executor.tensor(graph.outputs[i])), outputs_[i]);
    }
  }
  labels_ = labels ? std::move(*labels) : top1(outputs_.front());
  float_right_ = top1_accuracy(outputs_.front(), labels_, labels_file);
}

Quality Judge::operator()(const net::Net& network) const {
  reference::Executor executor(network);
  std::vector<npy::Array> outputs(outputs_.size());
  for (const passes::Sample& sample : samples_) {
    std::vector<std::vector<float>> inputs;
    for (const net::Port& port : network.inputs) inputs.push_back(sample.at(port.name));
    const std::vector<std::vector<float>> results = executor.run(inputs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const net::Port& port = network.outputs[i];
      npy::Array run{.type = outputs_[i].type, .shape = port.dims};
      if (npy::is_real(run.type)) {
        run.reals = results[i];
      } else {
        for (const float x : results[i]) run.integers.push_back(std::llrint(x));
      }
      append_run(std::move(run), outputs[i]);
    }
  }
  Quality quality{.decibels = std::numeric_limits<double>::infinity(),
                  .right = top1_accuracy(outputs.front(), labels_, "labels")};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    quality.decibels = std::min(quality.decibels, decibels(outputs_[i], outputs[i]));
  }
  return quality;
}

}  // namespace steppe::sim
