// SPDX-License-Identifier: Apache-2.0
//
// Random programs on steppe-iss and on QEMU's RV32 machine "spike": the same registers, memory and
// traps.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "tests/models/riscv/random_program.h"
#include "tests/models/riscv/run_program.h"

namespace {

/// What QEMU's core has beyond RV32IMAC with machine mode is switched off.
constexpr const char* qemu =
    "timeout 30 qemu-system-riscv32 -M spike -m 16M -bios none -display none -monitor none "
    "-serial stdio -cpu rv32,f=false,d=false,s=false,u=false,h=false,mmu=false,zba=false,zbb=false,"
    "zbc=false,zbs=false -kernel ";

std::uint32_t number(const char* variable, std::uint32_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

}  // namespace

TEST_CASE("differential: random programs compute the same as on QEMU") {
  if (run_program("qemu-system-riscv32 --version").code != 0) {
    MESSAGE("skipped: qemu-system-riscv32 is not installed (Debian's qemu-system-misc)");
    return;
  }
  const std::uint32_t first = number("STEPPE_DIFFERENTIAL_SEED", 1);
  const std::uint32_t count = number("STEPPE_DIFFERENTIAL_PROGRAMS", 12);
  for (std::uint32_t seed = first; seed < first + count; ++seed) {
    const std::string path = STEPPE_RISCV_PROGRAMS "/random_" + std::to_string(seed) + ".elf";
    const auto elf = random_program(seed);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(elf.data()), static_cast<std::streamsize>(elf.size()));
    const Result ours = run_program(STEPPE_ISS " " + path + " --max-instructions 10000000");
    const Result theirs = run_program(qemu + path + " </dev/null");
    const std::string difference = first_difference(ours.output, theirs.output);
    CHECK_MESSAGE(ours.code == 0, path);
    CHECK_MESSAGE(theirs.code == 0, path);
    CHECK_MESSAGE(difference.empty(), path, ": steppe-iss and QEMU differ in ", difference);
    if (difference.empty()) std::remove(path.c_str());
  }
  MESSAGE(count, " programs");
}
