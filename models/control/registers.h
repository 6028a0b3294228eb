// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "models/control/registers.def"

/// The register map as C++ constants: offsets by name, and the numbers of the host interface.
namespace steppe::control {

enum class Access : std::uint8_t { rw, ro, wo, w1c };

#define STEPPE_OFFSET(name, offset, access, doc) inline constexpr std::uint32_t name = offset;
#define STEPPE_VALUE(name, value, doc) inline constexpr std::uint32_t name = value;
STEPPE_CONTROL_REGISTERS(STEPPE_OFFSET)
STEPPE_CONTROL_CONSTANTS(STEPPE_VALUE)
namespace queue {
STEPPE_QUEUE_REGISTERS(STEPPE_OFFSET)
}
#undef STEPPE_OFFSET
#undef STEPPE_VALUE

}  // namespace steppe::control
