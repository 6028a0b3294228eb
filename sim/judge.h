// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workloads/graph/graph.h"
#include "workloads/net/net.h"
#include "workloads/npy/npy.h"
#include "workloads/passes/calibrate.h"

namespace steppe::sim {

/// How good a network's answers are.
struct Quality {
  double decibels = 0;  ///< signal over noise against the float model, of the worst output
  /// Share of the samples whose largest element of the first output is at the label; without
  /// labels, where the float model has it.
  double right = 0;
};

/// Compares compiled networks with the float model they come from, by the same inputs.
class Judge {
 public:
  /// Runs the float model. Labels are one number for each sample; `labels_file` is for
  /// messages. Throws ConfigError for labels that do not fit.
  Judge(const graph::Graph& graph, std::vector<passes::Sample> samples,
        std::optional<npy::Array> labels, const std::string& labels_file);

  [[nodiscard]] bool labelled() const { return labelled_; }
  [[nodiscard]] std::size_t samples() const { return labels_.elements(); }
  /// Of the float model itself: 1 where there are no labels.
  [[nodiscard]] double float_right() const { return float_right_; }
  [[nodiscard]] Quality operator()(const net::Net& network) const;

 private:
  std::vector<passes::Sample> samples_;
  std::vector<npy::Array> outputs_;  ///< the float model's, all runs one after another
  npy::Array labels_;
  bool labelled_ = false;
  double float_right_ = 1;
};

}  // namespace steppe::sim
