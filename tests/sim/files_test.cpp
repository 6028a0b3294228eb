// SPDX-License-Identifier: Apache-2.0
#include "sim/files.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "models/base/error.h"

using namespace steppe;

TEST_CASE("a port's name becomes a name of one file") {
  CHECK(sim::file_name("gpu_0/softmax_1") == "gpu_0_softmax_1");
  CHECK(sim::file_name("../x") == "_.._x");
  CHECK(sim::file_name("") == "_");
  CHECK(sim::file_name("logits") == "logits");
}

TEST_CASE("NAME=VALUE is split at the first '='") {
  CHECK(sim::split_pair("input", "a=b=c") == std::pair<std::string, std::string>{"a", "b=c"});
  CHECK_THROWS_AS(sim::split_pair("input", "a"), ConfigError);
  CHECK_THROWS_AS(sim::split_pair("input", "=a"), ConfigError);
  CHECK_THROWS_AS(sim::split_pair("input", "a="), ConfigError);
}

TEST_CASE("files are written whole, without leavings") {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("steppe-{}", getpid());
  sim::write_files(folder, {{"a.txt", "one"}, {"deep/er/b.txt", "two"}});
  sim::write_file(folder / "a.txt", "three");
  std::ostringstream text;
  text << std::ifstream(folder / "a.txt").rdbuf()
       << std::ifstream(folder / "deep/er/b.txt").rdbuf();
  CHECK(text.str() == "threetwo");
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  CHECK(files == 2);
  CHECK_THROWS_AS(sim::write_file(folder / "a.txt" / "x", "no folder"), ConfigError);
  std::filesystem::remove_all(folder);
}
