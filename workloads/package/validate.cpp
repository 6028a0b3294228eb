// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "models/base/address.h"
#include "models/base/error.h"
#include "models/numerics/sparse.h"
#include "workloads/package/format.h"

namespace steppe::package {
namespace {

// What the address map has room for.
constexpr std::uint32_t max_chips = 255;
constexpr std::uint32_t max_clusters = (address::dram - address::sram) / address::sram_window;
constexpr Bytes max_dram_bytes = address::local_mask + 1 - address::dram;
constexpr Bytes max_block_bytes = address::local_mask + 1;
constexpr std::size_t max_patterns = (1U << 20) - 1;  // a number has 20 bits, 0 is none
constexpr std::uint64_t max_counts = std::uint64_t{1} << 30;
constexpr std::size_t max_tags = 0xffff;  // a tag has 16 bits, and 0 stands for none

/// A piece of a longer address range.
struct Interval {
  std::uint64_t begin;
  std::uint64_t end;
  std::string field;
};

bool lies_within(std::uint64_t begin, Bytes bytes, Bytes total) {
  return begin <= total && bytes <= total - begin;
}

/// The product of the extents; saturates rather than wraps.
std::uint64_t elements(const std::vector<std::uint64_t>& dims) {
  std::uint64_t product = 1;
  for (const std::uint64_t extent : dims) {
    if (__builtin_mul_overflow(product, extent, &product)) return ~std::uint64_t{0};
  }
  return product;
}

bool is_permutation(std::vector<std::uint32_t> axes, std::size_t rank) {
  std::ranges::sort(axes);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != i) return false;
  }
  return axes.size() == rank;
}

std::string indexed(const std::string& list, std::size_t index) {
  return fmt::format("{}[{}]", list, index);
}

class Validator {
 public:
  Validator(const Package& package, const std::filesystem::path& file)
      : package_(package), file_(file) {}

  void run() const {
    check_target();
    require(package_.batch >= 1, "batch", "is 0; a run takes at least 1 sample");
    check_replicas();
    require(package_.effective_macs <= package_.dense_macs, "effective_macs",
            "{} is more than dense_macs, {}", package_.effective_macs, package_.dense_macs);
    check_ports(package_.inputs, package_.input_block_bytes, "input");
    check_ports(package_.outputs, package_.output_block_bytes, "output");
    check_host();
    // Where there are host shards, they may be all.
    const bool card = package_.host.empty() || !package_.shards.empty();
    require(!package_.outputs.empty() || !card, "outputs", "is empty");
    require(!package_.shards.empty() || !card, "shards", "is empty");
    require(card || (package_.inputs.empty() && package_.outputs.empty()), "shards",
            "is empty, but there are ports of the card");
    std::set<std::uint32_t> chips;
    for (std::size_t i = 0; i < package_.shards.size(); ++i) {
      const std::string field = indexed("shards", i);
      const Shard& shard = package_.shards[i];
      require(shard.chip < package_.target.chips, field + ".chip", "{}, the target has {} chips",
              shard.chip, package_.target.chips);
      require(chips.insert(shard.chip).second, field + ".chip", "{} has a shard already",
              shard.chip);
      check_segments(shard, field);
      check_patterns(shard, field);
      check_program(shard, shard.init, field + ".init");
      check_program(shard, shard.run, field + ".run");
      require(!shard.run.streams.empty(), field + ".run.streams", "is empty");
    }
    check_channels(chips);
    require(package_.debug.size() <= max_tags, "debug", "has {} entries; tags count to {}",
            package_.debug.size(), max_tags);
  }

 private:
  template <typename... Args>
  void require(bool condition, const std::string& field, fmt::format_string<Args...> format,
               Args&&... args) const {
    if (condition) return;
    throw PackageError("{}: {}: {}", file_.string(), field,
                       fmt::format(format, std::forward<Args>(args)...));
  }

  void check_target() const {
    const Target& target = package_.target;
    require(!target.platform.empty(), "target.platform", "is empty");
    require(target.isa_version == isa::version, "target.isa_version",
            "{}; this Steppe executes version {}", target.isa_version, isa::version);
    require(target.chips >= 1 && target.chips <= max_chips, "target.chips", "{}; 1 to {} are right",
            target.chips, max_chips);
    require(target.clusters >= 1 && target.clusters <= max_clusters, "target.clusters",
            "{}; 1 to {} are right", target.clusters, max_clusters);
    require(target.sram_bytes <= address::sram_window, "target.sram_bytes", "{}; at most {}",
            target.sram_bytes, address::sram_window);
    require(target.dram_bytes <= max_dram_bytes, "target.dram_bytes", "{}; at most {}",
            target.dram_bytes, max_dram_bytes);
  }

  void check_replicas() const {
    const std::uint64_t copies = package_.replicas;
    require(copies >= 1, "replicas", "is 0; there is at least one copy of the program");
    if (copies == 1) return;
    require(!package_.shards.empty(), "replicas", "is {} of a program without shards", copies);
    std::set<std::uint32_t> chips;
    for (const Shard& shard : package_.shards) chips.insert(shard.chip);
    const std::uint64_t first = *chips.begin();
    const std::uint64_t each = package_.shards.size();
    require(*chips.rbegin() - first < each, "replicas",
            "is {}, but the chips of the shards do not follow each other", copies);
    require(first + copies * each <= package_.target.chips, "replicas",
            "{} copies on {} chips each, from chip {} on, reach beyond the {} chips", copies, each,
            first, package_.target.chips);
  }

  void check_host() const {
    constexpr std::array phases{HostPhase::before, HostPhase::after};
    require(package_.host.empty() || package_.host.size() == phases.size(), "host",
            "has {} entries; none, or one before and one after the card are right",
            package_.host.size());
    for (std::size_t i = 0; i < package_.host.size(); ++i) {
      const std::string field = indexed("host", i);
      require(package_.host[i].phase == phases[i], field + ".phase",
              "{}; the first is 0 (before), the second 1 (after)",
              static_cast<unsigned>(package_.host[i].phase));
      require(!package_.host[i].graph.empty(), field + ".bytes", "is 0");
    }
  }

  /// No two of the intervals share a byte.
  void check_apart(std::vector<Interval> intervals) const {
    std::ranges::sort(intervals, {}, [](const Interval& i) { return std::tie(i.begin, i.end); });
    for (std::size_t i = 1; i < intervals.size(); ++i) {
      require(intervals[i - 1].end <= intervals[i].begin, intervals[i].field, "overlaps {}",
              intervals[i - 1].field);
    }
  }

  void check_ports(const std::vector<Port>& ports, Bytes block_bytes,
                   const std::string& kind) const {
    const std::string block = kind + "_block_bytes";
    require(block_bytes <= max_block_bytes, block, "{}; at most {}", block_bytes, max_block_bytes);
    std::set<std::string_view> names;
    std::vector<Interval> intervals;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const Port& port = ports[i];
      const std::string field = indexed(kind + "s", i);
      require(!port.name.empty(), field + ".name", "is empty");
      require(names.insert(port.name).second, field + ".name", "'{}' is taken already", port.name);
      require(port.bytes >= 1, field + ".bytes", "is 0");
      require(port.type <= ElementType::int32, field + ".type",
              "{} is none; int8, fp32, bf16, int32", static_cast<unsigned>(port.type));
      require(port.user <= UserType::int64, field + ".user",
              "{} is none; fp32, boolean, int32, int64", static_cast<unsigned>(port.user));
      const Bytes bytes = port.bytes / item_bytes(port.type);
      require(elements(port.dims) == bytes && port.bytes % item_bytes(port.type) == 0,
              field + ".dims", "[{}] does not give the {} bytes of .bytes, {} an element",
              fmt::join(port.dims, ", "), port.bytes, item_bytes(port.type));
      require(is_permutation(port.to_card, port.dims.size()), field + ".to_card",
              "[{}] is no permutation of {} axes", fmt::join(port.to_card, ", "), port.dims.size());
      require(std::isfinite(port.scale) && port.scale > 0, field + ".scale",
              "{}; it has to be positive and finite", port.scale);
      require(port.zero >= -128 && port.zero <= 127, field + ".zero", "{}; -128 to 127 are right",
              port.zero);
      require(lies_within(port.offset, port.bytes, block_bytes), field + ".offset",
              "{} with {} bytes reaches past {}, {}", port.offset, port.bytes, block, block_bytes);
      intervals.push_back({port.offset, port.offset + port.bytes, field + ".offset"});
    }
    check_apart(std::move(intervals));
  }

  void check_segments(const Shard& shard, const std::string& shard_field) const {
    std::set<std::string_view> names;
    std::vector<Interval> intervals;
    for (std::size_t i = 0; i < shard.segments.size(); ++i) {
      const Segment& segment = shard.segments[i];
      const std::string field = indexed(shard_field + ".segments", i);
      require(!segment.name.empty(), field + ".name", "is empty");
      require(names.insert(segment.name).second, field + ".name", "'{}' is taken already",
              segment.name);
      require(segment.bytes >= 1, field + ".bytes", "is 0");
      require(segment.dram_offset % isa::alignment == 0, field + ".dram_offset",
              "{} is no multiple of {}", segment.dram_offset, isa::alignment);
      require(lies_within(segment.dram_offset, segment.bytes, package_.target.dram_bytes),
              field + ".dram_offset", "{} with {} bytes reaches past target.dram_bytes, {}",
              segment.dram_offset, segment.bytes, package_.target.dram_bytes);
      if (segment.data.empty()) {
        require(segment.kind == SegmentKind::weights, field + ".data", "a stream needs its bytes");
        require(package_.timing_only, field + ".data", "is absent, but timing_only is not set");
      } else {
        require(segment.data.size() == segment.bytes, field + ".bytes", "{}, the data has {}",
                segment.bytes, segment.data.size());
      }
      intervals.push_back(
          {segment.dram_offset, segment.dram_offset + segment.bytes, field + ".dram_offset"});
    }
    check_apart(std::move(intervals));
  }

  void check_patterns(const Shard& shard, const std::string& shard_field) const {
    require(shard.patterns.size() <= max_patterns, shard_field + ".patterns",
            "has {} entries; instructions count to {}", shard.patterns.size(), max_patterns);
    for (std::size_t i = 0; i < shard.patterns.size(); ++i) {
      const WeightPattern& pattern = shard.patterns[i];
      const std::string field = indexed(shard_field + ".patterns", i);
      require(pattern.channels >= 1, field + ".channels", "is 0");
      require(pattern.blocks >= 1, field + ".blocks", "is 0");
      require(pattern.density > 0 && pattern.density <= 1, field + ".density",
              "{}; above 0 and at most 1 are right", pattern.density);
      if (pattern.counts.empty()) {
        require(package_.timing_only, field + ".counts", "is absent, but timing_only is not set");
        // Counts are drawn for it, so that a wrong extent must not ask for all memory.
        require(std::uint64_t{pattern.channels} * pattern.blocks <= max_counts, field + ".blocks",
                "{} of {} channels; a pattern has at most {} blocks", pattern.blocks,
                pattern.channels, max_counts);
        continue;
      }
      require(pattern.counts.size() == std::uint64_t{pattern.channels} * pattern.blocks,
              field + ".counts", "has {} entries for {} channels of {} blocks",
              pattern.counts.size(), pattern.channels, pattern.blocks);
      const std::uint8_t most = std::ranges::max(pattern.counts);
      require(most <= numerics::block, field + ".counts", "holds {}; a block has {} weights", most,
              numerics::block);
    }
  }

  void check_program(const Shard& shard, const Program& program, const std::string& where) const {
    std::set<std::pair<isa::QueueKind, std::uint32_t>> queues;
    for (std::size_t i = 0; i < program.streams.size(); ++i) {
      const Stream& stream = program.streams[i];
      const std::string field = indexed(where + ".streams", i);
      const bool link =
          stream.queue == isa::QueueKind::link_send || stream.queue == isa::QueueKind::link_receive;
      const std::uint32_t clusters = link ? 1 : package_.target.clusters;
      require(stream.cluster < clusters, field + ".cluster", "{}; 0 to {} are right",
              stream.cluster, clusters - 1);
      require(queues.emplace(stream.queue, stream.cluster).second, field + ".queue",
              "{} of cluster {} has a stream already",
              isa::queue_names[static_cast<std::size_t>(stream.queue)], stream.cluster);
      require(stream.dram_offset % isa::alignment == 0, field + ".dram_offset",
              "{} is no multiple of {}", stream.dram_offset, isa::alignment);
      require(stream.bytes >= 1 && stream.bytes % isa::alignment == 0, field + ".bytes",
              "{} is no positive multiple of {}", stream.bytes, isa::alignment);
      const bool inside = std::ranges::any_of(shard.segments, [&](const Segment& segment) {
        return segment.kind == SegmentKind::stream && stream.dram_offset >= segment.dram_offset &&
               lies_within(stream.dram_offset - segment.dram_offset, stream.bytes, segment.bytes);
      });
      require(inside, field + ".dram_offset", "{} with {} bytes lies in no segment of kind stream",
              stream.dram_offset, stream.bytes);
    }
  }

  void check_channels(const std::set<std::uint32_t>& chips) const {
    std::set<std::tuple<std::string_view, std::uint32_t, std::uint32_t>> seen;
    for (std::size_t i = 0; i < package_.channels.size(); ++i) {
      const Channel& channel = package_.channels[i];
      const std::string field = indexed("channels", i);
      require(!channel.tensor.empty(), field + ".tensor", "is empty");
      require(channel.bytes >= 1, field + ".bytes", "is 0");
      require(chips.contains(channel.from_chip), field + ".from_chip", "{} has no shard",
              channel.from_chip);
      require(chips.contains(channel.to_chip), field + ".to_chip", "{} has no shard",
              channel.to_chip);
      require(channel.from_chip != channel.to_chip, field + ".to_chip", "{} is the sender",
              channel.to_chip);
      require(seen.emplace(channel.tensor, channel.from_chip, channel.to_chip).second,
              field + ".tensor", "'{}' has a channel from chip {} to chip {} already",
              channel.tensor, channel.from_chip, channel.to_chip);
    }
  }

  const Package& package_;
  const std::filesystem::path& file_;
};

}  // namespace

void validate(const Package& package, const std::filesystem::path& file) {
  Validator(package, file).run();
}

}  // namespace steppe::package
