// SPDX-License-Identifier: Apache-2.0
//
// The public riscv-tests, built by whoever has them: every file in the folder that
// STEPPE_RISCV_TESTS names.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/models/riscv/run_program.h"

TEST_CASE("riscv-tests: every program of the folder passes") {
  const char* folder = std::getenv("STEPPE_RISCV_TESTS");
  if (folder == nullptr) {
    MESSAGE("skipped: STEPPE_RISCV_TESTS names no folder with programs of riscv-tests");
    return;
  }
  REQUIRE(std::filesystem::is_directory(folder));
  int programs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (!entry.is_regular_file() || entry.path().extension() == ".dump") continue;
    const Result result = run_program(STEPPE_ISS " '" + path + "' --max-instructions 10000000");
    CHECK_MESSAGE(result.code == 0, path, ": ", result.output);
    ++programs;
  }
  CHECK(programs > 0);
  MESSAGE(programs, " programs passed or were told above");
}
