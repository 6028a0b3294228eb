// SPDX-License-Identifier: Apache-2.0
#include "workloads/package/format.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "tests/workloads/package/fixture.h"

using namespace steppe;
using namespace steppe::test;

TEST_CASE("the checksum is XXH3-64 with seed 0") {
  // The published value for the empty input.
  CHECK(package::checksum(std::span<const std::uint8_t>()) == 0x2d06800538d394c2);
}

TEST_CASE("the preamble's bytes are as the page says") {
  const Folder folder;
  package::write(small_package(), folder / "p.shards");
  const ByteVector bytes = load(folder / "p.shards");
  CHECK(std::memcmp(bytes.data(), "STEPPKG1", 8) == 0);
  const auto word = [&](std::size_t at) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 8; ++i) value |= std::uint64_t{bytes[at + i]} << (8 * i);
    return value;
  };
  const std::span<const std::uint8_t> file(bytes);
  CHECK(word(16) == package::checksum(file.subspan(64, word(8))));
  // One page holds preamble and manifest; so does each segment but the last, which
  // ends the file.
  CHECK(word(24) == 4096);
  CHECK(word(32) == 4 * 4096 + 64);
  CHECK(word(32) == bytes.size());
  CHECK(word(40) == 0);
  CHECK(word(48) == 0);
  CHECK(word(56) == package::checksum(file.first(56)));
  CHECK(std::memcmp(bytes.data() + 68, "STPS", 4) == 0);  // the FlatBuffer's identifier
}

TEST_CASE("the data area's offsets have 64 bits") {
  constexpr Bytes giga = Bytes{1} << 30;
  const Bytes sizes[] = {3 * giga + 1, 0, 6 * giga, 10};
  const package::DataArea area = package::lay_out(sizes);
  CHECK(area.offsets[0] == 0);
  CHECK(!area.offsets[1]);
  CHECK(area.offsets[2] == 3 * giga + 4096);
  CHECK(area.offsets[3] == 9 * giga + 4096);
  CHECK(area.bytes == 9 * giga + 4106);
}

TEST_CASE("a segment behind 2 GiB is found") {
  // The data area of a good package, moved behind 2 GiB of nothing: a hole that takes no room on
  // the disk. The preamble's data_offset alone tells where it is.
  const Folder folder;
  package::write(small_package(), folder / "p.shards");
  const ByteVector good = load(folder / "p.shards");
  package::Preamble preamble;
  std::memcpy(&preamble, good.data(), sizeof preamble);
  const std::span data = std::span(good).subspan(preamble.data_offset);
  constexpr Bytes moved = (Bytes{1} << 31) + 4096;
  preamble.data_offset = moved;
  preamble.file_bytes = moved + data.size();
  preamble.checksum = package::checksum(preamble);

  const int file = ::open((folder / "far.shards").c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  REQUIRE(file >= 0);
  const bool written =
      ::pwrite(file, &preamble, sizeof preamble, 0) == sizeof preamble &&
      ::pwrite(file, good.data() + 64, preamble.manifest_bytes, 64) ==
          static_cast<ssize_t>(preamble.manifest_bytes) &&
      ::pwrite(file, data.data(), data.size(), moved) == static_cast<ssize_t>(data.size());
  ::close(file);
  if (!written) {
    MESSAGE("skipped: no files of 2 GiB here");
    return;
  }
  const package::Package package = package::read(folder / "far.shards");
  CHECK(package.shards[0].segments[0].data[1] == 7);
  CHECK(package.shards[1].segments[0].data[1] == 9);
}
