// SPDX-License-Identifier: Apache-2.0
#include "platform/firmware_image.h"

// The build defines STEPPE_FIRMWARE_ELF as the path of the file.
asm(".pushsection .rodata\n"
    ".balign 16\n"
    "steppe_firmware_begin:\n"
    ".incbin \"" STEPPE_FIRMWARE_ELF
    "\"\n"
    "steppe_firmware_end:\n"
    ".popsection\n");

extern "C" {
extern const std::uint8_t steppe_firmware_begin[];
extern const std::uint8_t steppe_firmware_end[];
}

namespace steppe {

std::span<const std::uint8_t> firmware_image() {
  return {steppe_firmware_begin, steppe_firmware_end};
}

}  // namespace steppe
