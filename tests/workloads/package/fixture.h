// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "workloads/package/package.h"

namespace steppe::test {

/// A folder of its own for one test, removed with everything in it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  std::filesystem::path path_;
};

using ByteVector = std::vector<std::uint8_t>;

ByteVector load(const std::filesystem::path& path);
void save(const std::filesystem::path& path, const ByteVector& bytes);

/// A package that fills in every field: two chips, each with weights and streams; it need not make
/// sense to a card.
package::Package small_package();

/// The message that reading the file ends with; empty where it is read. Anything but a PackageError
/// leaves this function as it is.
std::string package_error(const std::filesystem::path& path);

}  // namespace steppe::test
