// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/program.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace steppe::test {

Outcome run_steppe(const std::string& arguments) {
  const std::string command = std::string(STEPPE_PROGRAM) + " " + arguments + " 2>&1 </dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Outcome outcome;
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    outcome.output.append(buffer.data(), n);
  }
  const int status = pclose(pipe);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  INFO(command);
  INFO(outcome.output);
  CHECK_MESSAGE(WIFEXITED(status), "the program crashed");
  return outcome;
}

Scratch::Scratch() {
  std::string pattern = (std::filesystem::temp_directory_path() / "steppe-test-XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  INFO(path.string());
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

nlohmann::json read_json(const std::filesystem::path& path) {
  return nlohmann::json::parse(read_file(path));
}

std::map<std::string, std::string> read_folder(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().filename() == "host.json") continue;
    files[std::filesystem::relative(entry.path(), folder).string()] = read_file(entry.path());
  }
  return files;
}

std::string digits(const std::string& file) {
  return std::string(STEPPE_SOURCE_DIR) + "/workloads/digits/" + file;
}

std::string compile_and_compare(const Scratch& scratch, const std::string& compile_options,
                                const std::string& images, const std::string& run_options) {
  const std::string inputs = " --input image=" + digits(images);
  const Outcome compile =
      run_steppe("compile " + digits("digits.onnx") + " -o " + scratch / "m" + " --reference " +
                 scratch / "reference" + inputs + " " + compile_options);
  INFO(compile.output);
  REQUIRE(compile.exit_code == 0);
  const Outcome run = run_steppe("run " + scratch / "m" + inputs +
                                 " --golden logits=" + scratch / "reference/logits.npy" +
                                 " --out " + scratch / "out" + " " + run_options);
  INFO(compile_options, "\n", run.output);
  CHECK(run.exit_code == 0);
  return compile.output;
}

std::string shared_model(const std::string& file) {
  const std::string path = std::string(STEPPE_SHARED_DIR) + "/models/" + file;
  return std::filesystem::exists(path) ? path : "";
}

}  // namespace steppe::test
