// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace steppe {

/// The control core's firmware as an ELF file, built into the library.
std::span<const std::uint8_t> firmware_image();

}  // namespace steppe
