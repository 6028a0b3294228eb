// SPDX-License-Identifier: Apache-2.0
#include "workloads/npy/npy.h"

#include <charconv>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <string_view>

#include "models/base/error.h"

namespace steppe::npy {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

/// What the header says, and where the elements begin.
struct Header {
  std::string type;
  std::vector<std::uint64_t> dims;
  std::size_t begin = 0;
};

class Reader {
 public:
  Reader(const std::filesystem::path& path, const std::string& bytes)
      : path_(path), bytes_(bytes) {}

  Header header() const;
  [[noreturn]] void fail(const std::string& what) const {
    throw ConfigError("{}: {}", path_.string(), what);
  }

 private:
  /// The text behind `'key':` in the header's dictionary.
  std::string_view entry(std::string_view dictionary, const std::string& key) const;
  std::vector<std::uint64_t> parse_dims(std::string_view text) const;

  const std::filesystem::path& path_;
  const std::string& bytes_;
};

std::string_view Reader::entry(std::string_view dictionary, const std::string& key) const {
  const std::size_t at = dictionary.find("'" + key + "':");
  if (at == std::string_view::npos) fail("the .npy header has no '" + key + "'");
  std::string_view rest = dictionary.substr(at + key.size() + 3);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

std::vector<std::uint64_t> Reader::parse_dims(std::string_view text) const {
  if (!text.starts_with('(')) fail("the .npy header's shape is no tuple");
  text.remove_prefix(1);
  std::vector<std::uint64_t> dims;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" ,"), text.size()));
    if (text.starts_with(')')) return dims;
    std::uint64_t extent = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc{}) fail("the .npy header's shape is no tuple of numbers");
    dims.push_back(extent);
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  }
}

Header Reader::header() const {
  if (!bytes_.starts_with(magic) || bytes_.size() < 10) fail("not a .npy file");
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes_[at]); };
  const unsigned version = byte(6);
  std::size_t length = byte(8) | byte(9) << 8U;
  std::size_t start = 10;
  if (version >= 2) {
    if (bytes_.size() < 12) fail("the .npy header is cut off");
    length |= std::size_t{byte(10)} << 16U | std::size_t{byte(11)} << 24U;
    start = 12;
  }
  if (version < 1 || version > 3) fail(fmt::format(".npy format version {} is unknown", version));
  if (length > bytes_.size() - start) fail("the .npy header is cut off");
  const std::string_view dictionary = std::string_view(bytes_).substr(start, length);
  if (!entry(dictionary, "fortran_order").starts_with("False")) {
    fail("the array is in Fortran order; save numpy.ascontiguousarray(a)");
  }
  const std::string_view type = entry(dictionary, "descr");
  const std::size_t quote = type.find('\'', 1);
  if (!type.starts_with('\'') || quote == std::string_view::npos) {
    fail("the .npy file holds records, not plain numbers");
  }
  return {std::string(type.substr(1, quote - 1)), parse_dims(entry(dictionary, "shape")),
          start + length};
}

template <typename T>
void convert(const std::string& bytes, std::size_t begin, std::vector<float>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + begin + i * sizeof value, sizeof value);
    values[i] = static_cast<float>(value);
  }
}

struct ElementType {
  std::string_view name;
  std::size_t bytes;
  void (*convert)(const std::string&, std::size_t, std::vector<float>&);
};
constexpr ElementType types[] = {
    {"<f4", 4, convert<float>},         {"<f8", 8, convert<double>},
    {"|b1", 1, convert<std::uint8_t>},  {"|i1", 1, convert<std::int8_t>},
    {"|u1", 1, convert<std::uint8_t>},  {"<i2", 2, convert<std::int16_t>},
    {"<u2", 2, convert<std::uint16_t>}, {"<i4", 4, convert<std::int32_t>},
    {"<u4", 4, convert<std::uint32_t>}, {"<i8", 8, convert<std::int64_t>},
    {"<u8", 8, convert<std::uint64_t>}};

}  // namespace

Array read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) {
    throw ConfigError("{}: the file cannot be read", path.string());
  }
  std::ostringstream text;
  text << file.rdbuf();
  const std::string bytes = text.str();
  const Reader reader(path, bytes);
  const Header header = reader.header();
  for (const ElementType& type : types) {
    if (type.name != header.type) continue;
    const std::size_t there = (bytes.size() - header.begin) / type.bytes;
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : header.dims) {
      if (extent != 0 && elements > there / extent) elements = there + 1;  // too many: no overflow
      elements *= elements > there ? 1 : extent;
    }
    if (elements * type.bytes != bytes.size() - header.begin) {
      reader.fail(fmt::format("{} elements of type {} do not fill the {} bytes behind the header",
                              format_dims(header.dims), header.type, bytes.size() - header.begin));
    }
    Array array{header.dims, std::vector<float>(elements)};
    type.convert(bytes, header.begin, array.values);
    return array;
  }
  reader.fail("elements of type '" + header.type +
              "'; little-endian fp32, fp64, bool or integers are right");
}

std::string encode(const Array& array) {
  std::string dims;
  for (const std::uint64_t extent : array.dims) dims += fmt::format("{}, ", extent);
  if (array.dims.size() > 1) dims.resize(dims.size() - 2);
  if (array.dims.size() == 1) dims.pop_back();
  std::string dictionary =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", dims);
  // Padded so that the elements begin at a multiple of 64.
  constexpr std::size_t alignment = 64;
  const std::size_t used = magic.size() + 4 + dictionary.size() + 1;
  dictionary.append((alignment - used % alignment) % alignment, ' ');
  dictionary += '\n';
  std::string bytes(magic);
  bytes += '\x01';
  bytes += '\0';
  bytes += static_cast<char>(dictionary.size() & 0xffU);
  bytes += static_cast<char>(dictionary.size() >> 8U);
  bytes += dictionary;
  bytes.append(reinterpret_cast<const char*>(array.values.data()),
               array.values.size() * sizeof(float));
  return bytes;
}

std::string format_dims(const std::vector<std::uint64_t>& dims) {
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

}  // namespace steppe::npy
