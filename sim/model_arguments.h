// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/calibration_table.h"
#include "sim/command.h"
#include "sim/model_source.h"
#include "sim/samples.h"
#include "workloads/passes/lower.h"
#include "workloads/passes/place.h"

namespace steppe::sim {

/// Names, shapes and types of a model's inputs.
std::vector<Signature> input_signatures(const graph::Graph& graph);
/// One run's inputs by name.
std::map<std::string, graph::Tensor> run_inputs(const std::vector<Signature>& inputs,
                                                const Samples& samples, std::uint64_t run);

/// A model in its parts, and what `passes::lower` is to do with the card's: samples and tables are
/// read. Where a table has the ranges, samples are there to measure with.
struct PlacedModel {
  graph::Graph graph;  ///< the whole
  passes::Placement parts;
  passes::LowerOptions lowering;
  std::optional<double> smoothed;  ///< alpha of scales that the card's part has moved
};

/// The inputs of the card's part, the model's or what the host makes of them, for the samples in
/// `files` (name to .npy). Throws as `load_samples`.
std::vector<passes::Sample> card_samples(const PlacedModel& model,
                                         const std::map<std::string, std::string>& files);

/// The options by which `compile`, `calibrate` and `prune` take a model and its numbers.
class ModelArguments {
 public:
  void describe(options::options_description& described);
  /// Reads what was given for MODEL and the options. Throws ConfigError for what is wrong, or of no
  /// use to this kind of model.
  void finish(const options::variables_map& values);

  [[nodiscard]] const ModelOptions& model() const { return model_; }
  [[nodiscard]] net::Type precision() const { return precision_; }
  [[nodiscard]] const std::string& method() const { return calibration_; }
  [[nodiscard]] const std::string& pruning_method() const { return pruning_; }
  [[nodiscard]] bool reads_table() const;    ///< ranges come from a file
  [[nodiscard]] bool wants_samples() const;  ///< to set ranges or to guide the pruning
  [[nodiscard]] PlacedModel place() const;

 private:
  ModelOptions model_;
  passes::Pruning prune_;
  net::Type precision_ = net::Type::int8;
  std::string quantised_, activations_, sparsity_, pruning_, precision_text_, calibration_,
      weights_;
  std::vector<std::string> calibrate_, bindings_, fixed_;
  std::optional<CalibrationTable> table_;  ///< where --calibration names one
  std::optional<double> smooth_;
  Whole batch_, context_;
};

}  // namespace steppe::sim
