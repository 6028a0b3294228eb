// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <systemc>
#include <tlm>

/// Small helpers that every block of the fabric shares.
namespace steppe {

/// Picoseconds of the unit that sc_time counts in.
inline std::uint64_t time_unit_ps() {
  static const std::uint64_t ps = static_cast<std::uint64_t>(
      std::llround(sc_core::sc_get_time_resolution().to_seconds() * 1e12));
  return ps;
}
inline std::uint64_t to_ps(const sc_core::sc_time& time) { return time.value() * time_unit_ps(); }
/// Without the way over a double that sc_time's other constructors take: this is called for every
/// transaction.
inline sc_core::sc_time from_ps(std::uint64_t ps) {
  return sc_core::sc_time::from_value(ps / time_unit_ps());
}
/// A parameter in seconds as picoseconds.
inline std::uint64_t seconds_to_ps(double seconds) {
  return static_cast<std::uint64_t>(std::llround(seconds * 1e12));
}
inline std::uint64_t now_ps() { return to_ps(sc_core::sc_time_stamp()); }

}  // namespace steppe
