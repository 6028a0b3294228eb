// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

/// Runs the `steppe` program as its users do.
namespace steppe::test {

struct Outcome {
  int exit_code = -1;
  std::string output;  ///< standard output and error
};
/// `arguments` as typed in a shell.
Outcome run_steppe(const std::string& arguments);

/// A fresh folder that is removed with the object.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ / name; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::filesystem::path& path);
nlohmann::json read_json(const std::filesystem::path& path);
/// Every file below `folder` by its relative path, host.json left out.
std::map<std::string, std::string> read_folder(const std::filesystem::path& folder);

/// Folder of the shipped digits model.
std::string digits(const std::string& file);
/// Compiles the shipped model with the options to scratch/m and runs it on `images`, a file of its
/// folder; the results are in scratch/out. The card's outputs have to equal the reference
/// executor's. Returns what `compile` printed.
std::string compile_and_compare(const Scratch& scratch, const std::string& compile_options,
                                const std::string& images, const std::string& run_options = "");
/// A file of the optional collection of real models; empty where the collection is not there.
std::string shared_model(const std::string& file);

}  // namespace steppe::test
