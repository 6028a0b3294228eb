// SPDX-License-Identifier: Apache-2.0
#include "tests/workloads/package/fixture.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <deque>
#include <fstream>
#include <iterator>

#include "models/base/error.h"

namespace steppe::test {

Folder::Folder() {
  std::string name = std::filesystem::temp_directory_path() / "steppe-package-XXXXXX";
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  path_ = name;
}

Folder::~Folder() { std::filesystem::remove_all(path_); }

std::vector<std::string> Folder::names() const {
  std::vector<std::string> result;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    result.push_back(entry.path().filename());
  }
  return result;
}

ByteVector load(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

void save(const std::filesystem::path& path, const ByteVector& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  REQUIRE(file.flush());
}

namespace {

package::Shard shard(std::uint32_t chip, std::deque<ByteVector>& storage) {
  ByteVector weights(100);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<std::uint8_t>(i * 7 + chip);
  }
  ByteVector streams;
  for (int i = 0; i < 4; ++i) isa::encode({isa::Header(), isa::End()}, streams);
  REQUIRE(streams.size() == 64);
  using package::SegmentKind;
  package::Shard result{.chip = chip};
  result.patterns = {{.channels = 2, .blocks = 3, .counts = {0, 1, 32, 4, 5, 6}, .density = 0.25}};
  result.segments.push_back({.kind = SegmentKind::weights,
                             .name = "weights",
                             .bytes = weights.size(),
                             .data = storage.emplace_back(weights)});
  result.segments.push_back({.kind = SegmentKind::stream,
                             .name = "streams",
                             .dram_offset = 8192,
                             .bytes = streams.size(),
                             .data = storage.emplace_back(streams)});
  result.init.streams = {{isa::QueueKind::load, 0, 8192, 16}};
  result.run.streams = {{isa::QueueKind::load, 0, 8208, 16},
                        {isa::QueueKind::load, 1, 8208, 16},
                        {isa::QueueKind::link_send, 0, 8224, 32}};
  return result;
}

}  // namespace

package::Package small_package() {
  auto storage = std::make_shared<std::deque<ByteVector>>();
  package::Package package;
  package.model = "model";
  package.compiler = "test";
  package.target = {.platform = "s30",
                    .chips = 3,
                    .clusters = 2,
                    .sram_bytes = 1 << 20,
                    .dram_bytes = Bytes{5} << 30};
  package.batch = 2;
  package.inputs = {{.name = "image",
                     .dims = {2, 3, 4, 5},
                     .to_card = {0, 2, 3, 1},
                     .scale = 0.5F,
                     .zero = -3,
                     .offset = 64,
                     .bytes = 120}};
  package.outputs = {{.name = "a", .dims = {8}, .to_card = {0}, .offset = 0, .bytes = 8},
                     {.name = "b", .dims = {}, .to_card = {}, .offset = 8, .bytes = 1}};
  package.input_block_bytes = 256;
  package.output_block_bytes = 9;
  package.dense_macs = 1 << 20;
  package.effective_macs = 1 << 16;
  package.shards = {shard(0, *storage), shard(2, *storage)};
  package.channels = {{.tensor = "hidden", .from_chip = 0, .to_chip = 2, .bytes = 77}};
  package.debug = {{.layer = "conv1", .nodes = {"Conv_1", "Relu_2"}},
                   {.layer = "pool", .nodes = {}}};
  package.storage = storage;
  return package;
}

std::string package_error(const std::filesystem::path& path) {
  try {
    package::read(path);
  } catch (const PackageError& error) {
    CHECK(error.exit_code() == 3);
    return error.what();
  }
  return "";
}

}  // namespace steppe::test
