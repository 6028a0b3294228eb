// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "workloads/graph/graph.h"
#include "workloads/net/net.h"
#include "workloads/passes/calibrate.h"
#include "workloads/passes/prune.h"
#include "workloads/passes/view.h"

/// From a float graph to the quantised network of the card.
namespace steppe::passes {

struct LowerOptions {
  Pruning pruning;
  /// What layers compute in: int8, bf16, or fp32, where products take bf16 operands.
  net::Type precision = net::Type::int8;
  /// Nodes that compute in bf16 instead of int8, by name.
  std::set<std::string> in_bf16;
  /// Ranges of values by name, in place of those that samples show.
  std::map<std::string, Range> ranges;
  /// Ranges of values by name that the model itself says; they go before what samples show.
  std::map<std::string, Range> known;
  /// Inputs whose activations set the scales and guide the pruning; drawn from `seed` where there
  /// are none.
  std::vector<Sample> samples;
  RangeMethod method;
  bool symmetric = true;  ///< zero points of activations are 0
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

/// Where a value of the float graph lies in the network: the elements in ONNX's order are the
/// tensor's along `steps`, from `offset` on.
struct ValuePlace {
  graph::ValueId value = graph::no_value;
  net::TensorId tensor = net::no_tensor;
  std::int64_t offset = 0;
  Axis steps;
};

struct LowerReport {
  std::vector<LayerReport> layers;
  std::vector<TensorReport> tensors;
  std::vector<ValuePlace> places;       ///< of values that lie in one piece
  std::map<std::string, Range> values;  ///< ranges of the float graph that int8 tensors stand for
  std::uint32_t samples = 0;            ///< that set the scales
  bool random_samples = false;          ///< drawn from the seed
};

/// What each node computes in.
std::vector<net::Type> node_types(const graph::Graph& graph, const LowerOptions& options);

/// Fuses, lays out, prunes, calibrates and quantises; the result has passed net::check. The same
/// arguments give the same network. Throws ModelError naming node, operator and what would be
/// right.
net::Net lower(const graph::Graph& graph, const LowerOptions& options,
               LowerReport* report = nullptr);

}  // namespace steppe::passes
