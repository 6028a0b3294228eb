// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/fabric/dram_timing.h"
#include "models/fabric/occupancy.h"

namespace steppe {

/// What the channels of one DRAM count together.
struct DramCounters {
  explicit DramCounters(const Scope& scope);
  Counter row_hits;
  Counter row_misses;
  Counter row_conflicts;
  Counter refreshes;
  Counter turnarounds;
};

/// One channel: a data bus and banks with an open row each, under an open-page controller.
///
/// A piece of a transaction that lies in one row takes the data bus from the first moment when its
/// row can be open and the bus is free. What lies before that on the bus hides the row's opening,
/// as far as the controller's queue looks ahead. README.md states what is approximated.
class DramChannel {
 public:
  DramChannel(const Scope& scope, const std::string& name, const DramTiming& timing,
              DramCounters& counters, std::uint64_t refresh_phase);

  struct Access {
    std::uint32_t bank;
    std::uint32_t row;
    std::uint32_t accesses;  ///< column accesses
    bool write;
    Bytes bytes;  ///< for the statistics
  };
  /// Serves a piece that arrives at `arrival`; returns the end of its data on the bus.
  std::uint64_t serve(std::uint64_t now, std::uint64_t arrival, const Access& access);
  [[nodiscard]] std::uint64_t busy_ps() const { return bus_.busy_ps(); }

 private:
  /// A row that was open, from its activation to the end of its last data.
  struct Visit {
    std::uint32_t row;
    bool write;
    std::uint64_t activate;
    std::uint64_t end;
    std::uint64_t closes;  ///< the refresh that closes it
  };
  /// The latest visits to a bank, by time. Few, since transactions are reserved up to a
  /// microsecond or two ahead, not always in the order of their times.
  struct Bank {
    static constexpr std::uint32_t most = 4;
    std::array<Visit, most> visits;
    std::uint32_t count = 0;
    std::uint64_t busy_until = 0;  ///< with what is forgotten
  };

  /// When an access can have its turn: its place in the controller's queue from `enter` on, the
  /// data bus from `slot` on, `cas` after its column command.
  struct Turn {
    std::uint64_t enter;
    std::uint64_t slot;
    std::uint64_t cas;
    std::uint64_t duration;
  };

  Visit* find(const Access& access, const Turn& turn, bool& hit);
  [[nodiscard]] std::uint64_t closed(const Visit& visit) const;
  Visit& insert(Bank& bank, std::uint32_t place, const Visit& visit);
  [[nodiscard]] std::uint64_t limit_activate(std::uint64_t time) const;
  void note_activate(std::uint64_t time);
  std::uint64_t turnaround(bool write, std::uint64_t slot, bool waits, std::uint32_t accesses);
  bool refresh_until(std::uint64_t now, std::uint64_t time);
  [[nodiscard]] std::uint64_t next_refresh(std::uint32_t bank, std::uint64_t time) const;
  [[nodiscard]] std::uint64_t after_bank_refresh(std::uint32_t bank, std::uint64_t time) const;
  [[nodiscard]] std::uint64_t phase_of(std::uint32_t bank) const;

  const DramTiming& timing_;
  DramCounters& counters_;
  Occupancy bus_;
  std::vector<Bank> banks_;
  std::array<std::uint64_t, 8> activates_{};  ///< the latest, by time
  std::uint32_t activated_ = 0;
  std::uint64_t refresh_phase_;
  std::uint64_t next_refresh_;  ///< the first that the bus does not know yet
  std::uint64_t refresh_bubble_;
  std::uint64_t depth_ps_;
  std::uint64_t last_end_ = 0;
  std::uint32_t in_batch_ = 0;
  bool writing_ = false;
};

}  // namespace steppe
