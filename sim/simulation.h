// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "sim/machine.h"
#include "sim/samples.h"
#include "workloads/npy/npy.h"
#include "workloads/package/package.h"

namespace steppe::sim {

/// When the runs of a simulation began and ended, in picoseconds of simulated time, and what came
/// out.
struct SimulationResult {
  std::uint64_t load_ps = 0;             ///< boot, copying of segments, init program
  std::vector<std::uint64_t> submitted;  ///< by run
  std::vector<std::uint64_t> ended;
  std::vector<npy::Array> outputs;  ///< by port; empty in timing mode
  double run_wall_seconds = 0;      ///< of the host, loading left out

  /// Of the first run, which goes alone.
  [[nodiscard]] double latency_seconds() const;
  /// From the first submission to the last end.
  [[nodiscard]] double seconds() const;
  /// Samples per second of full batches, while runs follow each other; those of the single run
  /// where there is but one.
  [[nodiscard]] double samples_per_second(std::uint32_t batch) const;
};

/// Loads a package into the machine and runs all samples: the first run alone, then as many in
/// flight as the runtime allows. `host` does its share of each run in the runtime's thread.
/// Statistics are reset after loading.
SimulationResult simulate(Machine& machine, const package::Package& package, HostProgram& host,
                          const Samples& samples);

/// Throws ConfigError where the package was made for another machine.
void check_target(const package::Package& package, const ServerDescription& card);

}  // namespace steppe::sim
