// SPDX-License-Identifier: Apache-2.0
#include "workloads/npy/npy.h"

#include <fmt/ranges.h>

#include <Eigen/Core>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>

#include "models/base/error.h"
#include "workloads/npy/header.h"

namespace steppe::npy {
namespace {

template <typename T, typename To>
std::vector<To> unpacked(const char* bytes, std::uint64_t count) {
  std::vector<To> result(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    T element;
    std::memcpy(&element, bytes + i * sizeof(T), sizeof(T));
    // An int8 element is a number, no character.
    result[i] = static_cast<To>(element);  // NOLINT(bugprone-signed-char-misuse)
  }
  return result;
}

template <typename T, typename From>
void pack(const std::vector<From>& elements, std::string& bytes) {
  for (const From x : elements) {
    const auto element = static_cast<T>(x);
    STEPPE_CHECK(static_cast<From>(element) == x || x != x, "{} does not fit its type", x);
    char raw[sizeof(T)];
    std::memcpy(raw, &element, sizeof(T));
    bytes.append(raw, sizeof(T));
  }
}

}  // namespace

std::uint64_t Array::elements() const {
  std::uint64_t product = 1;
  for (const std::uint64_t extent : shape) product *= extent;
  return product;
}

std::vector<float> Array::as_reals() const {
  if (is_real(type)) return reals;
  return {integers.begin(), integers.end()};
}

std::string_view name_of(Type type) {
  constexpr std::array names{"fp32",   "fp64",  "fp16",   "int8",  "uint8",  "int16",
                             "uint16", "int32", "uint32", "int64", "uint64", "bool"};
  return names.at(static_cast<std::size_t>(type));
}

std::string text(const std::vector<std::uint64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

Array parse(const std::string& bytes, const std::string& name) {
  const Header header = parse_header(bytes, name);
  Array array;
  array.type = header.type;
  array.shape = header.shape;
  const std::uint64_t room = bytes.size() - header.size;
  const std::uint64_t width = width_of(header.type);
  std::uint64_t count = 1;
  bool empty = false;
  for (const std::uint64_t extent : header.shape) {
    empty = empty || extent == 0;
    // More than the file can hold is all that matters of a product that large.
    count = extent != 0 && count > bytes.size() / extent ? bytes.size() + 1 : count * extent;
    if (count == 0) count = 1;
  }
  if (empty) count = 0;
  if (count > room / width || count * width != room) {
    throw ConfigError("'{}': {} bytes of elements; {} of {} bytes each needs {}", name, room,
                      text(header.shape), width,
                      count > room ? std::string("more") : fmt::format("{}", count * width));
  }
  const char* data = bytes.data() + header.size;
  switch (header.type) {
    case Type::fp32:
      array.reals = unpacked<float, float>(data, count);
      break;
    case Type::fp64:
      for (const double x : unpacked<double, double>(data, count)) {
        array.reals.push_back(static_cast<float>(x));
        if (std::isfinite(x) && !std::isfinite(array.reals.back())) {
          throw ConfigError("'{}': {} is too large for fp32", name, x);
        }
      }
      break;
    case Type::fp16:
      for (const std::uint16_t bits : unpacked<std::uint16_t, std::uint16_t>(data, count)) {
        array.reals.push_back(static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(bits)));
      }
      break;
    case Type::int8:
      array.integers = unpacked<std::int8_t, std::int64_t>(data, count);
      break;
    case Type::int16:
      array.integers = unpacked<std::int16_t, std::int64_t>(data, count);
      break;
    case Type::uint16:
      array.integers = unpacked<std::uint16_t, std::int64_t>(data, count);
      break;
    case Type::uint32:
      array.integers = unpacked<std::uint32_t, std::int64_t>(data, count);
      break;
    case Type::uint8:
      array.integers = unpacked<std::uint8_t, std::int64_t>(data, count);
      break;
    case Type::int32:
      array.integers = unpacked<std::int32_t, std::int64_t>(data, count);
      break;
    case Type::int64:
    case Type::uint64:  // as its bits
      array.integers = unpacked<std::int64_t, std::int64_t>(data, count);
      break;
    case Type::boolean:
      array.integers = unpacked<std::uint8_t, std::int64_t>(data, count);
      for (std::int64_t& x : array.integers) x = x != 0 ? 1 : 0;
      break;
  }
  return array;
}

Array read(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    throw ConfigError("'{}' does not exist", path.string());
  }
  std::ifstream file(path, std::ios::binary);
  std::string bytes;
  if (std::filesystem::is_regular_file(path, error) && file) {
    bytes.resize(std::filesystem::file_size(path, error));
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  if (error || !file || !std::filesystem::is_regular_file(path, error)) {
    throw ConfigError("'{}' cannot be read", path.string());
  }
  return parse(bytes, path.string());
}

std::string format(const Array& array) {
  const std::size_t given = is_real(array.type) ? array.reals.size() : array.integers.size();
  const bool written = !is_real(array.type) || array.type == Type::fp32;
  STEPPE_CHECK(written && given == array.elements(), "{}", text(array.shape));
  std::string bytes = format_header({array.type, array.shape, 0});
  switch (array.type) {
    case Type::fp32:
    case Type::fp64:
    case Type::fp16:
      pack<float>(array.reals, bytes);
      break;
    case Type::int8:
      pack<std::int8_t>(array.integers, bytes);
      break;
    case Type::uint8:
      pack<std::uint8_t>(array.integers, bytes);
      break;
    case Type::int16:
      pack<std::int16_t>(array.integers, bytes);
      break;
    case Type::uint16:
      pack<std::uint16_t>(array.integers, bytes);
      break;
    case Type::uint32:
      pack<std::uint32_t>(array.integers, bytes);
      break;
    case Type::int32:
      pack<std::int32_t>(array.integers, bytes);
      break;
    case Type::int64:
    case Type::uint64:
      pack<std::int64_t>(array.integers, bytes);
      break;
    case Type::boolean:
      pack<bool>(array.integers, bytes);
      break;
  }
  return bytes;
}

void write(const std::filesystem::path& path, const Array& array) {
  const std::string bytes = format(array);
  std::filesystem::path part = path;
  part += ".part";
  std::error_code error;
  {
    std::ofstream file(part, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) {
      std::filesystem::remove(part, error);
      throw ConfigError("'{}' cannot be written", path.string());
    }
  }
  std::filesystem::rename(part, path, error);
  if (error) {
    const std::string reason = error.message();
    std::filesystem::remove(part, error);
    throw ConfigError("'{}' cannot be written: {}", path.string(), reason);
  }
}

}  // namespace steppe::npy
