// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <systemc>
#include <tlm>

/// Small helpers that every block of the fabric shares.
namespace steppe {

inline std::uint64_t to_ps(const sc_core::sc_time& time) {
  static const std::uint64_t ps_per_unit = static_cast<std::uint64_t>(
      std::llround(sc_core::sc_get_time_resolution().to_seconds() * 1e12));
  return time.value() * ps_per_unit;
}
inline sc_core::sc_time from_ps(std::uint64_t ps) {
  return {static_cast<double>(ps), sc_core::SC_PS};
}
/// A parameter in seconds as picoseconds.
inline std::uint64_t seconds_to_ps(double seconds) {
  return static_cast<std::uint64_t>(std::llround(seconds * 1e12));
}
inline std::uint64_t now_ps() { return to_ps(sc_core::sc_time_stamp()); }

}  // namespace steppe
