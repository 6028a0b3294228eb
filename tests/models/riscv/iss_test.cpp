// SPDX-License-Identifier: Apache-2.0
//
// steppe-iss as a program: exit codes and messages.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace {

struct Result {
  int code;
  std::string errors;
};

Result iss(const std::string& arguments) {
  FILE* pipe = popen((STEPPE_ISS " " + arguments + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  Result result;
  std::array<char, 256> part{};
  while (fgets(part.data(), part.size(), pipe) != nullptr) result.errors += part.data();
  result.code = WEXITSTATUS(pclose(pipe));
  return result;
}

std::string elf(const std::string& name) { return STEPPE_RISCV_PROGRAMS "/" + name + ".elf "; }

bool says(const Result& result, const char* part) {
  return result.errors.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("iss: a pass is silent, --stats tells the speed") {
  const Result plain = iss(elf("multiply"));
  CHECK(plain.code == 0);
  CHECK(plain.errors.empty());
  const Result stats = iss(elf("multiply") + "--stats");
  CHECK(stats.code == 0);
  CHECK(says(stats, " MIPS"));
}

TEST_CASE("iss: a failure names the check") {
  const Result result = iss(elf("fails"));
  CHECK(result.code == 1);
  CHECK(says(result, "failed: test 2"));
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
