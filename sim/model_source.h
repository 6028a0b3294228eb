// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "workloads/graph/graph.h"
#include "workloads/net/net.h"

namespace steppe::sim {

/// A model as the command line names it.
struct ModelOptions {
  std::string model;  ///< an ONNX file, or zoo:NAME
  std::map<std::string, std::int64_t> bindings;
  std::map<std::string, std::string> fixed;  ///< inputs that are constants: files by name
  std::optional<std::uint64_t> random_seed;
  std::uint32_t batch = 1;    ///< of a zoo model
  std::uint32_t context = 0;  ///< of a zoo model, tokens
};
graph::Graph load_model(const ModelOptions& options);

/// "random:7" → 7; nothing for an empty text. Throws ConfigError for others.
std::optional<std::uint64_t> parse_weights(const std::string& text);
/// A whole number of at least 1; throws ConfigError beginning with `where`.
std::int64_t parse_whole(const std::string& where, const std::string& text);

/// Whether a network came without values for its weights.
bool holds_shapes_only(const net::Net& network);

}  // namespace steppe::sim
