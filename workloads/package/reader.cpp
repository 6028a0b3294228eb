// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <map>

#include "models/base/error.h"
#include "package_generated.h"
#include "workloads/package/format.h"
#include "workloads/package/mapping.h"
#include "workloads/wire.h"

namespace steppe::package {
namespace {

using ByteSpan = std::span<const std::uint8_t>;

using steppe::wire::for_each;
using steppe::wire::numbers;
using steppe::wire::text;

class Reader {
 public:
  Reader(const std::filesystem::path& path, ByteSpan file) : path_(path), file_(file) {}

  Package read() {
    read_preamble();
    const wire::Manifest& manifest = verify_manifest();
    read_head(manifest);
    for_each(manifest.shards(), [&](const wire::Shard& shard, std::size_t i) {
      package_.shards.push_back(read_shard(shard, fmt::format("shards[{}]", i)));
    });
    for_each(manifest.host(), [&](const wire::HostShard& shard, std::size_t i) {
      const std::string field = fmt::format("host[{}]", i);
      require(shard.data() != nullptr, field + ".data", "is missing");
      package_.host.push_back({.phase = static_cast<HostPhase>(shard.phase()),
                               .graph = read_data(*shard.data(), shard.bytes(), field)});
    });
    check_gaps();
    validate(package_, path_);
    return std::move(package_);
  }

 private:
  template <typename... Args>
  void require(bool condition, const std::string& field, fmt::format_string<Args...> format,
               Args&&... args) const {
    if (condition) return;
    throw PackageError("{}: {}: {}", path_.string(), field,
                       fmt::format(format, std::forward<Args>(args)...));
  }

  void read_preamble() {
    require(file_.size() >= sizeof preamble_, "preamble",
            "the file ends after {} bytes; this is no shard package, or a truncated one",
            file_.size());
    std::memcpy(&preamble_, file_.data(), sizeof preamble_);
    require(preamble_.magic_number == magic, "preamble.magic",
            "0x{:016x}; this is no shard package", preamble_.magic_number);
    require(checksum(preamble_) == preamble_.checksum, "preamble.checksum",
            "does not fit the preamble; the file is corrupt");
    require(preamble_.reserved[0] == 0 && preamble_.reserved[1] == 0, "preamble.reserved",
            "is not zero");
    require(preamble_.file_bytes == file_.size(), "preamble.file_bytes",
            "{}, but the file has {} bytes", preamble_.file_bytes, file_.size());
    const Bytes rest = file_.size() - sizeof preamble_;
    require(preamble_.manifest_bytes <= std::min(rest, max_manifest_bytes),
            "preamble.manifest_bytes", "{}; the file leaves room for {}", preamble_.manifest_bytes,
            std::min(rest, max_manifest_bytes));
    require(preamble_.data_offset % file_alignment == 0 &&
                preamble_.data_offset >= sizeof preamble_ + preamble_.manifest_bytes,
            "preamble.data_offset", "{} is no multiple of {} behind the manifest",
            preamble_.data_offset, file_alignment);
    require(preamble_.data_offset <= file_.size(), "preamble.data_offset",
            "{} lies behind the file's end, {}", preamble_.data_offset, file_.size());
    used_[sizeof preamble_] = {sizeof preamble_ + preamble_.manifest_bytes, "manifest"};
  }

  const wire::Manifest& verify_manifest() const {
    const ByteSpan bytes = file_.subspan(sizeof preamble_, preamble_.manifest_bytes);
    require(checksum(bytes) == preamble_.manifest_checksum, "preamble.manifest_checksum",
            "does not fit the manifest; the file is corrupt");
    // The identifier lies behind the offset of the root table.
    require(bytes.size() >= 8 && wire::ManifestBufferHasIdentifier(bytes.data()), "manifest",
            "the FlatBuffer lacks the identifier {}", wire::ManifestIdentifier());
    // A manifest of n bytes cannot hold more than n / 8 tables that do not share their bytes.
    flatbuffers::Verifier verifier(bytes.data(), bytes.size(), 16,
                                   static_cast<flatbuffers::uoffset_t>(bytes.size() / 8));
    require(wire::VerifyManifestBuffer(verifier), "manifest", "is no valid FlatBuffer");
    return *wire::GetManifest(bytes.data());
  }

  void read_head(const wire::Manifest& manifest) {
    require(manifest.version() == format_version, "version", "{}; this Steppe reads version {}",
            manifest.version(), format_version);
    package_.model = text(manifest.model());
    package_.compiler = text(manifest.compiler());
    const wire::Target* target = manifest.target();
    require(target != nullptr, "target", "is absent");
    package_.target = {.platform = text(target->platform()),
                       .isa_version = target->isa_version(),
                       .chips = target->chips(),
                       .clusters = target->clusters(),
                       .sram_bytes = target->sram_bytes(),
                       .dram_bytes = target->dram_bytes()};
    package_.timing_only = manifest.timing_only();
    package_.batch = manifest.batch();
    package_.stateful = manifest.stateful();
    package_.replicas = manifest.replicas();
    package_.inputs = read_ports(manifest.inputs());
    package_.outputs = read_ports(manifest.outputs());
    package_.input_block_bytes = manifest.input_block_bytes();
    package_.output_block_bytes = manifest.output_block_bytes();
    package_.dense_macs = manifest.dense_macs();
    package_.effective_macs = manifest.effective_macs();
    for_each(manifest.channels(), [&](const wire::Channel& channel, std::size_t) {
      package_.channels.push_back({.tensor = text(channel.tensor()),
                                   .from_chip = channel.from_chip(),
                                   .to_chip = channel.to_chip(),
                                   .bytes = channel.bytes()});
    });
    for_each(manifest.debug(), [&](const wire::DebugEntry& entry, std::size_t) {
      DebugEntry& added = package_.debug.emplace_back();
      added.layer = text(entry.layer());
      for_each(entry.nodes(), [&](const flatbuffers::String& node, std::size_t) {
        added.nodes.push_back(node.str());
      });
    });
  }

  static std::vector<Port> read_ports(
      const flatbuffers::Vector<flatbuffers::Offset<wire::Port>>* list) {
    std::vector<Port> ports;
    for_each(list, [&](const wire::Port& port, std::size_t) {
      ports.push_back({.name = text(port.name()),
                       .dims = numbers(port.dims()),
                       .to_card = numbers(port.to_card()),
                       .type = static_cast<ElementType>(port.type()),
                       .scale = port.scale(),
                       .zero = port.zero(),
                       .user = static_cast<UserType>(port.user()),
                       .offset = port.offset(),
                       .bytes = port.bytes()});
    });
    return ports;
  }

  Shard read_shard(const wire::Shard& shard, const std::string& field) {
    Shard result{.chip = shard.chip()};
    for_each(shard.segments(), [&](const wire::Segment& segment, std::size_t i) {
      result.segments.push_back(read_segment(segment, fmt::format("{}.segments[{}]", field, i)));
    });
    for_each(shard.patterns(), [&](const wire::WeightPattern& pattern, std::size_t) {
      result.patterns.push_back({.channels = pattern.channels(),
                                 .blocks = pattern.blocks(),
                                 .counts = numbers(pattern.counts()),
                                 .density = pattern.density()});
    });
    result.init = read_program(shard.init(), field + ".init");
    result.run = read_program(shard.run(), field + ".run");
    return result;
  }

  Segment read_segment(const wire::Segment& segment, const std::string& field) {
    require(segment.kind() <= wire::SegmentKind::MAX, field + ".kind", "{} is unknown",
            static_cast<unsigned>(segment.kind()));
    Segment result{.kind = static_cast<SegmentKind>(segment.kind()),
                   .name = text(segment.name()),
                   .dram_offset = segment.dram_offset(),
                   .bytes = segment.bytes()};
    if (segment.data() != nullptr) result.data = read_data(*segment.data(), result.bytes, field);
    return result;
  }

  ByteSpan read_data(const wire::Data& data, Bytes bytes, const std::string& field) {
    require(bytes >= 1, field + ".bytes", "is 0");
    require(data.offset() % file_alignment == 0, field + ".data.offset", "{} is no multiple of {}",
            data.offset(), file_alignment);
    const Bytes area = file_.size() - preamble_.data_offset;
    require(data.offset() <= area && bytes <= area - data.offset(), field + ".data.offset",
            "{} with {} bytes reaches past the data area's end, {}", data.offset(), bytes, area);
    const std::uint64_t begin = preamble_.data_offset + data.offset();
    const auto [place, fresh] = used_.try_emplace(begin, begin + bytes, field);
    require(fresh, field + ".data.offset", "overlaps {}", place->second.second);
    const ByteSpan result = file_.subspan(begin, bytes);
    require(checksum(result) == data.checksum(), field + ".data.checksum",
            "does not fit the bytes; the file is corrupt");
    return result;
  }

  Program read_program(const wire::Program* program, const std::string& field) const {
    Program result;
    if (program == nullptr) return result;
    for_each(program->streams(), [&](const wire::Stream& stream, std::size_t i) {
      require(stream.queue() <= wire::QueueKind::MAX, fmt::format("{}.streams[{}].queue", field, i),
              "{} is unknown", static_cast<unsigned>(stream.queue()));
      result.streams.push_back({.queue = static_cast<isa::QueueKind>(stream.queue()),
                                .cluster = stream.cluster(),
                                .dram_offset = stream.dram_offset(),
                                .bytes = stream.bytes()});
    });
    return result;
  }

  /// Segments lie apart from each other, and what lies between them is zero: no byte of a package
  /// goes unread.
  void check_gaps() const {
    std::uint64_t end = sizeof preamble_;
    std::string before = "preamble";
    const auto check_zero = [&](std::uint64_t to) {
      const ByteSpan gap = file_.subspan(end, to - end);
      // Equal to itself one byte on, so all as its first.
      const bool zero = gap.empty() || (gap[0] == 0 && std::memcmp(gap.data(), gap.data() + 1,
                                                                   gap.size() - 1) == 0);
      require(zero, before, "what follows it is not zero; the file is corrupt");
    };
    for (const auto& [begin, piece] : used_) {
      require(begin >= end, piece.second + ".data.offset", "overlaps {}", before);
      check_zero(begin);
      end = piece.first;
      before = piece.second;
    }
    check_zero(file_.size());
  }

  const std::filesystem::path& path_;
  ByteSpan file_;
  Preamble preamble_;
  Package package_;
  /// What lies where in the file: begin to (end, field).
  std::map<std::uint64_t, std::pair<std::uint64_t, std::string>> used_;
};

}  // namespace

Package read(const std::filesystem::path& path) {
  const auto mapping = std::make_shared<const Mapping>(path);
  Package package = Reader(path, mapping->bytes()).read();
  package.storage = mapping;
  return package;
}

}  // namespace steppe::package
