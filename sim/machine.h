// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/base/scope.h"
#include "platform/server.h"
#include "sim/host/host.h"
#include "sim/host/host_program.h"
#include "sim/host/runtime.h"

namespace steppe::sim {

/// What to build: a preset or configuration file and values that go before it.
struct MachineOptions {
  std::string platform;
  std::vector<std::string> settings;  ///< path=value
  Mode mode = Mode::functional;
  Timeline* timeline = nullptr;
  double limit_seconds = 10;  ///< of simulated time
  std::size_t threads = 1;    ///< for arithmetic; simulated time does not depend on them
};

/// A server with its cards. A process holds one.
class Machine {
 public:
  /// Throws ConfigError for an unknown preset or parameter, or a value that cannot be.
  explicit Machine(const MachineOptions& options);

  [[nodiscard]] SimContext& context() { return context_; }
  [[nodiscard]] const Server& server() const { return *server_; }
  [[nodiscard]] Host& host() { return *host_; }
  [[nodiscard]] const RuntimeParams& runtime_params() const { return *runtime_params_; }
  [[nodiscard]] const HostProcessors& processors() const { return *processors_; }

  /// Simulates until `body`, run as a process, has ended; throws what it throws, and MachineError
  /// with who waits for whom where it can never end, or has not ended within the limit.
  void run(const std::function<void()>& body);

 private:
  double limit_seconds_;
  Config config_;
  Workers workers_;
  SimContext context_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Host> host_;
  std::unique_ptr<RuntimeParams> runtime_params_;
  std::unique_ptr<HostProcessors> processors_;
};

/// The effective configuration as YAML that --platform takes, with unit, origin and note as
/// comments.
std::string config_yaml(const std::vector<ParamInfo>& params);

}  // namespace steppe::sim
