// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// Arrays in NumPy's file format (numpy.lib.format, versions 1 to 3), in C order, little endian.
namespace steppe::npy {

enum class Type : std::uint8_t {
  fp32,
  fp64,
  fp16,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,  ///< above 2^63 as negative numbers
  boolean
};
[[nodiscard]] constexpr bool is_real(Type type) {
  return type == Type::fp32 || type == Type::fp64 || type == Type::fp16;
}

/// Row major. Elements stand in `reals` for fp32, fp16 and fp64 (rounded to fp32), else in
/// `integers`.
struct Array {
  Type type = Type::fp32;
  std::vector<std::uint64_t> shape;
  std::vector<float> reals;
  std::vector<std::int64_t> integers;

  [[nodiscard]] std::uint64_t elements() const;
  /// The elements whatever their type; integers beyond 2^24 are rounded.
  [[nodiscard]] std::vector<float> as_reals() const;
};

/// "fp32"
std::string_view name_of(Type type);

/// "[360,1,8,8]"
std::string text(const std::vector<std::uint64_t>& shape);

/// Throws ConfigError naming the file and what is wrong with it: it is not there, no array, cut
/// off, too long, in Fortran order, big endian or of another element type.
Array read(const std::filesystem::path& path);

/// As above, from the bytes of a file; `name` is for messages.
Array parse(const std::string& bytes, const std::string& name);

/// The bytes of a file. fp64 and fp16 are not written. Integers must fit their type.
std::string format(const Array& array);

/// Writes a file at once: there is either the old one or the whole new one. Throws ConfigError
/// where it cannot be written.
void write(const std::filesystem::path& path, const Array& array);

}  // namespace steppe::npy
