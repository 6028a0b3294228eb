// SPDX-License-Identifier: Apache-2.0
#include "models/riscv/htif.h"

#include <cstring>

#include "models/base/error.h"

namespace steppe::riscv {
namespace {

constexpr std::uint64_t console_write = 0x0101;  // device 1, command 1

std::uint8_t* place(std::span<std::uint8_t> memory, std::uint32_t base, std::uint32_t address,
                    const char* name) {
  const std::uint32_t offset = address - base;
  if (memory.size() < 8 || offset > memory.size() - 8) {
    throw ConfigError("symbol '{}' at {:#010x} is not in the program's memory", name, address);
  }
  return memory.data() + offset;
}

}  // namespace

Htif::Htif(std::span<std::uint8_t> memory, std::uint32_t base, std::uint32_t tohost,
           std::optional<std::uint32_t> fromhost, std::ostream& console)
    : tohost_(place(memory, base, tohost, "tohost")),
      fromhost_(fromhost ? place(memory, base, *fromhost, "fromhost") : nullptr),
      console_(console) {}

Htif::Heard Htif::look() {
  std::uint64_t said = 0;
  std::memcpy(&said, tohost_, sizeof said);
  if (said == 0) {
    last_ = 0;
    return Heard::nothing;
  }
  const std::uint64_t command = said >> 48;
  if (command == console_write) {
    console_.put(static_cast<char>(said & 0xff));
    std::memset(tohost_, 0, sizeof said);
    const std::uint64_t answer = command << 48;
    if (fromhost_ != nullptr) std::memcpy(fromhost_, &answer, sizeof answer);
    return Heard::printed;
  }
  if (said != last_) {
    last_ = said;
    return Heard::unsure;
  }
  if (command != 0 || (said & 1) == 0) {
    throw MachineError("tohost is {:#x}: neither a result (odd) nor a character to print", said);
  }
  result_ = static_cast<std::uint32_t>(said >> 1);
  return Heard::ended;
}

}  // namespace steppe::riscv
