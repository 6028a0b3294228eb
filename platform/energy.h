// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "models/base/param.h"
#include "models/base/scope.h"

namespace steppe {

/// The energy of one chip: what its counters say it did, at so much an operation or byte, and
/// static power. Statistics `tensor`, `vector`, `sram`, `dram`, `noc`, `pcie`, `core`, `static` and
/// `total`, in joules since the last reset.
class EnergyModel {
 public:
  /// `chip` is the chip's own scope, whose counters it reads.
  EnergyModel(const Scope& scope, const Scope& chip, std::uint32_t clusters);
  EnergyModel(const EnergyModel&) = delete;
  EnergyModel& operator=(const EnergyModel&) = delete;

 private:
  /// The sum over all clusters of a counter.
  [[nodiscard]] double clusters(const std::string& counter) const;
  [[nodiscard]] double chip(const std::string& counter) const;

  const StatRegistry& stats_;
  std::string chip_;
  std::uint32_t clusters_;
  std::uint64_t since_ps_ = 0;
  Param<double> int8_mac_;
  Param<double> bf16_mac_;
  Param<double> vector_op_;
  Param<double> special_op_;
  Param<double> sram_byte_;
  Param<double> dram_byte_;
  Param<double> noc_byte_;
  Param<double> pcie_byte_;
  Param<double> instruction_;
  Param<double> static_power_;
};

}  // namespace steppe
