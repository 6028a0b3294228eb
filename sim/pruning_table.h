// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "workloads/passes/prune.h"

namespace steppe::sim {

/// The ratio of each layer, as a file that people may edit: what `prune` chose and `compile
/// --sparsity FILE.yaml` reads.
struct PruningTable {
  std::string model;
  std::string method;  ///< empty where the file does not say
  std::map<std::string, passes::Ratio> layers;
};

std::string format_table(const PruningTable& table);
/// Throws ConfigError naming file, line and entry.
PruningTable read_pruning_table(const std::string& path);

}  // namespace steppe::sim
