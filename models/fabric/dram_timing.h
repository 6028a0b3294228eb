// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "models/base/param.h"
#include "models/base/units.h"

namespace steppe {

/// The timing parameters of a banked DRAM, with the names of JEDEC's LPDDR4 standard (JESD209-4).
struct DramTimingParams {
  explicit DramTimingParams(const Scope& scope);
  Param<double> t_rcd;
  Param<double> t_rp;
  Param<double> t_rp_all;
  Param<double> t_ras;
  Param<double> t_rtp;
  Param<double> t_wr;
  Param<double> t_wtr;
  Param<double> t_rtw;
  Param<double> t_rrd;
  Param<double> t_faw;
  Param<double> read_latency;
  Param<double> write_latency;
  Param<double> t_refi;
  Param<double> t_rfc;
  Param<double> t_rfc_bank;
  Param<std::string> refresh;
  Param<bool> stagger;
};

/// What a channel works with: picoseconds.
struct DramTiming {
  enum class Refresh : std::uint8_t { none, all_bank, per_bank };

  std::uint64_t rcd;       ///< activate to column access
  std::uint64_t rp;        ///< precharge of one bank
  std::uint64_t rp_all;    ///< precharge of all banks
  std::uint64_t ras;       ///< activate to precharge
  std::uint64_t rtp;       ///< column read to precharge
  std::uint64_t wr;        ///< end of written data to precharge
  std::uint64_t rrd;       ///< activate to activate
  std::uint64_t faw;       ///< window of four activates
  std::uint64_t read;      ///< column read to first data
  std::uint64_t write;     ///< column write to first data
  std::uint64_t to_read;   ///< idle data bus from written to read data: tWTR and the read latency
  std::uint64_t to_write;  ///< idle data bus from read to written data
  std::uint64_t refi;      ///< refresh to refresh, all banks
  std::uint64_t rfc;       ///< refresh of all banks
  std::uint64_t rfc_bank;  ///< refresh of one bank
  Refresh refresh;
  double access;  ///< a column access on the data bus
  Bytes access_bytes;
  std::uint32_t banks;
  std::uint32_t depth;  ///< column accesses that the controller looks ahead and orders anew
  std::uint32_t batch;  ///< column accesses of one direction that it gathers
};

}  // namespace steppe
