// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/dram.h"

#include <algorithm>

#include "models/fabric/transport.h"

namespace steppe {

DramParams::DramParams(const Scope& scope)
    : fidelity(scope, "fidelity", "banked", "how closely it is modelled", {"ideal", "banked"}),
      capacity(scope, "capacity", 20'000'000'000, "B", "of the chip", {1 << 20, Bytes{1} << 38}),
      bandwidth(scope, "bandwidth", 82e9, "B/s", "peak of all channels", {1e6, 1e14}),
      efficiency(scope, "efficiency", 0.92, "", "ideal: part of the peak that streaming reaches",
                 {0.01, 1.0}),
      latency(scope, "latency", 90e-9, "s", "ideal: from request to first byte", {0, 1e-3}),
      channels(scope, "channels", 10, "", "banked: channels that share the peak evenly", {1, 256}),
      banks(scope, "banks", 8, "", "banked: banks of a channel, ranks multiplied in", {1, 256}),
      row_bytes(scope, "row_bytes", 2048, "B", "banked: a row of a bank", {64, 65536}),
      access_bytes(scope, "access_bytes", 32, "B",
                   "banked: a column access: burst length x channel width", {4, 1024}),
      interleave(scope, "interleave", 256, "B", "banked: bytes of a stripe of the mapping",
                 {16, 65536}),
      mapping(scope, "mapping", "row:bank:column:channel",
              "banked: what the digits of a stripe's number say, most significant first", {}),
      bank_hash(scope, "bank_hash", false,
                "banked: exclusive or of the bank and the row's low bits"),
      queue_depth(scope, "queue_depth", 64, "",
                  "banked: column accesses of a channel that the controller orders anew",
                  {1, 4096}),
      controller_latency(scope, "controller_latency", 30e-9, "s",
                         "banked: controller and PHY, both ways together", {0, 1e-3}),
      ecc(scope, "ecc", "none", "banked: where check bytes lie; inline: in the row of their data",
          {"none", "inline"}),
      ecc_data(scope, "ecc_data", 7, "B", "banked: data that one check byte covers", {1, 64}),
      timing(scope.child("timing")) {}

DramTimingParams::DramTimingParams(const Scope& scope)
    : t_rcd(scope, "t_rcd", 18e-9, "s", "activate to column access", {0, 1e-6}),
      t_rp(scope, "t_rp", 18e-9, "s", "precharge of a bank", {0, 1e-6}),
      t_rp_all(scope, "t_rp_all", 21e-9, "s", "precharge of all banks", {0, 1e-6}),
      t_ras(scope, "t_ras", 42e-9, "s", "activate to precharge; tRC is t_ras + t_rp", {0, 1e-6}),
      t_rtp(scope, "t_rtp", 7.5e-9, "s", "column read to precharge", {0, 1e-6}),
      t_wr(scope, "t_wr", 18e-9, "s", "end of written data to precharge", {0, 1e-6}),
      t_wtr(scope, "t_wtr", 10e-9, "s", "end of written data to column read", {0, 1e-6}),
      t_rtw(scope, "t_rtw", 5e-9, "s", "data bus idle from read to written data", {0, 1e-6}),
      t_rrd(scope, "t_rrd", 10e-9, "s", "activate to activate, two banks", {0, 1e-6}),
      t_faw(scope, "t_faw", 40e-9, "s", "window of four activates", {0, 1e-6}),
      read_latency(scope, "read_latency", 20.4e-9, "s", "column read to first data", {0, 1e-6}),
      write_latency(scope, "write_latency", 8.4e-9, "s", "column write to first data", {0, 1e-6}),
      t_refi(scope, "t_refi", 3.904e-6, "s", "all banks' refresh to the next", {1e-8, 1}),
      t_rfc(scope, "t_rfc", 380e-9, "s", "refresh of all banks", {0, 1e-3}),
      t_rfc_bank(scope, "t_rfc_bank", 190e-9, "s", "refresh of one bank", {0, 1e-3}),
      refresh(scope, "refresh", "all_bank", "one command for all banks, or for each in turn",
              {"none", "all_bank", "per_bank"}),
      stagger(scope, "stagger", false,
              "channels refresh one after the other, not all at the same time") {}

namespace {

/// Stripes that one row holds beside its check bytes.
std::uint32_t columns_of(const Scope& scope, const DramParams& params) {
  const Bytes data = params.ecc.get() == "inline"
                         ? params.row_bytes * params.ecc_data / (params.ecc_data + Bytes{1})
                         : params.row_bytes.get();
  const Bytes columns = data / params.interleave;
  if (columns == 0) {
    throw ConfigError("{}.interleave: a row has room for {} B of data, not for a stripe of {} B",
                      scope.path(), data, params.interleave.get());
  }
  if (params.interleave % params.access_bytes != 0) {
    throw ConfigError("{}.interleave: {} B are no multiple of access_bytes, {} B", scope.path(),
                      params.interleave.get(), params.access_bytes.get());
  }
  return static_cast<std::uint32_t>(columns);
}

}  // namespace

Bytes BankedDram::usable_bytes(const Scope& scope, const DramParams& params) {
  const Bytes rows = params.capacity / params.row_bytes;
  const Bytes rest = params.capacity % params.row_bytes;
  const Bytes of_row = columns_of(scope, params) * params.interleave;
  return rows * of_row + (of_row == params.row_bytes ? rest : 0);
}

DramTiming BankedDram::make_timing(const Scope& scope, const DramParams& params) {
  const DramTimingParams& is = params.timing;
  DramTiming to{};
  to.rcd = seconds_to_ps(is.t_rcd);
  to.rp = seconds_to_ps(is.t_rp);
  to.rp_all = seconds_to_ps(is.t_rp_all);
  to.ras = seconds_to_ps(is.t_ras);
  to.rtp = seconds_to_ps(is.t_rtp);
  to.wr = seconds_to_ps(is.t_wr);
  to.rrd = seconds_to_ps(is.t_rrd);
  to.faw = seconds_to_ps(is.t_faw);
  to.read = seconds_to_ps(is.read_latency);
  to.write = seconds_to_ps(is.write_latency);
  to.to_read = seconds_to_ps(is.t_wtr) + to.read;
  to.to_write = seconds_to_ps(is.t_rtw);
  to.refi = seconds_to_ps(is.t_refi);
  to.rfc = seconds_to_ps(is.t_rfc);
  to.rfc_bank = seconds_to_ps(is.t_rfc_bank);
  to.refresh = is.refresh.get() == "none"       ? DramTiming::Refresh::none
               : is.refresh.get() == "per_bank" ? DramTiming::Refresh::per_bank
                                                : DramTiming::Refresh::all_bank;
  to.access_bytes = params.access_bytes;
  to.access = static_cast<double>(params.access_bytes) * 1e12 * params.channels / params.bandwidth;
  to.banks = params.banks;
  to.depth = params.queue_depth;
  to.batch = std::max<std::uint32_t>(1, params.queue_depth / 2);

  const bool all = to.refresh == DramTiming::Refresh::all_bank;
  if (all && to.rp_all + to.rfc + to.rcd >= to.refi) {
    throw ConfigError("{}.timing: a refresh, t_rp_all + t_rfc + t_rcd, lasts longer than t_refi",
                      scope.path());
  }
  if (to.refresh == DramTiming::Refresh::per_bank && to.rfc_bank * to.banks > to.refi) {
    throw ConfigError("{}.timing: {} refreshes of t_rfc_bank last longer than t_refi", scope.path(),
                      to.banks);
  }
  return to;
}

BankedDram::BankedDram(const Scope& scope, const DramParams& params)
    : timing_(make_timing(scope, params)),
      mapping_(params.mapping, params.bank_hash,
               {params.channels, params.banks, columns_of(scope, params), params.interleave,
                usable_bytes(scope, params)},
               scope.path()),
      ecc_reach_(params.ecc.get() == "inline"
                     ? static_cast<std::uint32_t>(params.access_bytes) * params.ecc_data
                     : 0),
      counters_(scope) {
  scope.stat("bytes", "B", "bytes that passed", bytes_);
  scope.stat("transactions", "", "transactions that passed", transactions_);
  for (std::uint32_t i = 0; i < params.channels; ++i) {
    const std::uint64_t phase =
        params.timing.stagger ? timing_.refi * (i + 1) / params.channels : timing_.refi;
    channels_.push_back(std::make_unique<DramChannel>(scope, "channel" + std::to_string(i), timing_,
                                                      counters_, phase));
  }
  scope.stat("busy", "ps", "time the data buses were taken, mean of the channels", [this] {
    double sum = 0;
    for (const auto& channel : channels_) sum += static_cast<double>(channel->busy_ps());
    return sum / static_cast<double>(channels_.size());
  });
}

/// Column accesses of a piece, those to its check bytes included. Where a write covers a group of
/// check bytes in part, they are read before they are written.
std::uint32_t BankedDram::count_accesses(const AddressMapping::Piece& piece, bool write) const {
  const auto end = piece.offset + static_cast<std::uint32_t>(piece.bytes);
  const auto size = static_cast<std::uint32_t>(timing_.access_bytes);
  const std::uint32_t data = (end - 1) / size - piece.offset / size + 1;
  if (ecc_reach_ == 0) return data;
  const std::uint32_t first = piece.offset / ecc_reach_;
  const std::uint32_t last = (end - 1) / ecc_reach_;
  const std::uint32_t checks = last - first + 1;
  if (!write) return data + checks;
  const bool first_partly = piece.offset % ecc_reach_ != 0;
  const bool last_partly = end % ecc_reach_ != 0;
  const std::uint32_t partly = first == last ? (first_partly || last_partly ? 1U : 0U)
                                             : (first_partly ? 1U : 0U) + (last_partly ? 1U : 0U);
  return data + checks + partly;
}

std::uint64_t BankedDram::serve(std::uint64_t now, std::uint64_t start, std::uint64_t offset,
                                Bytes bytes, bool write) {
  std::uint64_t end = start;
  mapping_.for_each_piece(offset, bytes, [&](const AddressMapping::Piece& piece) {
    const DramChannel::Access access{piece.bank, piece.row, count_accesses(piece, write), write,
                                     piece.bytes};
    end = std::max(end, channels_[piece.channel]->serve(now, start, access));
  });
  if (bytes != 0) {
    bytes_ += bytes;
    ++transactions_;
  }
  return end;
}

Dram::Dram(sc_core::sc_module_name name, const Scope& scope, std::uint64_t base)
    : DramParams(scope),
      Memory(name, base,
             fidelity.get() == "banked" ? BankedDram::usable_bytes(scope, *this) : capacity.get()),
      ideal_bandwidth_(bandwidth * efficiency),
      latency_ps_(seconds_to_ps(latency)) {
  if (fidelity.get() == "banked") {
    const DramParams& params = *this;
    banked_ = std::make_unique<BankedDram>(scope, params);
    latency_ps_ = seconds_to_ps(controller_latency);
  } else {
    ideal_.emplace(scope, "", Occupancy::Trace::yes);
  }
  register_peak(scope, "", bandwidth);
}

std::uint64_t Dram::serve(std::uint64_t now, std::uint64_t start, const Request& request) {
  const std::uint64_t end =
      banked_ ? banked_->serve(now, start, request.offset, request.bytes, request.write)
              : ideal_->reserve(now, start, transfer_ps(request.bytes, ideal_bandwidth_),
                                request.bytes);
  return end + latency_ps_;
}

}  // namespace steppe
