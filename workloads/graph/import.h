// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workloads/graph/graph.h"
#include "workloads/operators/tensor.h"

namespace steppe::graph {

struct ImportOptions {
  /// Extents that the file leaves open: by their name in the file ("batch"), or by input and axis
  /// ("x.0"), which goes first.
  std::map<std::string, std::int64_t> bindings;
  /// Replaces stub weights (all elements equal, as light models have them) of convolutions,
  /// products and normalisations by random ones: He et al. 2015 for weights, factors and variances
  /// near 1, means and biases near 0. The same seed gives the same weights.
  std::optional<std::uint64_t> random_weights_seed;
  bool randomise_all = false;  ///< with a seed: trained weights as well
  /// For a run on the host alone: fp16, bf16 and fp64 stay what they are (else all become fp32).
  bool exact_types = false;
  /// Inputs that always have these elements, by name: they become constants, and what depends on
  /// them (a shape, say) is known at import.
  std::map<std::string, Tensor> fixed;
};

/// Reads an ONNX model of operator set 6 or later as a graph of canonical operators with static
/// shapes: what can be computed without the inputs is a constant, normalisations are folded into
/// products, values that nothing needs are gone. Inputs and outputs keep their names and order.
///
/// Throws ConfigError for a file that cannot be read and for bindings that are missing, unknown or
/// contradict the file; ModelError, naming file and node, for everything wrong or unsupported.
Graph import_onnx(const std::filesystem::path& path, const ImportOptions& options = {});

/// Reads one array of ONNX's TensorProto format. Throws ConfigError where the file cannot be read,
/// ModelError where it holds no array.
Tensor read_tensor(const std::filesystem::path& path);

/// The ONNX operators that can be imported, sorted.
std::vector<std::string> supported_operators();

}  // namespace steppe::graph
