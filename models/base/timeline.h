// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace steppe {

/// Receives what happens on the simulated machine as named slices on tracks.
///
/// Modules hold a `Timeline*` that is null where no trace was asked for, and test it before they
/// build any argument, so that an untraced run pays one branch.
class Timeline {
 public:
  using Track = std::uint32_t;

  virtual ~Timeline() = default;
  /// A row of the picture; `path` is the module's dotted path.
  virtual Track add_track(const std::string& path) = 0;
  /// Something that took from `begin_ps` to `end_ps`, in picoseconds of simulated time.
  virtual void slice(Track track, std::string_view name, std::uint64_t begin_ps,
                     std::uint64_t end_ps) = 0;
};

}  // namespace steppe
