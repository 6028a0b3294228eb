// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace steppe::package {

/// A file that appears whole or not at all: written under another name in the same folder, renamed
/// by `commit`, removed where that is not reached. Throws ConfigError naming the file and the
/// system's reason.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::uint8_t> bytes);
  /// Writes zeros up to the offset.
  void pad_to(std::uint64_t offset);
  void commit();

 private:
  [[noreturn]] void fail(int error) const;

  std::filesystem::path path_;
  std::string temporary_;
  int descriptor_ = -1;
  std::uint64_t position_ = 0;
};

}  // namespace steppe::package
