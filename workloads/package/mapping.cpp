// SPDX-License-Identifier: Apache-2.0
#include "workloads/package/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "models/base/error.h"

namespace steppe::package {

Mapping::Mapping(const std::filesystem::path& path) {
  const auto fail = [&](const std::string& reason) {
    throw ConfigError("cannot open package '{}': {}", path.string(), reason);
  };
  const auto reason = [] { return std::generic_category().message(errno); };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) fail(reason());
  struct stat status {};
  const bool regular = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  void* start = nullptr;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (regular && size != 0) {
    start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  }
  const std::string why = start == MAP_FAILED ? reason() : "";  // close may change errno
  ::close(descriptor);
  if (!regular) fail("it is no regular file");
  if (start == MAP_FAILED) fail(why);
  if (start != nullptr) bytes_ = {static_cast<const std::uint8_t*>(start), size};
}

Mapping::~Mapping() {
  if (!bytes_.empty()) ::munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
}

}  // namespace steppe::package
