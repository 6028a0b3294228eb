// SPDX-License-Identifier: Apache-2.0
#include "workloads/npy/npy.h"

#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "models/base/error.h"

using namespace steppe;
using npy::Array;
using npy::Type;

namespace {

/// A version 1 file as NumPy writes it, by hand.
std::string file(std::string header, const std::string& elements) {
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xffU);
  bytes += static_cast<char>(header.size() >> 8U);
  return bytes + header + elements;
}

template <typename T>
std::string raw(std::initializer_list<T> elements) {
  std::string bytes;
  for (const T x : elements) {
    char buffer[sizeof(T)];
    std::memcpy(buffer, &x, sizeof(T));
    bytes.append(buffer, sizeof(T));
  }
  return bytes;
}

std::string message_of(const std::string& bytes) {
  try {
    npy::parse(bytes, "x.npy");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "taken";
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a file as NumPy writes it") {
  const std::string bytes = file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
                                 raw<float>({1, 2, 3, 4, 5, 6.5F}));
  const Array array = npy::parse(bytes, "x.npy");
  CHECK(array.type == Type::fp32);
  CHECK(array.shape == std::vector<std::uint64_t>{2, 3});
  CHECK(array.reals == std::vector<float>{1, 2, 3, 4, 5, 6.5F});
  CHECK(npy::format(array) == bytes);
}

TEST_CASE("each element type") {
  const auto parsed = [](const char* type, const std::string& elements) {
    return npy::parse(
        file(std::string("{'descr': '") + type + "', 'fortran_order': False, 'shape': (2,), }",
             elements),
        "x.npy");
  };
  CHECK(parsed("<f8", raw<double>({0.5, -2})).reals == std::vector<float>{0.5F, -2});
  CHECK(has(message_of(file("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }",
                            raw<double>({1e40}))),
            "too large for fp32"));
  CHECK(parsed("|i1", raw<std::int8_t>({-128, 127})).integers ==
        std::vector<std::int64_t>{-128, 127});
  CHECK(parsed("|u1", raw<std::uint8_t>({0, 255})).integers == std::vector<std::int64_t>{0, 255});
  CHECK(parsed("<i4", raw<std::int32_t>({-5, 7})).integers == std::vector<std::int64_t>{-5, 7});
  CHECK(parsed("<i8", raw<std::int64_t>({-(std::int64_t{1} << 40), 1})).integers ==
        std::vector<std::int64_t>{-(std::int64_t{1} << 40), 1});
  CHECK(parsed("|b1", raw<std::uint8_t>({0, 2})).integers == std::vector<std::int64_t>{0, 1});
  CHECK(parsed("<i2", raw<std::int16_t>({-300, 7})).integers == std::vector<std::int64_t>{-300, 7});
  CHECK(parsed("<u2", raw<std::uint16_t>({0, 65535})).integers ==
        std::vector<std::int64_t>{0, 65535});
  CHECK(parsed("<u4", raw<std::uint32_t>({1, 4294967295})).integers ==
        std::vector<std::int64_t>{1, 4294967295});
  CHECK(parsed("<u8", raw<std::uint64_t>({1, ~std::uint64_t{0}})).integers ==
        std::vector<std::int64_t>{1, -1});
  // IEEE 754 binary16: 0x3c00 is 1, 0xc100 is -2.5.
  CHECK(parsed("<f2", raw<std::uint16_t>({0x3c00, 0xc100})).reals == std::vector<float>{1, -2.5F});
  CHECK(parsed("|i1", raw<std::int8_t>({-1, 3})).as_reals() == std::vector<float>{-1, 3});
}

TEST_CASE("scalars, empty arrays, and other ways of writing a header") {
  const Array scalar = npy::parse(
      file("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", raw<float>({3})), "x.npy");
  CHECK(scalar.shape.empty());
  CHECK(scalar.reals == std::vector<float>{3});
  const Array empty =
      npy::parse(file("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4), }", ""), "x.npy");
  CHECK(empty.elements() == 0);
  const Array other = npy::parse(
      file("{ \"shape\":(1,) , 'fortran_order':False,\"descr\":'<f4'}", raw<float>({3})), "x.npy");
  CHECK(other.reals == std::vector<float>{3});
}

TEST_CASE("what is written is read back") {
  const auto path = std::filesystem::temp_directory_path() / "steppe_npy_test.npy";
  for (const Type type : {Type::int8, Type::uint8, Type::int16, Type::uint16, Type::int32,
                          Type::uint32, Type::int64, Type::uint64, Type::boolean}) {
    Array array;
    array.type = type;
    array.shape = {3, 1};
    array.integers = {0, 1, 1};
    npy::write(path, array);
    const Array back = npy::read(path);
    CHECK(back.type == type);
    CHECK(back.shape == array.shape);
    CHECK(back.integers == array.integers);
  }
  CHECK_FALSE(std::filesystem::exists(path.string() + ".part"));
  std::filesystem::remove(path);
}

TEST_CASE("what cannot be read is named") {
  const std::string good =
      file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", raw<float>({1, 2}));
  CHECK(message_of(good) == "taken");
  CHECK(has(message_of(""), "x.npy"));
  CHECK(has(message_of("PK\x03\x04 not an array at all"), "begin as a NumPy file"));
  CHECK(has(message_of(good.substr(0, 40)), "cut off in its header"));
  CHECK(has(message_of(good.substr(0, good.size() - 1)), "7 bytes of elements"));
  CHECK(has(message_of(good + "x"), "9 bytes of elements"));
  const auto header = [](const std::string& text) {
    return message_of(file(text, raw<float>({1, 2})));
  };
  CHECK(has(header("{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }"), "Fortran"));
  CHECK(has(header("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }"), "little endian"));
  CHECK(
      has(header("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }"), "no real numbers"));
  CHECK(has(header("{'descr': '<f4', 'fortran_order': False, }"), "lacks"));
  CHECK(has(header("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }"), "no number"));
  CHECK(has(header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } x"), "end"));
  CHECK(has(header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'a': 1}"), "unknown"));
  CHECK(has(header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999,"
                   "99999999999999999,99999999999999999), }"),
            "more"));
  CHECK(has(header("{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999999999,)}"),
            "too large"));
}

TEST_CASE("files that are not there or no files") {
  CHECK_THROWS_WITH_AS(npy::read("nowhere/x.npy"), doctest::Contains("nowhere/x.npy"), ConfigError);
  CHECK_THROWS_WITH_AS(npy::read("/"), doctest::Contains("cannot be read"), ConfigError);
  CHECK_THROWS_WITH_AS(npy::write("nowhere/x.npy", {Type::fp32, {1}, {1}, {}}),
                       doctest::Contains("nowhere/x.npy"), ConfigError);
}

TEST_CASE("20,000 damaged files: an array of the promised size or a ConfigError") {
  const std::string good = file("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }",
                                raw<std::int32_t>({1, 2, 3, 4, 5, 6}));
  std::mt19937 random(1);
  int taken = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (std::uint32_t n = random() % 4 + 1; n > 0; --n) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
          break;
        case 2:
          bytes.insert(at, 1, "0123456789()',:<|fiu48"[random() % 22]);
          break;
        default:
          bytes.resize(at + 1);
      }
    }
    try {
      const Array array = npy::parse(bytes, "x.npy");
      REQUIRE(array.reals.size() + array.integers.size() == array.elements());
      ++taken;
    } catch (const ConfigError&) {
    }
  }
  CHECK(taken > 100);  // most bits of the elements may be flipped
}
