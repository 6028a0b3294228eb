// SPDX-License-Identifier: Apache-2.0
#include "workloads/package/atomic_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "models/base/error.h"

namespace steppe::package {

namespace {

/// Where the bytes go: through symbolic links, so that the link stays and its target is replaced.
std::filesystem::path target_of(std::filesystem::path path) {
  std::error_code error;
  for (int links = 0; links < 40 && std::filesystem::is_symlink(path, error); ++links) {
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  }
  return path;
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path)
    : path_(target_of(path)), temporary_(path_.string() + ".XXXXXX") {
  std::error_code ignored;
  if (std::filesystem::is_directory(path_, ignored)) fail(EISDIR);
  // A rename would put a file into the place of a device or pipe.
  if (std::filesystem::exists(path_, ignored) &&
      !std::filesystem::is_regular_file(path_, ignored)) {
    throw ConfigError("cannot write '{}': it is there and no regular file", path_.string());
  }
  descriptor_ = ::mkstemp(temporary_.data());
  if (descriptor_ < 0) fail(errno);
  // mkstemp makes a private file; a package has the permissions that any new file gets.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(descriptor_, 0666 & ~mask);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::uint8_t> bytes) {
  // One call writes at most 2 GiB.
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail(errno);
    position_ += static_cast<std::uint64_t>(done);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void AtomicFile::pad_to(std::uint64_t offset) {
  static constexpr std::array<std::uint8_t, 4096> zeros{};
  while (position_ < offset) {
    write(std::span(zeros).first(std::min<std::uint64_t>(zeros.size(), offset - position_)));
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail(errno);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  ::close(descriptor_);
  descriptor_ = -1;
}

void AtomicFile::fail(int error) const {
  throw ConfigError("cannot write '{}': {}", path_.string(),
                    std::generic_category().message(error));
}

}  // namespace steppe::package
