// SPDX-License-Identifier: Apache-2.0
#include "sim/calibration_table.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "models/base/error.h"

using namespace steppe;

namespace {

/// What `read_table` makes of a file with that text; the message where it throws.
std::string read_error(const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("table-{}", getpid());
  std::ofstream(path) << text;
  std::string message;
  try {
    sim::read_table(path);
  } catch (const ConfigError& error) {
    message = error.what();
  }
  std::filesystem::remove(path);
  return message;
}

bool names(const std::string& message, const std::string& what) {
  return message.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("a calibration table is read as it was written") {
  const sim::CalibrationTable table{
      .model = "m",
      .method = "mse",
      .samples = 3,
      .ranges = {{"plain", {-1.5F, 2.0F}}, {"a: \"b\" #c", {0.0F, 0.1F}}},
      .in_bf16 = {"/node: 1", "other"}};
  const auto path = std::filesystem::temp_directory_path() / fmt::format("table-{}", getpid());
  std::ofstream(path) << sim::format_table(table);
  const sim::CalibrationTable read = sim::read_table(path);
  std::filesystem::remove(path);
  CHECK(read.in_bf16 == table.in_bf16);
  REQUIRE(read.ranges.size() == 2);
  CHECK(read.ranges.at("plain").low == -1.5F);
  CHECK(read.ranges.at("a: \"b\" #c").high == 0.1F);
}

TEST_CASE("bad calibration tables are refused with the place") {
  CHECK(names(read_error("- 1\n"), "map"));
  CHECK(names(read_error("in_bf16: []\n"), "no ranges"));
  CHECK(names(read_error("ranges:\n  x: [1, 2, 3]\n"), ":2: the range of 'x'"));
  CHECK(names(read_error("ranges:\n  x: [1, 2]\n"), "around 0"));
  CHECK(names(read_error("ranges:\n  x: [0, .inf]\n"), "finite"));
  CHECK(names(read_error("ranges:\n  x: [0, wide]\n"), "'x'"));
  CHECK(names(read_error("ranges:\n  x: [0, 1]\nranked: 3\n"), "'ranked'"));
  CHECK(names(read_error("ranges: 3\n"), "'ranges'"));
  CHECK(names(read_error("ranges: [\n"), ":2"));
  CHECK(names(read_error("? [a, b]\n: 1\n"), ":1"));
  CHECK(names(read_error("ranges:\n  [a, b]: [0, 1]\n"), ":2"));
  CHECK(names(read_error("in_bf16: [[a]]\nranges:\n  x: [0, 1]\n"), ":1"));
}
