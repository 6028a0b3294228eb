// SPDX-License-Identifier: Apache-2.0
#include "workloads/npy/npy.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "models/base/error.h"

using namespace steppe;

namespace {

const std::string digits = std::string(STEPPE_SOURCE_DIR) + "/workloads/digits/";

npy::Array read_bytes(const std::string& bytes) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("npy-test-{}", getpid());
  std::ofstream(path, std::ios::binary) << bytes;
  try {
    npy::Array array = npy::read(path);
    std::filesystem::remove(path);
    return array;
  } catch (...) {
    std::filesystem::remove(path);
    throw;
  }
}

}  // namespace

TEST_CASE("files written by NumPy are read: fp32 images, int64 labels") {
  const npy::Array images = npy::read(digits + "images.npy");
  CHECK(images.dims == std::vector<std::uint64_t>{360, 1, 8, 8});
  CHECK(images.values.size() == 360 * 64);
  for (const float value : images.values) CHECK(value * 16 == static_cast<int>(value * 16));
  const npy::Array labels = npy::read(digits + "labels.npy");
  CHECK(labels.dims == std::vector<std::uint64_t>{360});
  for (const float label : labels.values) CHECK((label >= 0 && label <= 9));
}

TEST_CASE("what is written is read again, and has NumPy's layout") {
  const npy::Array array{{2, 3}, {1, 2, 3, 4, 5, -6.5F}};
  const std::string bytes = npy::encode(array);
  CHECK(bytes.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
  CHECK(bytes.size() == 128 + 24);  // numpy.lib.format pads the header to a multiple of 64
  const npy::Array back = read_bytes(bytes);
  CHECK(back.dims == array.dims);
  CHECK(back.values == array.values);
  CHECK(read_bytes(npy::encode({{}, {7}})).dims.empty());
  CHECK(read_bytes(npy::encode({{2}, {7, 8}})).dims == std::vector<std::uint64_t>{2});
}

TEST_CASE("broken files are refused, never misread") {
  CHECK_THROWS_AS(npy::read("/nowhere/x.npy"), ConfigError);
  const std::string good = npy::encode({{2, 3}, {1, 2, 3, 4, 5, 6}});
  for (std::size_t length = 0; length < good.size(); ++length) {
    CHECK_THROWS_AS(read_bytes(good.substr(0, length)), ConfigError);
  }
  std::string huge = good;
  huge.replace(huge.find("(2, 3)"), 6, "(9999999999999, 9999999999999)");
  CHECK_THROWS_AS(read_bytes(huge), ConfigError);
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    std::string broken = good;
    broken[random() % 128] = static_cast<char>(random());
    std::size_t elements = 0;
    try {
      elements = read_bytes(broken).values.size();
    } catch (const ConfigError&) {
    }
    CHECK(elements <= 24);  // the bytes there are
  }
}
