// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/riscv/core.h"

/// A bus with nothing on it: every access faults.
class SilentBus : public steppe::riscv::Bus {
 public:
  Answer read(std::uint32_t, std::uint32_t&, unsigned) override { return {}; }
  Answer write(std::uint32_t, std::uint32_t, unsigned) override { return {}; }
};
