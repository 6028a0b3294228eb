// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "models/base/timeline.h"

namespace steppe::sim {

/// Collects slices as a Perfetto trace (perfetto/trace/trace.proto: TracePacket with
/// TrackDescriptor and TrackEvent), to be opened at ui.perfetto.dev. The same slices give the same
/// bytes. Perfetto counts nanoseconds; times are rounded down to them.
class PerfettoTrace : public Timeline {
 public:
  Track add_track(const std::string& path) override;
  void slice(Track track, std::string_view name, std::uint64_t begin_ps,
             std::uint64_t end_ps) override;

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void event(Track track, int type, std::uint64_t ps, std::string_view name);

  std::string bytes_;
  Track tracks_ = 0;
};

}  // namespace steppe::sim
