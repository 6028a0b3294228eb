// SPDX-License-Identifier: Apache-2.0
#include "platform/energy.h"

#include "models/fabric/transport.h"

namespace steppe {
namespace {

constexpr Range<double> joules{0, 1e-3};

}  // namespace

EnergyModel::EnergyModel(const Scope& scope, const Scope& chip_scope, std::uint32_t clusters)
    : stats_(scope.context().stats),
      chip_(chip_scope.path() + "."),
      clusters_(clusters),
      int8_mac_(scope, "int8_mac", 75e-15, "J", "an int8 multiply-accumulate", joules),
      bf16_mac_(scope, "bf16_mac", 500e-15, "J", "a bf16 multiply-accumulate", joules),
      vector_op_(scope, "vector_op", 600e-15, "J", "a vector lane's operation", joules),
      special_op_(scope, "special_op", 10e-12, "J", "a special function", joules),
      sram_byte_(scope, "sram_byte", 3.1e-12, "J", "a byte of SRAM read or written", joules),
      dram_byte_(scope, "dram_byte", 32e-12, "J", "a byte of DRAM read or written", joules),
      noc_byte_(scope, "noc_byte", 1e-12, "J", "a byte that enters the network", joules),
      pcie_byte_(scope, "pcie_byte", 40e-12, "J", "a byte over the chip's PCIe link", joules),
      instruction_(scope, "instruction", 17e-12, "J", "an instruction of the control core", joules),
      static_power_(scope, "static_power", 15, "W", "leakage and clocks of the chip", {0, 1e4}) {
  scope.stat("tensor", "J", "energy of the tensor engines", [this] {
    const double bf16 = this->clusters("tensor.bf16_macs");
    return bf16 * bf16_mac_ + (this->clusters("tensor.effective_macs") - bf16) * int8_mac_;
  });
  scope.stat("vector", "J", "energy of the vector units", [this] {
    return this->clusters("vector.lane_ops") * vector_op_ +
           this->clusters("vector.special_ops") * special_op_;
  });
  scope.stat("sram", "J", "energy of the SRAM",
             [this] { return this->clusters("sram.bytes") * sram_byte_; });
  scope.stat("dram", "J", "energy of the DRAM",
             [this] { return this->chip("dram.bytes") * dram_byte_; });
  scope.stat("noc", "J", "energy of the network",
             [this] { return stats_.sum(chip_ + "noc.", ".in.bytes") * noc_byte_; });
  scope.stat("pcie", "J", "energy of the chip's PCIe link", [this] {
    return (this->chip("pcie.upstream.bytes") + this->chip("pcie.downstream.bytes")) * pcie_byte_;
  });
  scope.stat("core", "J", "energy of the control core",
             [this] { return this->chip("core.instructions") * instruction_; });
  scope.stat("static", "J", "static energy",
             [this] { return static_cast<double>(now_ps() - since_ps_) * 1e-12 * static_power_; });
  scope.stat("total", "J", "energy of the chip", [this, path = scope.path()] {
    double sum = 0;
    for (const char* part : {"tensor", "vector", "sram", "dram", "noc", "pcie", "core", "static"}) {
      sum += stats_.value(path + "." + part);
    }
    return sum;
  });
  scope.context().stats.on_reset([this] { since_ps_ = now_ps(); });
}

double EnergyModel::clusters(const std::string& counter) const {
  double sum = 0;
  for (std::uint32_t i = 0; i < clusters_; ++i) {
    sum += chip("cluster" + std::to_string(i) + "." + counter);
  }
  return sum;
}

double EnergyModel::chip(const std::string& counter) const { return stats_.value(chip_ + counter); }

}  // namespace steppe
