// SPDX-License-Identifier: Apache-2.0
#include "package_generated.h"
#include "workloads/package/atomic_file.h"
#include "workloads/package/format.h"

namespace steppe::package {
namespace {

template <typename T>
using Offset = flatbuffers::Offset<T>;

/// Builds the manifest; segments take their places in the data area in the order of the package.
class ManifestBuilder {
 public:
  ManifestBuilder(const Package& package, const DataArea& area) : package_(package), area_(area) {}

  flatbuffers::DetachedBuffer build() {
    const Target& t = package_.target;
    const auto target = wire::CreateTargetDirect(builder_, t.platform.c_str(), t.isa_version,
                                                 t.chips, t.clusters, t.sram_bytes, t.dram_bytes);
    const auto inputs = ports(package_.inputs);
    const auto outputs = ports(package_.outputs);
    std::vector<Offset<wire::Shard>> shards;
    for (const Shard& shard : package_.shards) shards.push_back(add(shard));
    std::vector<Offset<wire::Channel>> channels;
    for (const Channel& c : package_.channels) {
      channels.push_back(
          wire::CreateChannelDirect(builder_, c.tensor.c_str(), c.from_chip, c.to_chip, c.bytes));
    }
    std::vector<Offset<wire::DebugEntry>> debug;
    for (const DebugEntry& entry : package_.debug) {
      debug.push_back(wire::CreateDebugEntry(builder_, builder_.CreateString(entry.layer),
                                             builder_.CreateVectorOfStrings(entry.nodes)));
    }
    std::vector<Offset<wire::HostShard>> host;
    for (const HostShard& shard : package_.host) {
      const wire::Data data(area_.offsets[next_++].value(), checksum(shard.graph));
      host.push_back(wire::CreateHostShard(builder_, static_cast<wire::HostPhase>(shard.phase),
                                           shard.graph.size(), &data));
    }
    builder_.Finish(
        wire::CreateManifestDirect(
            builder_, format_version, package_.model.c_str(), package_.compiler.c_str(), target,
            package_.timing_only, package_.batch, &inputs, &outputs, package_.input_block_bytes,
            package_.output_block_bytes, package_.dense_macs, package_.effective_macs, &shards,
            &channels, &debug, package_.stateful, &host, package_.replicas),
        wire::ManifestIdentifier());
    return builder_.Release();
  }

 private:
  std::vector<Offset<wire::Port>> ports(const std::vector<Port>& list) {
    std::vector<Offset<wire::Port>> result;
    result.reserve(list.size());
    for (const Port& p : list) {
      result.push_back(wire::CreatePortDirect(
          builder_, p.name.c_str(), &p.dims, &p.to_card, p.scale, p.zero, p.offset, p.bytes,
          static_cast<wire::ElementType>(p.type), static_cast<wire::UserType>(p.user)));
    }
    return result;
  }

  Offset<wire::Segment> add(const Segment& segment) {
    const std::optional<std::uint64_t> at = area_.offsets[next_++];
    const wire::Data data(at.value_or(0), at ? checksum(segment.data) : 0);
    return wire::CreateSegmentDirect(builder_, static_cast<wire::SegmentKind>(segment.kind),
                                     segment.name.c_str(), segment.dram_offset, segment.bytes,
                                     at ? &data : nullptr);
  }

  Offset<wire::Program> add(const Program& program) {
    std::vector<Offset<wire::Stream>> streams;
    for (const Stream& s : program.streams) {
      streams.push_back(wire::CreateStream(builder_, static_cast<wire::QueueKind>(s.queue),
                                           s.cluster, s.dram_offset, s.bytes));
    }
    return wire::CreateProgramDirect(builder_, &streams);
  }

  Offset<wire::Shard> add(const Shard& shard) {
    std::vector<Offset<wire::Segment>> segments;
    for (const Segment& segment : shard.segments) segments.push_back(add(segment));
    std::vector<Offset<wire::WeightPattern>> patterns;
    for (const WeightPattern& pattern : shard.patterns) {
      patterns.push_back(wire::CreateWeightPatternDirect(
          builder_, pattern.channels, pattern.blocks,
          pattern.counts.empty() ? nullptr : &pattern.counts, pattern.density));
    }
    const auto init = add(shard.init);
    const auto run = add(shard.run);
    return wire::CreateShardDirect(builder_, shard.chip, &segments, &patterns, init, run);
  }

  const Package& package_;
  const DataArea& area_;
  std::size_t next_ = 0;
  flatbuffers::FlatBufferBuilder builder_;
};

std::span<const std::uint8_t> bytes_of(const Preamble& preamble) {
  return {reinterpret_cast<const std::uint8_t*>(&preamble), sizeof preamble};
}

}  // namespace

void write(const Package& package, const std::filesystem::path& path) {
  validate(package, path);
  // What goes to the data area, in the order in which the manifest names it.
  std::vector<std::span<const std::uint8_t>> pieces;
  for (const Shard& shard : package.shards) {
    for (const Segment& segment : shard.segments) pieces.push_back(segment.data);
  }
  for (const HostShard& shard : package.host) pieces.push_back(shard.graph);
  std::vector<Bytes> sizes;
  for (const auto& piece : pieces) sizes.push_back(piece.size());
  const DataArea area = lay_out(sizes);
  const flatbuffers::DetachedBuffer manifest = ManifestBuilder(package, area).build();
  const std::span<const std::uint8_t> manifest_bytes(manifest.data(), manifest.size());

  Preamble preamble;
  preamble.manifest_bytes = manifest.size();
  preamble.manifest_checksum = checksum(manifest_bytes);
  preamble.data_offset = align_up<Bytes>(sizeof preamble + manifest.size(), file_alignment);
  preamble.file_bytes = preamble.data_offset + area.bytes;
  preamble.checksum = checksum(preamble);

  AtomicFile file(path);
  file.write(bytes_of(preamble));
  file.write(manifest_bytes);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (!area.offsets[i]) continue;
    file.pad_to(preamble.data_offset + *area.offsets[i]);
    file.write(pieces[i]);
  }
  file.pad_to(preamble.file_bytes);
  file.commit();
}

}  // namespace steppe::package
