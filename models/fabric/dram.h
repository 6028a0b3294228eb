// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <systemc>
#include <vector>

#include "models/fabric/address_mapping.h"
#include "models/fabric/dram_channel.h"
#include "models/fabric/memory.h"

namespace steppe {

struct DramParams {
  explicit DramParams(const Scope& scope);
  Param<std::string> fidelity;
  Param<Bytes> capacity;
  Param<double> bandwidth;
  // ideal
  Param<double> efficiency;
  Param<double> latency;
  // banked
  Param<std::uint32_t> channels;
  Param<std::uint32_t> banks;
  Param<Bytes> row_bytes;
  Param<Bytes> access_bytes;
  Param<Bytes> interleave;
  Param<std::string> mapping;
  Param<bool> bank_hash;
  Param<std::uint32_t> queue_depth;
  Param<double> controller_latency;
  Param<std::string> ecc;
  Param<std::uint32_t> ecc_data;
  DramTimingParams timing;
};

/// All channels of a chip's DRAM behind one address mapping.
class BankedDram {
 public:
  /// Throws ConfigError where the figures contradict each other.
  BankedDram(const Scope& scope, const DramParams& params);

  /// What is left of the capacity: inline error correction and rows that stripes do not fill take
  /// their part.
  static Bytes usable_bytes(const Scope& scope, const DramParams& params);
  /// Serves `bytes` from `offset` on that arrive at `start`; returns the end of the last data.
  std::uint64_t serve(std::uint64_t now, std::uint64_t start, std::uint64_t offset, Bytes bytes,
                      bool write);

 private:
  static DramTiming make_timing(const Scope& scope, const DramParams& params);
  [[nodiscard]] std::uint32_t count_accesses(const AddressMapping::Piece& piece, bool write) const;

  DramTiming timing_;
  AddressMapping mapping_;
  std::uint32_t ecc_reach_;  ///< bytes of data that one access of check bytes covers; 0: no ECC
  DramCounters counters_;
  Counter bytes_;
  Counter transactions_;
  std::vector<std::unique_ptr<DramChannel>> channels_;
};

/// A chip's DRAM behind its controllers. `ideal`: one channel that streams at `efficiency` of the
/// peak. `banked`: channels with banks, rows, refresh and a controller that looks ahead.
class Dram : private DramParams, public Memory {
 public:
  Dram(sc_core::sc_module_name name, const Scope& scope, std::uint64_t base);
  [[nodiscard]] double peak_bandwidth() const { return DramParams::bandwidth; }

 private:
  std::uint64_t serve(std::uint64_t now, std::uint64_t start, const Request& request) override;

  std::optional<Occupancy> ideal_;
  std::unique_ptr<BankedDram> banked_;
  double ideal_bandwidth_;
  std::uint64_t latency_ps_;
};

}  // namespace steppe
