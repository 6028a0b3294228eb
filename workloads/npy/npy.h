// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

/// NumPy's .npy files, versions 1 to 3 of its format (numpy.lib.format).
namespace steppe::npy {

/// An array in row-major order, its elements as fp32 whatever the file holds.
struct Array {
  std::vector<std::uint64_t> dims;
  std::vector<float> values;
};

/// Reads fp32, fp64, bool, and integers of 8 to 64 bits, little endian, C order.
/// Throws ConfigError naming the file and what is wrong with it.
Array read(const std::filesystem::path& path);

/// The file's bytes for an fp32 array.
std::string encode(const Array& array);

/// "[2, 3]"
std::string format_dims(const std::vector<std::uint64_t>& dims);

}  // namespace steppe::npy
