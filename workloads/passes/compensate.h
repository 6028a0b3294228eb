// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "workloads/graph/float_executor.h"
#include "workloads/passes/arrange.h"
#include "workloads/passes/calibrate.h"
#include "workloads/passes/fuse.h"

/// Pruning that looks at what the weights are multiplied with.
namespace steppe::passes {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Second moments of what a layer's weights are multiplied with: H = sum of x x^T over all
/// positions of all samples, x the K inputs of one result in the engine's order. A change D of the
/// weights of one output channel changes its results by D H D^T, squared and summed.
class Moments {
 public:
  /// Keeps references. `step` is a conv or dense one, `source` that of its layer.
  Moments(const graph::Graph& graph, const Step& step, const LayerSource& source);

  /// Adds what the executor's last run multiplied.
  void add(const graph::FloatExecutor& executor);

  [[nodiscard]] std::size_t k() const { return order_.size(); }
  [[nodiscard]] std::size_t groups() const { return sums_.size(); }
  /// [k][k] of a group of channels, up to a factor; both triangles.
  [[nodiscard]] const Matrix& of(std::size_t group) const { return sums_.at(group); }
  [[nodiscard]] Bytes bytes() const { return groups() * k() * k() * sizeof(float); }
  /// Squared sum of the results that `weights` [channels][k] make of these inputs; channels are
  /// split evenly over the groups.
  [[nodiscard]] double energy(std::span<const float> weights) const;

 private:
  void add_dense(std::span<const float> inputs);
  void add_conv(std::span<const float> inputs);
  void add_rows(std::size_t group, const Matrix& rows, std::size_t count);

  const graph::Graph& graph_;
  const graph::Node& node_;
  std::vector<std::uint64_t> order_;  ///< for each place in the engine's order of K, its offset in
                                      ///< a filter (conv), its number among the inputs (dense)
  float scale_ = 0.0F;                ///< of the inputs; 0 until there were some that are not 0
  std::vector<Matrix> sums_;
};

/// Calls visit(layer, its moments) for `layers` of the layout in order. Where not all moments fit
/// the memory set aside, the samples pass several times; `visit` may change the graph's constants,
/// which layers of later passes then see.
void with_moments(const graph::Graph& graph, const std::vector<Step>& steps, const Layout& layout,
                  std::span<const std::size_t> layers, const std::vector<Sample>& samples,
                  const std::function<void(std::size_t, const Moments&)>& visit);

/// Prunes weights [channels][k] and makes the remaining ones up for those that went, by the moments
/// (damped by 1 % of their mean diagonal). Which go: those of least w^2 / [H^-1], column by column,
/// what goes made up for behind it (B. Hassibi, D. Stork, "Second order derivatives for network
/// pruning: Optimal Brain Surgeon", 1992; E. Frantar, D. Alistarh, "SparseGPT", 2023); indexed:
/// chosen block by block, bitmap: in each group beforehand. Then all that stay are fitted to the
/// least squared change of the results. Where the largest weights, fitted, do better, those stay:
/// the change is never larger than that of pruning by magnitude.
void prune_compensated(std::span<float> weights, const Moments& moments,
                       const net::Sparsity& sparsity);

}  // namespace steppe::passes
