// SPDX-License-Identifier: Apache-2.0
#include "sim/stream_check.h"

#include <fmt/format.h>

#include <array>
#include <map>

#include "models/base/address.h"
#include "models/base/error.h"
#include "models/isa/isa.h"
#include "models/numerics/sparse.h"

namespace steppe::sim {
namespace {

using Key = std::pair<std::uint32_t, std::uint32_t>;  ///< chip, semaphore
using Balance = std::map<Key, std::int64_t>;

/// Walks one stream once, loops unrolled in number only.
class StreamCheck {
 public:
  StreamCheck(const package::Package& package, const package::Shard& shard,
              const package::Stream& stream, Balance& balance)
      : package_(package), shard_(shard), stream_(stream), balance_(balance) {}

  void run();

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw PackageError("{}, offset {}: {}", stream_name(shard_, stream_), offset_, what);
  }
  isa::Instruction decode(std::span<const std::uint8_t> bytes, std::size_t& size) const;
  void count_tokens(const isa::Header& header);
  void check_operation(const isa::Instruction& instruction);
  void check_pattern(const isa::Conv& conv) const;
  void check_copy(const isa::Copy& copy) const;
  void check_address(std::uint32_t base, std::uint64_t offset, std::uint64_t bytes,
                     const char* what) const;

  const package::Package& package_;
  const package::Shard& shard_;
  const package::Stream& stream_;
  Balance& balance_;
  std::size_t offset_ = 0;
  std::vector<std::uint64_t> loops_;
  std::uint64_t times_ = 1;  ///< how often the instruction at hand runs
  std::array<std::uint64_t, isa::base_registers> base_{};
  std::array<bool, isa::base_registers> known_{true};
  bool ended_ = false;
};

void StreamCheck::run() {
  known_[isa::base_input] = known_[isa::base_output] = false;
  for (std::span<const std::uint8_t> bytes = stream_bytes(shard_, stream_); !ended_;) {
    if (bytes.empty()) fail("the stream ends without `end`");
    std::size_t size = 0;
    const isa::Instruction instruction = decode(bytes, size);
    if (instruction.header.tag > package_.debug.size()) {
      fail(fmt::format("tag {} has no debug entry", instruction.header.tag));
    }
    count_tokens(instruction.header);
    check_operation(instruction);
    bytes = bytes.subspan(size);
    offset_ += size;
  }
}

isa::Instruction StreamCheck::decode(std::span<const std::uint8_t> bytes, std::size_t& size) const {
  const isa::Decoded decoded = isa::decode(bytes);
  const std::uint32_t opcode = decoded.instruction.header.opcode;
  switch (decoded.status) {
    case isa::DecodeStatus::truncated:
      fail("an instruction is cut off by the stream's end");
    case isa::DecodeStatus::unknown_opcode:
      fail(fmt::format("opcode {:#x} is unknown", opcode));
    case isa::DecodeStatus::nonzero_padding:
      fail("the padding behind the fields is not zero");
    case isa::DecodeStatus::ok:
      break;
  }
  const isa::InstructionInfo& info = *isa::find_instruction(opcode);
  if (!isa::queue_takes(stream_.queue, info)) {
    fail(fmt::format("`{}` does not run on this queue", info.mnemonic));
  }
  size = decoded.bytes;
  return decoded.instruction;
}

void StreamCheck::count_tokens(const isa::Header& header) {
  const auto change = [&](std::uint32_t id, std::int64_t tokens) {
    if (id != isa::no_semaphore) {
      balance_[{shard_.chip, id}] += tokens * static_cast<std::int64_t>(times_);
    }
  };
  change(header.wait0, -std::int64_t{header.wait0_count});
  change(header.wait1, -std::int64_t{header.wait1_count});
  change(header.signal0, header.signal0_count);
  change(header.signal1, header.signal1_count);
}

void StreamCheck::check_operation(const isa::Instruction& instruction) {
  if (std::holds_alternative<isa::End>(instruction.operation)) {
    if (!loops_.empty()) fail("`end` inside a loop");
    ended_ = true;
  } else if (const auto* loop = std::get_if<isa::Loop>(&instruction.operation)) {
    if (loop->count == 0) fail("a loop that runs 0 times");
    if (loops_.size() == isa::max_loop_depth) fail("loops nest deeper than the queue's stack");
    loops_.push_back(loop->count);
    times_ *= loop->count;
  } else if (std::holds_alternative<isa::EndLoop>(instruction.operation)) {
    if (loops_.empty()) fail("`endloop` without `loop`");
    times_ /= loops_.back();
    loops_.pop_back();
  } else if (const auto* set = std::get_if<isa::SetBase>(&instruction.operation)) {
    base_[set->reg] = set->value;
    known_[set->reg] = true;
  } else if (const auto* add = std::get_if<isa::AddBase>(&instruction.operation)) {
    known_[add->reg] = false;  // its value depends on the turn of the loop
  } else if (const auto* conv = std::get_if<isa::Conv>(&instruction.operation)) {
    check_pattern(*conv);
  } else if (const auto* copy = std::get_if<isa::Copy>(&instruction.operation)) {
    check_copy(*copy);
  } else if (const auto* notify = std::get_if<isa::Notify>(&instruction.operation)) {
    if (!known_[notify->dst_base]) return;
    const std::uint64_t to = base_[notify->dst_base] + notify->dst_offset;
    const std::uint64_t at = address::local(to) - address::semaphores;
    if (at / 4 < isa::no_semaphore && at % 4 == 0) {
      balance_[{address::chip_of(to, shard_.chip), static_cast<std::uint32_t>(at / 4)}] +=
          std::int64_t{notify->value} * static_cast<std::int64_t>(times_);
    }
  }
}

/// The time of bitmap records follows from the pattern alone, so that it has to be there.
void StreamCheck::check_pattern(const isa::Conv& conv) const {
  if (conv.encoding != static_cast<std::uint32_t>(numerics::Encoding::bitmap)) return;
  if (conv.pattern == 0 || conv.pattern > shard_.patterns.size()) {
    fail(fmt::format("pattern {} of a bitmap-encoded `conv`; the shard has {}", conv.pattern,
                     shard_.patterns.size()));
  }
  const package::WeightPattern& pattern = shard_.patterns[conv.pattern - 1];
  const std::uint64_t k = std::uint64_t{conv.kernel_h} * conv.kernel_w * conv.in_c;
  const std::uint64_t blocks = ceil_div<std::uint64_t>(k, numerics::block);
  if (pattern.channels != conv.out_c || pattern.blocks != blocks) {
    fail(fmt::format("pattern {} is of {} channels with {} blocks, the `conv` has {} with {}",
                     conv.pattern, pattern.channels, pattern.blocks, conv.out_c, blocks));
  }
}

void StreamCheck::check_copy(const isa::Copy& copy) const {
  if (copy.rows == 0 || copy.row_bytes == 0) fail("a copy of no bytes");
  const auto span = [&](std::uint64_t pitch) {
    return (std::uint64_t{copy.rows} - 1) * pitch + copy.row_bytes;
  };
  check_address(copy.src_base, copy.src_offset, span(copy.src_pitch), "source");
  check_address(copy.dst_base, copy.dst_offset, span(copy.dst_pitch), "destination");
}

void StreamCheck::check_address(std::uint32_t base, std::uint64_t offset, std::uint64_t bytes,
                                const char* what) const {
  if (base == isa::base_input || base == isa::base_output) {
    const Bytes block =
        base == isa::base_input ? package_.input_block_bytes : package_.output_block_bytes;
    if (!known_[base] && (offset > block || bytes > block - offset)) {
      fail(fmt::format("the {} leaves the {} block of {} bytes", what,
                       base == isa::base_input ? "input" : "output", block));
    }
    if (!known_[base]) return;
  }
  if (!known_[base]) return;
  const std::uint64_t at = base_[base] + offset;
  if (address::is_host(at)) return;
  if (address::chip_of(at, shard_.chip) >= package_.target.chips) {
    fail(fmt::format("the {} {:#x} names a chip that the target does not have", what, at));
  }
  const std::uint64_t local = address::local(at);
  const auto within = [&](std::uint64_t begin, std::uint64_t size) {
    return local >= begin && local - begin < size && bytes <= size - (local - begin);
  };
  bool fits = within(address::dram, package_.target.dram_bytes);
  for (std::uint32_t cluster = 0; cluster < package_.target.clusters; ++cluster) {
    fits = fits || within(address::sram_of(cluster), package_.target.sram_bytes);
    const bool writes = std::string_view(what) == "destination";
    fits =
        fits || (writes && within(address::sram_of_first(cluster + 1), package_.target.sram_bytes));
  }
  if (!fits) {
    fail(fmt::format(
        "the {} of {} bytes at {:#x} lies neither in SRAM nor in the DRAM that the package uses",
        what, bytes, at));
  }
}

}  // namespace

std::span<const std::uint8_t> stream_bytes(const package::Shard& shard,
                                           const package::Stream& stream) {
  for (const package::Segment& segment : shard.segments) {
    const std::uint64_t offset = stream.dram_offset - segment.dram_offset;
    if (segment.kind == package::SegmentKind::stream && offset < segment.data.size()) {
      return segment.data.subspan(offset, stream.bytes);
    }
  }
  throw PackageError("{}: the stream lies in no segment", stream_name(shard, stream));
}

std::string stream_name(const package::Shard& shard, const package::Stream& stream) {
  const std::string_view queue = isa::queue_names[static_cast<std::size_t>(stream.queue)];
  if (stream.queue == isa::QueueKind::link_send || stream.queue == isa::QueueKind::link_receive) {
    return fmt::format("chip {}, {}", shard.chip, queue);
  }
  return fmt::format("chip {}, cluster {}, {}", shard.chip, stream.cluster, queue);
}

void check_streams(const package::Package& package) {
  Balance ignored;  // init may leave credits behind
  Balance balance;
  for (const package::Shard& shard : package.shards) {
    for (const package::Stream& stream : shard.init.streams) {
      StreamCheck(package, shard, stream, ignored).run();
    }
    for (const package::Stream& stream : shard.run.streams) {
      StreamCheck(package, shard, stream, balance).run();
    }
  }
  for (const auto& [key, tokens] : balance) {
    if (tokens == 0) continue;
    throw PackageError("chip {}, semaphore {}: a run gives {} tokens {} than it takes", key.first,
                       key.second, tokens > 0 ? tokens : -tokens, tokens > 0 ? "more" : "fewer");
  }
}

}  // namespace steppe::sim
