// SPDX-License-Identifier: Apache-2.0
#include "workloads/npy/header.h"

#include <array>
#include <optional>
#include <string_view>

#include "models/base/error.h"

namespace steppe::npy {
namespace {

constexpr std::string_view magic{"\x93NUMPY", 6};

struct Name {
  Type type;
  std::string_view text;
  std::uint64_t width;
};
constexpr std::array names{
    Name{Type::fp32, "<f4", 4},   Name{Type::fp64, "<f8", 8},   Name{Type::fp16, "<f2", 2},
    Name{Type::int8, "|i1", 1},   Name{Type::uint8, "|u1", 1},  Name{Type::int16, "<i2", 2},
    Name{Type::uint16, "<u2", 2}, Name{Type::int32, "<i4", 4},  Name{Type::uint32, "<u4", 4},
    Name{Type::int64, "<i8", 8},  Name{Type::uint64, "<u8", 8}, Name{Type::boolean, "|b1", 1}};

/// Reads the Python literal {'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }.
class HeaderText {
 public:
  HeaderText(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Header read() {
    expect('{');
    while (!take('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr") {
        type_ = type_of(quoted());
      } else if (key == "fortran_order") {
        order(word());
      } else if (key == "shape") {
        shape_ = tuple();
      } else {
        fail("its header has an unknown key");
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip();
    if (at_ != text_.size()) fail("its header does not end where it should");
    if (!type_ || !ordered_ || !shape_) fail("its header lacks descr, fortran_order or shape");
    return {*type_, *shape_, 0};
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw ConfigError("'{}' is no array that can be read: {}", name_, what);
  }

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!take(c)) fail(fmt::format("its header has no '{}' at byte {}", c, at_));
  }

  std::string_view quoted() {
    const char quote = take('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("a quote in its header is not closed");
    const std::string_view result = text_.substr(at_, end - at_);
    at_ = end + 1;
    return result;
  }

  std::string_view word() {
    skip();
    const std::size_t start = at_;
    while (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return text_.substr(start, at_ - start);
  }

  void order(std::string_view word) {
    if (word == "True") fail("it is in Fortran order; numpy.ascontiguousarray gives C order");
    if (word != "False") fail("fortran_order is neither True nor False");
    ordered_ = true;
  }

  Type type_of(std::string_view text) const {
    for (const Name& name : names) {
      const bool one_byte =
          name.width == 1 && text.size() == 3 && text.substr(1) == name.text.substr(1);
      if (text == name.text || (one_byte && text[0] == '<')) return name.type;
    }
    fail("its elements are no real numbers of 2 to 8 bytes, integers or bool, little endian");
  }

  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> result;
    expect('(');
    while (!take(')')) {
      result.push_back(number());
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    if (result.size() > 32) fail("it has more than 32 axes");
    return result;
  }

  std::uint64_t number() {
    skip();
    const std::size_t start = at_;
    std::uint64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      value = value * 10 + static_cast<std::uint64_t>(text_[at_++] - '0');
      if (at_ - start > 18) fail("an extent of its shape is too large");
    }
    if (at_ == start) fail("an extent of its shape is no number");
    return value;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::optional<Type> type_;
  std::optional<std::vector<std::uint64_t>> shape_;
  bool ordered_ = false;
};

std::size_t little_endian(const std::string& bytes, std::size_t at, std::size_t width) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    value |= std::size_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return value;
}

}  // namespace

std::uint64_t width_of(Type type) {
  for (const Name& name : names) {
    if (name.type == type) return name.width;
  }
  return 0;
}

Header parse_header(const std::string& bytes, const std::string& name) {
  const auto fail = [&](const char* what) {
    throw ConfigError("'{}' is no array that can be read: {}", name, what);
  };
  if (bytes.size() < 8 || std::string_view(bytes).substr(0, 6) != magic) {
    fail("it does not begin as a NumPy file");
  }
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3 || bytes[7] != 0) fail("its format version is not 1, 2 or 3");
  const std::size_t width = version == 1 ? 2 : 4;
  if (bytes.size() < 8 + width) fail("it is cut off in its header");
  const std::size_t length = little_endian(bytes, 8, width);
  const std::size_t start = 8 + width;
  if (length > bytes.size() - start) fail("it is cut off in its header");
  Header header = HeaderText(std::string_view(bytes).substr(start, length), name).read();
  header.size = start + length;
  return header;
}

std::string format_header(const Header& header) {
  std::string type;
  for (const Name& name : names) {
    if (name.type == header.type) type = name.text;
  }
  std::string tuple;
  for (const std::uint64_t extent : header.shape) tuple += fmt::format("{}, ", extent);
  if (header.shape.size() > 1) tuple.resize(tuple.size() - 2);  // a tuple of one keeps its comma
  if (header.shape.size() == 1) tuple.resize(tuple.size() - 1);
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, tuple);
  const std::size_t padded = (10 + text.size() + 1 + 63) / 64 * 64;  // elements start aligned to 64
  text.append(padded - 10 - text.size() - 1, ' ');
  text += '\n';
  std::string bytes(magic);
  bytes += '\x01';
  bytes += '\0';
  bytes += static_cast<char>(text.size() & 0xffU);
  bytes += static_cast<char>(text.size() >> 8U);
  return bytes + text;
}

}  // namespace steppe::npy
