// SPDX-License-Identifier: Apache-2.0
#include "models/riscv/plic.h"

#include "models/base/error.h"

namespace steppe::riscv {
namespace {

enum Register : std::uint32_t {
  pending_bits = 0x1000,
  enable_bits = 0x2000,
  threshold = 0x20'0000,
  claim = 0x20'0004,
};

}  // namespace

unsigned Plic::best(std::uint32_t floor) const {
  const std::uint32_t ready = pending() & enabled_;
  unsigned found = 0;
  for (unsigned source = 1; source <= sources; ++source) {
    if ((ready >> source & 1) == 0 || priority_[source] <= floor) continue;
    found = source;
    floor = priority_[source];
  }
  return found;
}

bool Plic::read(std::uint32_t offset, std::uint32_t& value) {
  if (offset % 4 == 0 && offset / 4 < priority_.size()) {
    value = priority_[offset / 4];
    return true;
  }
  switch (offset) {
    case pending_bits:
      value = pending();
      return true;
    case enable_bits:
      value = enabled_;
      return true;
    case threshold:
      value = threshold_;
      return true;
    case claim:
      value = best(0);  // the threshold holds interrupts back, not claims
      if (value != 0) claimed_ |= 1U << value;
      return true;
    default:
      return false;
  }
}

bool Plic::write(std::uint32_t offset, std::uint32_t value) {
  if (offset % 4 == 0 && offset / 4 < priority_.size()) {
    if (offset != 0) priority_[offset / 4] = value & largest_priority;
    return true;
  }
  switch (offset) {
    case pending_bits:  // read-only
      return true;
    case enable_bits:
      enabled_ = value & ~1U;
      return true;
    case threshold:
      threshold_ = value & largest_priority;
      return true;
    case claim:  // completes; one that is not enabled is ignored
      if (value <= sources && (enabled_ >> value & 1) != 0) claimed_ &= ~(1U << value);
      return true;
    default:
      return false;
  }
}

void Plic::set_line(unsigned source, bool high) {
  STEPPE_CHECK(source >= 1 && source <= sources, "source {}", source);
  lines_ = high ? lines_ | 1U << source : lines_ & ~(1U << source);
}

}  // namespace steppe::riscv
