// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

struct Result {
  int code;  ///< -1 where it died by a signal
  std::string output;
};

/// Runs a command line; its output is both of its streams.
inline Result run_program(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  Result result{-1, ""};
  std::array<char, 4096> part{};
  while (const std::size_t got = fread(part.data(), 1, part.size(), pipe)) {
    result.output.append(part.data(), got);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  return result;
}
