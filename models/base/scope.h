// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "models/base/config.h"
#include "models/base/stats.h"
#include "models/base/timeline.h"
#include "models/base/workers.h"

namespace steppe {

/// Whether values move and are computed, or sizes and sparsity statistics only.
enum class Mode { functional, timing };

/// One parameter as `steppe params` and the effective configuration show it.
struct ParamInfo {
  std::string path;
  std::string value;
  std::string unit;
  std::string range;
  std::string doc;
  std::string origin;  ///< "default", or where the value was set
  std::string note;    ///< source or assumption, from the preset
};

/// What every module of one simulation shares. Owned by the program, passed down by reference.
struct SimContext {
  const Config& config;
  Mode mode = Mode::functional;
  Timeline* timeline = nullptr;
  Workers* workers = nullptr;  ///< share out arithmetic; null: the simulation's thread alone
  StatRegistry stats;
  std::vector<ParamInfo> params;
  /// Names of layers by debug tag, for traces and faults; empty until a package is loaded.
  std::function<std::string(std::uint32_t chip, std::uint32_t tag)> describe_tag;
};

/// A place in the module hierarchy: the shared context and the dotted path of one module.
///
/// The path is what parameters and statistics are named by: `card.chip0.cluster2.vector`.
class Scope {
 public:
  Scope(SimContext& context, std::string path) : context_(&context), path_(std::move(path)) {}

  [[nodiscard]] Scope child(const std::string& name) const {
    return {*context_, path_.empty() ? name : path_ + "." + name};
  }
  [[nodiscard]] Scope child(const std::string& name, std::size_t index) const {
    return child(name + std::to_string(index));
  }
  [[nodiscard]] SimContext& context() const { return *context_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool functional() const { return context_->mode == Mode::functional; }
  [[nodiscard]] Timeline* timeline() const { return context_->timeline; }

  void stat(const std::string& name, const char* unit, const char* doc, Counter& counter) const {
    context_->stats.add(path_ + "." + name, unit, doc, counter);
  }
  void stat(const std::string& name, const char* unit, const char* doc,
            std::function<double()> formula) const {
    context_->stats.add(path_ + "." + name, unit, doc, std::move(formula));
  }

 private:
  SimContext* context_;
  std::string path_;
};

}  // namespace steppe
