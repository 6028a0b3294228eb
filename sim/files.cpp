// SPDX-License-Identifier: Apache-2.0
#include "sim/files.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>

#include "models/base/error.h"
#include "workloads/package/atomic_file.h"

namespace steppe::sim {

namespace {

/// A file whose bytes are written; `commit` puts it in its place.
std::unique_ptr<package::AtomicFile> prepare(const std::filesystem::path& path,
                                             const std::string& contents) {
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  auto file = std::make_unique<package::AtomicFile>(path);
  file->write({reinterpret_cast<const std::uint8_t*>(contents.data()), contents.size()});
  return file;
}

}  // namespace

void write_file(const std::filesystem::path& path, const std::string& contents) {
  prepare(path, contents)->commit();
}

void write_files(const std::filesystem::path& folder, const Files& files) {
  std::vector<std::unique_ptr<package::AtomicFile>> prepared;
  for (const auto& [name, contents] : files) prepared.push_back(prepare(folder / name, contents));
  for (const auto& file : prepared) file->commit();
}

void remove_others(const std::filesystem::path& folder, const std::string& extension,
                   const Files& files) {
  std::error_code error;
  std::vector<std::filesystem::path> stale;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = folder.filename() / entry.path().filename();
    const bool ours = entry.is_regular_file(error) && entry.path().extension() == extension;
    if (ours && !files.contains(name)) stale.push_back(entry.path());
  }
  for (const std::filesystem::path& path : stale) std::filesystem::remove(path, error);
}

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

void check_writable(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::path there = std::filesystem::absolute(folder, error);
  while (there.has_relative_path() && !std::filesystem::exists(there, error)) {
    there = there.parent_path();
  }
  std::string probe = (there / ".steppe-XXXXXX").string();
  const int file = mkstemp(probe.data());
  if (file < 0) {
    throw ConfigError("{}: no files can be written there: {}", folder.string(),
                      std::generic_category().message(errno));
  }
  close(file);
  unlink(probe.c_str());
}

std::string file_name(const std::string& port) {
  std::string name = port;
  for (char& c : name) {
    if (c == '/' || c == '\\' || c == '\0') c = '_';
  }
  return name.empty() || name.front() == '.' ? "_" + name : name;
}

std::pair<std::string, std::string> split_pair(const std::string& option, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw ConfigError("--{} {}: expected NAME=VALUE", option, text);
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::map<std::string, std::string> split_pairs(const std::string& option,
                                               const std::vector<std::string>& texts) {
  std::map<std::string, std::string> all;
  for (const std::string& text : texts) {
    if (!all.insert(split_pair(option, text)).second) {
      throw ConfigError("--{} {}: the name stands twice", option, text);
    }
  }
  return all;
}

}  // namespace steppe::sim
