// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <systemc>
#include <vector>

#include "models/base/param.h"
#include "models/fabric/memory.h"
#include "models/fabric/occupancy.h"

namespace steppe {

/// Holds the parameters of a Sram, which its base class needs before it is built.
struct SramParams {
  explicit SramParams(const Scope& scope);
  Param<Bytes> size;
  Param<double> bandwidth;
  Param<double> latency;
  Param<std::uint32_t> banks;
  Param<Bytes> bank_bytes;
  Param<std::uint32_t> ports;
  Param<double> port_bandwidth;
};

/// One cluster's slice of the on-chip memory: banks of `bank_bytes` wide words, interleaved, behind
/// ports that the initiators share in turn.
///
/// A long transaction loads all banks alike and is one operation on their common timeline. A short
/// one has the rate of the banks that it touches alone, and waits for others that touch them too.
class Sram : private SramParams, public Memory {
 public:
  using Memory::size;
  Sram(sc_core::sc_module_name name, const Scope& scope, std::uint64_t base);
  [[nodiscard]] double bandwidth() const { return SramParams::bandwidth; }

 private:
  std::uint64_t serve(std::uint64_t now, std::uint64_t start, const Request& request) override;
  std::uint64_t serve_banks(std::uint64_t now, std::uint64_t start, const Request& request,
                            std::uint64_t first, std::uint64_t words);

  Occupancy all_;                 ///< what all banks together have to give
  std::vector<Intervals> banks_;  ///< short transactions on each bank
  std::vector<Intervals> ports_;  ///< empty where ports are as fast as all banks
  double bank_bandwidth_;
  std::uint64_t word_ps_;
  std::uint64_t latency_ps_;
  Counter conflicts_;
  Counter conflict_wait_;
};

}  // namespace steppe
