// SPDX-License-Identifier: Apache-2.0
#include "models/riscv/clint.h"

namespace steppe::riscv {
namespace {

enum Register : std::uint32_t {
  msip = 0,
  mtimecmp_low = 0x4000,
  mtimecmp_high = 0x4004,
  mtime_low = 0xbff8,
  mtime_high = 0xbffc,
};

constexpr std::uint32_t high(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}
constexpr std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
constexpr std::uint64_t join(std::uint32_t high_half, std::uint32_t low_half) {
  return std::uint64_t{high_half} << 32 | low_half;
}

}  // namespace

bool Clint::read(std::uint32_t offset, std::uint32_t& value, std::uint64_t now_ps) const {
  switch (offset) {
    case msip:
      value = msip_ ? 1 : 0;
      return true;
    case mtimecmp_low:
      value = low(mtimecmp_);
      return true;
    case mtimecmp_high:
      value = high(mtimecmp_);
      return true;
    case mtime_low:
      value = low(mtime(now_ps));
      return true;
    case mtime_high:
      value = high(mtime(now_ps));
      return true;
    default:
      return false;
  }
}

bool Clint::write(std::uint32_t offset, std::uint32_t value, std::uint64_t now_ps) {
  const std::uint64_t time = mtime(now_ps);
  switch (offset) {
    case msip:
      msip_ = (value & 1) != 0;
      return true;
    case mtimecmp_low:
      mtimecmp_ = join(high(mtimecmp_), value);
      return true;
    case mtimecmp_high:
      mtimecmp_ = join(value, low(mtimecmp_));
      return true;
    case mtime_low:
      offset_ += join(high(time), value) - time;
      return true;
    case mtime_high:
      offset_ += join(value, low(time)) - time;
      return true;
    default:
      return false;
  }
}

std::uint64_t Clint::timer_at(std::uint64_t now_ps) const {
  if (timer(now_ps)) return now_ps;
  const std::uint64_t ticks = now_ps / tick_ps_;
  const std::uint64_t remaining = mtimecmp_ - mtime(now_ps);
  if (remaining > never / tick_ps_ - ticks - 1) return never;
  return (ticks + remaining) * tick_ps_;
}

}  // namespace steppe::riscv
