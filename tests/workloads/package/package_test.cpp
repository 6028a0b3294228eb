// SPDX-License-Identifier: Apache-2.0
#include "workloads/package/package.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <random>

#include "models/base/error.h"
#include "tests/workloads/package/fixture.h"
#include "workloads/package/format.h"

using namespace steppe;
using namespace steppe::test;

namespace {

void check_equal(const std::vector<package::Port>& a, const std::vector<package::Port>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].name == b[i].name);
    CHECK(a[i].dims == b[i].dims);
    CHECK(a[i].to_card == b[i].to_card);
    CHECK(a[i].scale == b[i].scale);
    CHECK(a[i].zero == b[i].zero);
    CHECK(a[i].offset == b[i].offset);
    CHECK(a[i].bytes == b[i].bytes);
  }
}

void check_equal(const package::Program& a, const package::Program& b) {
  REQUIRE(a.streams.size() == b.streams.size());
  for (std::size_t i = 0; i < a.streams.size(); ++i) {
    CHECK(a.streams[i].queue == b.streams[i].queue);
    CHECK(a.streams[i].cluster == b.streams[i].cluster);
    CHECK(a.streams[i].dram_offset == b.streams[i].dram_offset);
    CHECK(a.streams[i].bytes == b.streams[i].bytes);
  }
}

void check_equal(const package::Shard& a, const package::Shard& b) {
  CHECK(a.chip == b.chip);
  REQUIRE(a.segments.size() == b.segments.size());
  for (std::size_t i = 0; i < a.segments.size(); ++i) {
    CHECK(a.segments[i].kind == b.segments[i].kind);
    CHECK(a.segments[i].name == b.segments[i].name);
    CHECK(a.segments[i].dram_offset == b.segments[i].dram_offset);
    CHECK(a.segments[i].bytes == b.segments[i].bytes);
    CHECK(std::ranges::equal(a.segments[i].data, b.segments[i].data));
  }
  REQUIRE(a.patterns.size() == b.patterns.size());
  for (std::size_t i = 0; i < a.patterns.size(); ++i) {
    CHECK(a.patterns[i].channels == b.patterns[i].channels);
    CHECK(a.patterns[i].blocks == b.patterns[i].blocks);
    CHECK(a.patterns[i].counts == b.patterns[i].counts);
    CHECK(a.patterns[i].density == b.patterns[i].density);
  }
  check_equal(a.init, b.init);
  check_equal(a.run, b.run);
}

void check_equal(const package::Package& a, const package::Package& b) {
  CHECK(a.model == b.model);
  CHECK(a.compiler == b.compiler);
  CHECK(a.target.platform == b.target.platform);
  CHECK(a.target.isa_version == b.target.isa_version);
  CHECK(a.target.chips == b.target.chips);
  CHECK(a.target.clusters == b.target.clusters);
  CHECK(a.target.sram_bytes == b.target.sram_bytes);
  CHECK(a.target.dram_bytes == b.target.dram_bytes);
  CHECK(a.timing_only == b.timing_only);
  CHECK(a.batch == b.batch);
  CHECK(a.replicas == b.replicas);
  check_equal(a.inputs, b.inputs);
  check_equal(a.outputs, b.outputs);
  CHECK(a.input_block_bytes == b.input_block_bytes);
  CHECK(a.output_block_bytes == b.output_block_bytes);
  CHECK(a.dense_macs == b.dense_macs);
  CHECK(a.effective_macs == b.effective_macs);
  REQUIRE(a.shards.size() == b.shards.size());
  for (std::size_t i = 0; i < a.shards.size(); ++i) check_equal(a.shards[i], b.shards[i]);
  REQUIRE(a.channels.size() == b.channels.size());
  for (std::size_t i = 0; i < a.channels.size(); ++i) {
    CHECK(a.channels[i].tensor == b.channels[i].tensor);
    CHECK(a.channels[i].from_chip == b.channels[i].from_chip);
    CHECK(a.channels[i].to_chip == b.channels[i].to_chip);
    CHECK(a.channels[i].bytes == b.channels[i].bytes);
  }
  REQUIRE(a.debug.size() == b.debug.size());
  for (std::size_t i = 0; i < a.debug.size(); ++i) {
    CHECK(a.debug[i].layer == b.debug[i].layer);
    CHECK(a.debug[i].nodes == b.debug[i].nodes);
  }
}

ByteVector small_file(const Folder& folder) {
  package::write(small_package(), folder / "good.shards");
  return load(folder / "good.shards");
}

}  // namespace

TEST_CASE("what was written is read") {
  const Folder folder;
  const package::Package package = small_package();
  package::write(package, folder / "p.shards");
  check_equal(package::read(folder / "p.shards"), package);
}

TEST_CASE("segments lie at multiples of 4096 and are mapped, not copied") {
  const Folder folder;
  package::write(small_package(), folder / "p.shards");
  const package::Package package = package::read(folder / "p.shards");
  for (const package::Shard& shard : package.shards) {
    for (const package::Segment& segment : shard.segments) {
      // Mappings start at page boundaries.
      CHECK(reinterpret_cast<std::uintptr_t>(segment.data.data()) % 4096 == 0);
    }
  }
}

TEST_CASE("the mapping outlives the file's name and belongs to the package") {
  const Folder folder;
  package::write(small_package(), folder / "p.shards");
  const package::Package package = package::read(folder / "p.shards");
  // Overwriting replaces the file: what is mapped stays as it was.
  package::write(package, folder / "p.shards");
  std::filesystem::remove(folder / "p.shards");
  check_equal(package, small_package());
}

TEST_CASE("the same package gives the same bytes") {
  const Folder folder;
  package::write(small_package(), folder / "a.shards");
  package::write(small_package(), folder / "b.shards");
  CHECK(load(folder / "a.shards") == load(folder / "b.shards"));
}

TEST_CASE("a package for timing carries sizes without weights") {
  const Folder folder;
  package::Package package = small_package();
  package.timing_only = true;
  for (package::Shard& shard : package.shards) {
    shard.segments[0].bytes = Bytes{3} << 30;  // never touched
    shard.segments[0].data = {};
    shard.segments[1].dram_offset = Bytes{4} << 30;
    for (package::Stream& stream : shard.init.streams)
      stream.dram_offset += (Bytes{4} << 30) - 8192;
    for (package::Stream& stream : shard.run.streams) stream.dram_offset += (Bytes{4} << 30) - 8192;
  }
  package::write(package, folder / "p.shards");
  CHECK(std::filesystem::file_size(folder / "p.shards") < 16384);
  check_equal(package::read(folder / "p.shards"), package);
}

TEST_CASE("a file appears whole or not at all") {
  const Folder folder;
  package::Package package = small_package();
  package.shards[1].chip = 0;
  CHECK_THROWS_WITH_AS(package::write(package, folder / "p.shards"),
                       doctest::Contains("shards[1].chip"), PackageError);
  CHECK(folder.names().empty());
  // A directory cannot be replaced; the temporary file must not stay behind.
  std::filesystem::create_directory(folder / "taken");
  CHECK_THROWS_AS(package::write(small_package(), folder / "taken"), ConfigError);
  CHECK_THROWS_WITH_AS(package::write(small_package(), folder / "none/p.shards"),
                       doctest::Contains("none/p.shards"), ConfigError);
  CHECK(folder.names() == std::vector<std::string>{"taken"});
}

TEST_CASE("a file that cannot grow is reported and leaves nothing behind") {
  const Folder folder;
  std::signal(SIGXFSZ, SIG_IGN);  // the write fails instead, as on a full disk
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{.rlim_cur = 5000, .rlim_max = before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  CHECK_THROWS_WITH_AS(package::write(small_package(), folder / "p.shards"),
                       doctest::Contains("p.shards"), ConfigError);
  ::setrlimit(RLIMIT_FSIZE, &before);
  CHECK(folder.names().empty());
}

TEST_CASE("a file that cannot be opened is the user's mistake") {
  const Folder folder;
  CHECK_THROWS_WITH_AS(package::read(folder / "missing.shards"),
                       doctest::Contains("missing.shards"), ConfigError);
  CHECK_THROWS_WITH_AS(package::read(folder / "."), doctest::Contains("regular"), ConfigError);
}

TEST_CASE("no truncated package is taken") {
  const Folder folder;
  const ByteVector good = small_file(folder);
  save(folder / "broken.shards", good);
  for (std::size_t size = good.size(); size-- > 0;) {
    std::filesystem::resize_file(folder / "broken.shards", size);
    const std::string message = package_error(folder / "broken.shards");
    CAPTURE(size);
    REQUIRE(message.find("broken.shards") != std::string::npos);
  }
}

TEST_CASE("no package with more behind it is taken") {
  const Folder folder;
  ByteVector bytes = small_file(folder);
  bytes.push_back(0);
  save(folder / "broken.shards", bytes);
  CHECK(package_error(folder / "broken.shards").find("file_bytes") != std::string::npos);
}

TEST_CASE("every flipped bit is noticed") {
  const Folder folder;
  const ByteVector good = small_file(folder);
  save(folder / "broken.shards", good);
  package::Preamble preamble;
  std::memcpy(&preamble, good.data(), sizeof preamble);
  const int file = ::open((folder / "broken.shards").c_str(), O_WRONLY);
  REQUIRE(file >= 0);
  for (std::size_t at = 0; at < good.size(); ++at) {
    // Of a byte in the padding one bit: they are all treated alike.
    const bool padding = at >= sizeof preamble + preamble.manifest_bytes && at % 4096 >= 100;
    for (unsigned bit = padding ? at % 8 : 0; bit < 8; bit += padding ? 8 : 1) {
      const auto flipped = static_cast<std::uint8_t>(good[at] ^ (1U << bit));
      REQUIRE(::pwrite(file, &flipped, 1, static_cast<off_t>(at)) == 1);
      const bool noticed = !package_error(folder / "broken.shards").empty();
      if (!noticed) {
        FAIL("byte " << at << ", bit " << bit);
      }
    }
    REQUIRE(::pwrite(file, &good[at], 1, static_cast<off_t>(at)) == 1);
  }
  ::close(file);
  CHECK(package_error(folder / "broken.shards").empty());
}

TEST_CASE("random bytes are no package") {
  const Folder folder;
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    ByteVector bytes(random() % 300);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    save(folder / "broken.shards", bytes);
    REQUIRE(!package_error(folder / "broken.shards").empty());
  }
}

TEST_CASE("manifests broken behind correct checksums never crash the reader") {
  const Folder folder;
  const ByteVector good = small_file(folder);
  std::mt19937 random(12);
  int taken = 0;
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    ByteVector bytes = good;
    package::Preamble preamble;
    std::memcpy(&preamble, bytes.data(), sizeof preamble);
    const std::span manifest(bytes.data() + sizeof preamble, preamble.manifest_bytes);
    for (unsigned edit = 0; edit <= random() % 3; ++edit) {
      constexpr std::uint8_t values[] = {0, 1, 2, 4, 0x7f, 0x80, 0xff};
      std::uint8_t& byte = manifest[random() % manifest.size()];
      byte = random() % 2 == 0 ? values[random() % std::size(values)]
                               : static_cast<std::uint8_t>(random());
    }
    preamble.manifest_checksum = package::checksum(manifest);
    preamble.checksum = package::checksum(preamble);
    std::memcpy(bytes.data(), &preamble, sizeof preamble);
    save(folder / "broken.shards", bytes);
    (package_error(folder / "broken.shards").empty() ? taken : refused) += 1;
  }
  CHECK(refused > 1000);
  CHECK(taken > 0);  // a changed letter of a name, for one
}
