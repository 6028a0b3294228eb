// SPDX-License-Identifier: Apache-2.0
//
// steppe-iss as a program: exit codes and messages.
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/models/riscv/run_program.h"

namespace {

Result iss(const std::string& arguments) { return run_program(STEPPE_ISS " " + arguments); }

std::string elf(const std::string& name) { return STEPPE_RISCV_PROGRAMS "/" + name + ".elf "; }

bool says(const Result& result, const char* part) {
  return result.output.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("iss: a pass is silent, --stats tells the speed") {
  const Result plain = iss(elf("multiply"));
  CHECK(plain.code == 0);
  CHECK(plain.output.empty());
  const Result stats = iss(elf("multiply") + "--stats");
  CHECK(stats.code == 0);
  CHECK(says(stats, " MIPS"));
}

TEST_CASE("iss: a failure names the check") {
  const Result result = iss(elf("fails"));
  CHECK(result.code == 2);
  CHECK(says(result, "failed: test 2"));
}

TEST_CASE("iss: interrupts of the CLINT") {
  const Result result = iss(elf("interrupts"));
  CHECK(result.code == 0);
  CHECK(result.output.empty());
}

TEST_CASE("iss: what the program prints, and its signature") {
  const std::string path = STEPPE_RISCV_PROGRAMS "/hello.signature";
  const Result result = iss(elf("hello") + "--signature " + path);
  CHECK(result.code == 0);
  CHECK(result.output == "Bare, and a line\nor two");
  std::ifstream file(path);
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == "600df00d\n00000007\n");
  std::remove(path.c_str());
  CHECK(iss(elf("multiply") + "--signature " + path).code == 2);
}

TEST_CASE("iss: a request to the host that nobody answers") {
  const Result result = iss(elf("asks"));
  CHECK(result.code == 4);
  CHECK(says(result, "tohost is 0x1000"));
}

TEST_CASE("iss: programs that do not end") {
  const Result spins = iss(elf("spins") + "--max-instructions 100000");
  CHECK(spins.code == 4);
  CHECK(says(spins, "limit of 100000 instructions"));
  const Result sleeps = iss(elf("sleeps"));
  CHECK(sleeps.code == 4);
  CHECK(says(sleeps, "nothing to wake it"));
  const Result halts = iss(elf("no_handler"));
  CHECK(halts.code == 4);
  CHECK(says(halts, "mcause 1"));
}

TEST_CASE("iss: bad usage") {
  CHECK(iss("").code == 2);
  CHECK(says(iss(""), "usage: steppe-iss ELF"));
  CHECK(iss("/nonexistent.elf").code == 2);
  CHECK(iss(elf("multiply") + elf("csr")).code == 2);
  CHECK(iss(elf("spins") + "--max-instructions").code == 2);
  CHECK(iss(elf("spins") + "--max-instructions 12x").code == 2);
  const Result unknown = iss(elf("spins") + "--stat");
  CHECK(unknown.code == 2);
  CHECK(says(unknown, "did you mean '--stats'?"));
  CHECK(iss("/bin/sh").code == 2);
}
