// SPDX-License-Identifier: Apache-2.0
//
// Packages as another compiler may write them: the manifest as JSON through flatc, the file put
// together by README.md alone, with none of the writer's code.
#include <doctest/doctest.h>
#include <xxhash.h>

#include <cstdlib>
#include <cstring>

#include "models/base/error.h"
#include "tests/workloads/package/fixture.h"

using namespace steppe;
using namespace steppe::test;

namespace {

ByteVector end_instruction() {
  ByteVector bytes;
  isa::encode({isa::Header(), isa::End()}, bytes);
  return bytes;
}

std::uint64_t checksum_of(const ByteVector& bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string manifest_json() {
  return R"({
  version: 3, model: "m", compiler: "vendor 1.0",
  target: { platform: "s4", isa_version: 2, chips: 1, clusters: 4, sram_bytes: 1048576, dram_bytes: 65536 },
  batch: 1,
  outputs: [ { name: "y", dims: [1, 10], to_card: [0, 1], scale: 0.25, zero: 3, offset: 0, bytes: 10 } ],
  output_block_bytes: 10,
  shards: [ {
    chip: 0,
    segments: [ { kind: "stream", name: "code", dram_offset: 4096, bytes: 16,
                  data: { offset: 0, checksum: )" +
         std::to_string(checksum_of(end_instruction())) + R"( } } ],
    run: { streams: [ { queue: "vector", cluster: 2, dram_offset: 4096, bytes: 16 } ] }
  } ],
  debug: [ { layer: "all", nodes: ["Add_0"] } ]
})";
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
}

ByteVector build_manifest(const Folder& folder, const std::string& json) {
  save(folder / "m.json", ByteVector(json.begin(), json.end()));
  const std::string command = std::string(STEPPE_FLATC) + " --binary -o " + (folder / "").string() +
                              " " + STEPPE_SCHEMA + " " + (folder / "m.json").string();
  REQUIRE(std::system(command.c_str()) == 0);
  return load(folder / "m.manifest");
}

void put(ByteVector& bytes, std::size_t at, std::uint64_t value) {
  for (std::size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

/// The file around a manifest and a data area.
ByteVector wrap(const ByteVector& manifest, const ByteVector& data) {
  const std::size_t data_offset = (64 + manifest.size() + 4095) / 4096 * 4096;
  ByteVector file(data_offset);
  std::memcpy(file.data(), "STEPPKG1", 8);
  put(file, 8, manifest.size());
  put(file, 16, checksum_of(manifest));
  put(file, 24, data_offset);
  put(file, 32, data_offset + data.size());
  put(file, 56, XXH3_64bits(file.data(), 56));
  std::memcpy(file.data() + 64, manifest.data(), manifest.size());
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

std::string error_of(const std::string& from, const std::string& to) {
  const Folder folder;
  std::string json = manifest_json();
  replace(json, from, to);
  save(folder / "p.shards", wrap(build_manifest(folder, json), end_instruction()));
  return package_error(folder / "p.shards");
}

void check_named(const std::string& from, const std::string& to, const std::string& field) {
  const std::string message = error_of(from, to);
  CAPTURE(message);
  CHECK(message.find("p.shards: " + field + ": ") != std::string::npos);
}

}  // namespace

TEST_CASE("a package made with flatc is taken") {
  const Folder folder;
  save(folder / "p.shards", wrap(build_manifest(folder, manifest_json()), end_instruction()));
  const package::Package package = package::read(folder / "p.shards");
  CHECK(package.compiler == "vendor 1.0");
  CHECK(package.target.clusters == 4);
  CHECK(package.inputs.empty());
  REQUIRE(package.outputs.size() == 1);
  CHECK(package.outputs[0].zero == 3);
  REQUIRE(package.shards.size() == 1);
  CHECK(package.shards[0].init.streams.empty());
  REQUIRE(package.shards[0].run.streams.size() == 1);
  CHECK(package.shards[0].run.streams[0].queue == isa::QueueKind::vector);
  CHECK(package.shards[0].run.streams[0].cluster == 2);
  const auto data = package.shards[0].segments[0].data;
  CHECK(ByteVector(data.begin(), data.end()) == end_instruction());
  CHECK(package.debug[0].nodes == std::vector<std::string>{"Add_0"});
}

TEST_CASE("the reader names what is wrong in the manifest itself") {
  check_named("version: 3,", "version: 4,", "version");
  check_named("version: 3,", "", "version");
  check_named("batch: 1", "batch: 0", "batch");
}

TEST_CASE("a manifest without target, or of another schema, is refused") {
  const Folder folder;
  std::string json = "{ version: 3 }";
  save(folder / "p.shards", wrap(build_manifest(folder, json), {}));
  CHECK(package_error(folder / "p.shards").find("target: is absent") != std::string::npos);
  ByteVector other = build_manifest(folder, manifest_json());
  other[4] = 'X';  // STPS
  save(folder / "p.shards", wrap(other, end_instruction()));
  CHECK(package_error(folder / "p.shards").find("manifest: ") != std::string::npos);
  for (const std::size_t size : {0, 4, 7, 8, 12}) {
    other.resize(size);
    save(folder / "p.shards", wrap(other, {}));
    CHECK(package_error(folder / "p.shards").find("manifest: ") != std::string::npos);
  }
}

TEST_CASE("segments must lie apart in the file, with nothing between them") {
  const std::string first = "segments: [ {";
  const std::string weights =
      R"(segments: [ { name: "w", bytes: 16, data: { offset: 0, checksum: )" +
      std::to_string(checksum_of(end_instruction())) + " } }, {";
  check_named(first, weights, "shards[0].segments[1].data.offset");
  const Folder folder;
  ByteVector data = end_instruction();
  data.push_back(1);
  save(folder / "p.shards", wrap(build_manifest(folder, manifest_json()), data));
  CHECK(package_error(folder / "p.shards").find("not zero") != std::string::npos);
}

TEST_CASE("the reader names wrong kinds and places") {
  check_named("kind: \"stream\"", "kind: 2", "shards[0].segments[0].kind");
  check_named("queue: \"vector\"", "queue: 6", "shards[0].run.streams[0].queue");
  check_named("data: { offset: 0", "data: { offset: 512", "shards[0].segments[0].data.offset");
  check_named("data: { offset: 0", "data: { offset: 4096", "shards[0].segments[0].data.offset");
  check_named("data: { offset: 0", "data: { offset: 18446744073709547520",
              "shards[0].segments[0].data.offset");
  check_named("dram_offset: 4096, bytes: 16", "dram_offset: 4096, bytes: 17",
              "shards[0].segments[0].data.offset");
  check_named("dram_offset: 4096, bytes: 16", "dram_offset: 4096, bytes: 15",
              "shards[0].segments[0].data.checksum");
  check_named("dram_offset: 4096, bytes: 16", "dram_offset: 4096", "shards[0].segments[0].bytes");
  check_named(std::to_string(checksum_of(end_instruction())), "5",
              "shards[0].segments[0].data.checksum");
}
