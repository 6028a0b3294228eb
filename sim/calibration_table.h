// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "workloads/passes/calibrate.h"

namespace steppe::sim {

/// What `calibrate` found, as a file that people may edit: ranges of values by name, and the nodes
/// that stay in bf16.
struct CalibrationTable {
  std::string model, method;
  std::size_t samples = 0;
  bool symmetric = true;         ///< zero points of 0
  std::optional<double> smooth;  ///< alpha of scales that were moved, by the same samples
  std::map<std::string, passes::Range> ranges;
  std::set<std::string> in_bf16;
};

std::string format_table(const CalibrationTable& table);
/// Throws ConfigError naming file, line and entry.
CalibrationTable read_table(const std::string& path);

}  // namespace steppe::sim
