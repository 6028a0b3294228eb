// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "models/base/timeline.h"
#include "workloads/schedule/schedule.h"

namespace steppe::sim {

/// Keeps slices of the chips' queues: which layer had an instruction at work when.
class LayerTimeline : public Timeline {
 public:
  struct Slice {
    std::string layer;
    Track queue = 0;
    std::uint64_t begin_ps = 0;
    std::uint64_t end_ps = 0;
  };

  Track add_track(const std::string& path) override;
  void slice(Track track, std::string_view name, std::uint64_t begin_ps,
             std::uint64_t end_ps) override;

  [[nodiscard]] const std::vector<Slice>& slices() const { return slices_; }

 private:
  Track tracks_ = 0;
  std::vector<Slice> slices_;
};

/// A layer of one chip in one run alone.
struct LayerTime {
  std::string name;
  std::uint32_t chip = 0;
  double cycles = 0;   ///< that it kept the busiest of its queues
  double exposed = 0;  ///< from the end of all layers before to its own; 0: hidden behind them
  /// Cycles that each resource of the chip needs at least, by the preset.
  double tensor = 0, vector = 0, dram = 0;

  [[nodiscard]] double bound() const { return std::max({tensor, vector, dram}); }
  [[nodiscard]] const char* resource() const;  ///< that sets the bound
  /// Share of the engines' time; 0 where the layer took none.
  [[nodiscard]] double utilisation() const { return cycles > 0 ? tensor / cycles : 0; }
  [[nodiscard]] double reached() const { return cycles > 0 ? bound() / cycles : 0; }
};

/// The layers of a run that was submitted at `from_ps`, in the order in which they ended on each
/// chip. The exposed cycles of a chip's layers add up to its time.
std::vector<LayerTime> layer_times(const schedule::Report& report, const LayerTimeline& timeline,
                                   std::uint64_t from_ps, double clock_hz);

std::string format_table(const std::vector<LayerTime>& layers);

}  // namespace steppe::sim
