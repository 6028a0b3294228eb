// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/graph/graph.h"
#include "workloads/net/net.h"
#include "workloads/passes/calibrate.h"

/// From a float graph to the quantised network of the card.
namespace steppe::passes {

struct LowerOptions {
  net::Sparsity sparsity = net::balanced(16);  ///< that weights are pruned to
  /// What layers compute in: int8, bf16, or fp32, where products take bf16 operands.
  net::Type precision = net::Type::int8;
  /// Inputs whose activations set the scales; drawn from `seed` where there are none.
  std::vector<Sample> samples;
  std::uint64_t seed = 1;
  /// Sizes only: no constant gets data, scales are 1. Implied by constants without data.
  bool timing_only = false;
};

struct LayerReport {
  std::string name;
  std::string kind;                ///< as the alternatives of net::Layer::op are named
  std::vector<std::string> nodes;  ///< ONNX nodes it came from
  net::Shape shape;                ///< of its output
  std::uint64_t macs = 0;          ///< dense
  net::Sparsity sparsity;          ///< of a Conv
  double density = 1.0;            ///< share of the weights that are not zero
};

struct TensorReport {
  std::string name;
  Range range;
  float scale = 1.0F;
};

struct LowerReport {
  std::vector<LayerReport> layers;
  std::vector<TensorReport> tensors;
  std::uint32_t samples = 0;    ///< that set the scales
  bool random_samples = false;  ///< drawn from the seed
};

/// Fuses, lays out, prunes, calibrates and quantises; the result has passed net::check. The same
/// arguments give the same network. Throws ModelError naming node, operator and what would be
/// right.
net::Net lower(const graph::Graph& graph, const LowerOptions& options,
               LowerReport* report = nullptr);

}  // namespace steppe::passes
