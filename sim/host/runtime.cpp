// SPDX-License-Identifier: Apache-2.0
#include "sim/host/runtime.h"

#include <algorithm>
#include <cstring>

#include "models/base/address.h"
#include "models/base/error.h"
#include "models/control/registers.h"
#include "models/queue/execution_unit.h"
#include "sim/stream_check.h"

namespace steppe::sim {
namespace {

namespace reg = control;

static_assert(sizeof(Submission) == reg::SQE_BYTES);
static_assert(sizeof(Completion) == reg::CQE_BYTES);

/// Programs by slot.
constexpr std::uint32_t slot_init = 0;
constexpr std::uint32_t slot_run = 1;

struct ProgramEntry {
  std::uint32_t queue;
  std::uint32_t bytes;
  std::uint64_t address;
};
static_assert(sizeof(ProgramEntry) == reg::PROGRAM_ENTRY_BYTES);

std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

std::uint32_t queue_number(const package::Target& target, const package::Stream& stream) {
  switch (stream.queue) {
    case isa::QueueKind::link_send:
      return 4 * target.clusters;
    case isa::QueueKind::link_receive:
      return 4 * target.clusters + 1;
    default:
      return 4 * stream.cluster + static_cast<std::uint32_t>(stream.queue);
  }
}

std::string queue_name(const package::Target& target, std::uint32_t number) {
  if (number >= 4 * target.clusters) {
    const bool send = number == 4 * target.clusters;
    return std::string(isa::queue_names[send ? 4 : 5]);
  }
  return fmt::format("cluster{}.{}", number / 4, isa::queue_names[number % 4]);
}

/// Whether the shard's run copies from the input block.
bool reads_input(const package::Shard& shard) {
  for (const package::Stream& stream : shard.run.streams) {
    for (auto rest = stream_bytes(shard, stream); !rest.empty();) {
      const isa::Decoded decoded = isa::decode(rest);
      if (decoded.status != isa::DecodeStatus::ok) break;  // the queue will say what is wrong
      const auto* copy = std::get_if<isa::Copy>(&decoded.instruction.operation);
      if (copy != nullptr && copy->src_base == reg::BASE_INPUT) return true;
      rest = rest.subspan(decoded.bytes);
    }
  }
  return false;
}

/// A segment of streams for chips that lie `chips` further than the shards say: what a stream puts
/// into a base register leads to them.
std::vector<std::uint8_t> moved(const package::Shard& shard, const package::Segment& segment,
                                std::uint32_t chips) {
  std::vector<std::uint8_t> bytes(segment.data.begin(), segment.data.end());
  for (const package::Program* program : {&shard.init, &shard.run}) {
    for (const package::Stream& stream : program->streams) {
      if (stream.dram_offset < segment.dram_offset) continue;
      const std::uint64_t begin = stream.dram_offset - segment.dram_offset;
      if (begin >= bytes.size()) continue;  // it lies in another segment
      for (std::size_t at = begin; at < begin + stream.bytes;) {
        isa::Decoded decoded = isa::decode({bytes.data() + at, begin + stream.bytes - at});
        if (decoded.status != isa::DecodeStatus::ok) break;  // the queue will say what is wrong
        auto* base = std::get_if<isa::SetBase>(&decoded.instruction.operation);
        constexpr std::uint32_t none = ~0U;
        if (base != nullptr && !address::is_host(base->value) &&
            address::chip_of(base->value, none) != none) {
          base->value += std::uint64_t{chips} << address::chip_shift;
          std::vector<std::uint8_t> encoded;
          isa::encode(decoded.instruction, encoded);
          STEPPE_CHECK(encoded.size() == decoded.bytes);
          std::ranges::copy(encoded, bytes.begin() + static_cast<std::ptrdiff_t>(at));
        }
        at += decoded.bytes;
      }
    }
  }
  return bytes;
}

std::string_view fault_text(std::uint32_t code) {
  switch (static_cast<FaultCode>(code)) {
    case FaultCode::bad_instruction:
      return "an instruction that the queue does not know";
    case FaultCode::bad_address:
      return "an address where nothing is or that the unit cannot reach";
    case FaultCode::bad_operand:
      return "an operand that contradicts others or exceeds the hardware";
    case FaultCode::loop_nesting:
      return "loops that are nested too deep or not closed";
    case FaultCode::stream_overrun:
      return "a stream that ends without `end`";
    default:
      return "an unknown fault";
  }
}

}  // namespace

ChipRings::ChipRings(Host& host, std::uint32_t chip, std::uint32_t entries)
    : host_(host),
      chip_(chip),
      entries_(entries),
      submissions_at_(host.allocate(Bytes{entries} * reg::SQE_BYTES)),
      completions_at_(host.allocate(Bytes{entries} * reg::CQE_BYTES)),
      vector_(host.add_vector([this](const sc_core::sc_time& delay) { message_.notify(delay); })) {}

std::uint32_t ChipRings::read(std::uint32_t offset) {
  std::uint32_t value = 0;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  const bool granted = host_.mmio.read(address::on_chip(chip_, address::control + offset), &value,
                                       sizeof value, delay);
  STEPPE_CHECK(granted, "register {:#x} of chip {}", offset, chip_);
  sc_core::wait(delay);
  return value;
}

void ChipRings::write(std::uint32_t offset, std::uint32_t value) {
  // A register takes its value when the transaction reaches it: first the way, then the value.
  const std::uint64_t to = address::on_chip(chip_, address::control + offset);
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  bool granted = host_.mmio.reserve(tlm::TLM_WRITE_COMMAND, to, sizeof value, delay);
  sc_core::wait(delay);
  sc_core::sc_time taken_already = sc_core::SC_ZERO_TIME;
  granted = granted && host_.mmio.write(to, &value, sizeof value, taken_already);
  STEPPE_CHECK(granted, "register {:#x} of chip {}", offset, chip_);
}

void ChipRings::start() {
  // A boot takes tens of microseconds; a core that is configured to crawl gets its time as well.
  const sc_core::sc_time patience(1, sc_core::SC_SEC);
  const sc_core::sc_time& begin = sc_core::sc_time_stamp();
  for (sc_core::sc_time pause(1, sc_core::SC_US); read(reg::READY) != 1; pause *= 1.5) {
    if (sc_core::sc_time_stamp() - begin > patience) {
      throw MachineError("chip {}: the firmware does not come up; READY is {}", chip_,
                         read(reg::READY));
    }
    sc_core::wait(pause);
  }
  const std::uint64_t sq = Host::bus_address(submissions_at_);
  const std::uint64_t cq = Host::bus_address(completions_at_);
  const std::uint64_t vector = Host::bus_address(vector_);
  write(reg::SQ_BASE_LO, low(sq));
  write(reg::SQ_BASE_HI, high(sq));
  write(reg::SQ_ENTRIES, entries_);
  write(reg::CQ_BASE_LO, low(cq));
  write(reg::CQ_BASE_HI, high(cq));
  write(reg::CQ_ENTRIES, entries_);
  write(reg::MSIX_ADDRESS_LO, low(vector));
  write(reg::MSIX_ADDRESS_HI, high(vector));
  write(reg::MSIX_DATA, chip_ + 1);
}

std::uint32_t ChipRings::submit(std::uint32_t opcode,
                                const std::array<std::uint64_t, 5>& arguments) {
  if (submitted_ - completed_ >= entries_) wait_for(submitted_ - entries_);
  const std::uint32_t id = submitted_++;
  const Submission submission{opcode, id, arguments, {}};
  std::memcpy(host_.at(submissions_at_) + std::size_t{id % entries_} * reg::SQE_BYTES, &submission,
              sizeof submission);
  write(reg::SQ_TAIL, submitted_);
  return id;
}

void ChipRings::wait_for(std::uint32_t command_id) {
  // Ids are counted like the ring's positions, so that their difference survives the wrap-around.
  while (static_cast<std::int32_t>(completed_ - command_id) <= 0) {
    const std::uint32_t before = completed_;
    take_completions();
    if (completed_ == before) sc_core::wait(message_);
  }
}

void ChipRings::take_completions() {
  const std::uint32_t before = completed_;
  for (;;) {
    Completion completion;
    std::memcpy(&completion,
                host_.at(completions_at_) + std::size_t{completed_ % entries_} * reg::CQE_BYTES,
                sizeof completion);
    if (completion.sequence != completed_ + 1) break;
    ++completed_;
    if (completion.status != reg::STATUS_OK) {
      throw MachineError("{}", explain(chip_, completion));
    }
  }
  if (completed_ != before) write(reg::CQ_HEAD, completed_);
}

RuntimeParams::RuntimeParams(const Scope& scope)
    : ring_entries(scope, "ring_entries", 64, "", "entries of a ring, a power of two", {2, 4096}),
      runs_in_flight(scope, "runs_in_flight", 8, "",
                     "runs submitted ahead of the last that ended, for each copy of the program",
                     {1, 256}) {
  if ((ring_entries & (ring_entries - 1)) != 0) {
    throw ConfigError("{}.ring_entries: {} is not a power of two", scope.path(),
                      ring_entries.get());
  }
}

Runtime::Runtime(Host& host, const RuntimeParams& params, const package::Package& package,
                 Bytes dram_bytes, bool functional)
    : host_(host),
      package_(package),
      functional_(functional),
      slots_(std::size_t{params.runs_in_flight} * package.replicas) {
  const auto each = static_cast<std::uint32_t>(package.shards.size());
  std::vector<bool> reads;
  for (const package::Shard& shard : package.shards) reads.push_back(reads_input(shard));
  for (std::uint32_t copy = 0; copy < package.replicas; ++copy) {
    for (std::uint32_t i = 0; i < each; ++i) {
      const package::Shard& shard = package.shards[i];
      Part& part = parts_.emplace_back();
      part.shard = &shard;
      part.moved = copy * each;
      part.reads_input = reads[i];
      part.rings = std::make_unique<ChipRings>(host, shard.chip + part.moved, params.ring_entries);
      part.rings->explain = [this](std::uint32_t chip, const Completion& completion) {
        return explain(chip, completion);
      };
    }
  }
  const Bytes block = align_up<Bytes>(package.input_block_bytes, 4096);
  const Bytes used = align_up<Bytes>(package.target.dram_bytes, 4096);
  if (dram_bytes >= used && 2 * block <= dram_bytes - used) {
    staged_bytes_ = package.input_block_bytes;
    staging_ = {address::dram + used, address::dram + used + block};
  }
  for (Slot& slot : slots_) {
    slot.input = functional ? host.allocate(std::max<Bytes>(package.input_block_bytes, 1))
                            : host.reserve(std::max<Bytes>(package.input_block_bytes, 1));
    slot.output = functional ? host.allocate(std::max<Bytes>(package.output_block_bytes, 1))
                             : host.reserve(std::max<Bytes>(package.output_block_bytes, 1));
    slot.commands.resize(parts_.size());
  }
}

std::string Runtime::explain(std::uint32_t chip, const Completion& completion) const {
  switch (completion.status) {
    case reg::STATUS_BAD_COMMAND:
      return fmt::format("chip {}: the firmware refused command {}", chip, completion.command_id);
    case reg::STATUS_BAD_ADDRESS:
      return fmt::format("chip {}: command {} met an address where nothing is", chip,
                         completion.command_id);
    default:
      break;
  }
  std::string where;
  if (completion.fault_tag != 0 && completion.fault_tag <= package_.debug.size()) {
    const package::DebugEntry& entry = package_.debug[completion.fault_tag - 1];
    where = fmt::format(" in layer '{}'", entry.layer);
    if (!entry.nodes.empty()) where += fmt::format(" (node '{}')", fmt::join(entry.nodes, "', '"));
  }
  std::string address;
  if (completion.fault_code == static_cast<std::uint32_t>(FaultCode::bad_address)) {
    address = fmt::format(": {:#x}", completion.fault_address);
  }
  return fmt::format("chip {}: queue {} stopped{} at {}{}", chip,
                     queue_name(package_.target, completion.fault_queue), where,
                     fault_text(completion.fault_code), address);
}

void Runtime::load() {
  for (const Part& part : parts_) part.rings->start();
  for (Part& part : parts_) load_part(part);
}

std::uint32_t Runtime::load_program(Part& part, const package::Program& program,
                                    std::uint32_t slot) {
  std::vector<ProgramEntry> entries;
  for (const package::Stream& stream : program.streams) {
    entries.push_back({queue_number(package_.target, stream),
                       static_cast<std::uint32_t>(stream.bytes),
                       address::dram + stream.dram_offset});
  }
  const Bytes bytes = entries.size() * sizeof(ProgramEntry);
  const std::uint64_t table = host_.allocate(std::max<Bytes>(bytes, 1));
  if (bytes != 0) std::memcpy(host_.at(table), entries.data(), bytes);
  return part.rings->submit(reg::OP_LOAD_PROGRAM,
                            {Host::bus_address(table), entries.size(), slot, 0});
}

void Runtime::load_part(Part& part) {
  for (const package::Segment& segment : part.shard->segments) {
    // In a timing run the weights' bytes are not needed, though the package may carry them.
    const bool contents =
        !segment.data.empty() && (functional_ || segment.kind == package::SegmentKind::stream);
    std::uint64_t from = 0;
    if (part.moved != 0 && segment.kind == package::SegmentKind::stream) {
      const std::vector<std::uint8_t> bytes = moved(*part.shard, segment, part.moved);
      from = host_.allocate(bytes.size());
      std::ranges::copy(bytes, host_.at(from));
    } else {
      from = contents ? host_.map(segment.data) : host_.reserve(segment.bytes);
    }
    part.rings->submit(reg::OP_COPY, {Host::bus_address(from), address::dram + segment.dram_offset,
                                      segment.bytes, 0});
  }
  load_program(part, part.shard->init, slot_init);
  load_program(part, part.shard->run, slot_run);
  part.rings->wait_for(part.rings->submit(reg::OP_RUN, {slot_init, 0, 0, 0}));
}

std::pair<std::size_t, std::size_t> Runtime::parts_of(std::uint64_t run) const {
  const std::size_t each = package_.shards.size();
  const std::size_t copy = run % package_.replicas;
  return {copy * each, (copy + 1) * each};
}

std::uint8_t* Runtime::input_block(std::uint64_t run) {
  return functional_ ? host_.at(slots_[run % slots_.size()].input) : nullptr;
}

const std::uint8_t* Runtime::output_block(std::uint64_t run) {
  return functional_ ? host_.at(slots_[run % slots_.size()].output) : nullptr;
}

void Runtime::submit(std::uint64_t run) {
  Slot& slot = slots_[run % slots_.size()];
  const auto [first, last] = parts_of(run);
  const std::uint64_t staging = staging_[run / package_.replicas % 2];
  for (std::size_t i = first; i < last; ++i) {
    slot.commands[i] = parts_[i].rings->submit(
        reg::OP_RUN, {slot_run, Host::bus_address(slot.input), Host::bus_address(slot.output),
                      parts_[i].reads_input ? staged_bytes_ : 0, staging});
  }
}

void Runtime::finish(std::uint64_t run) {
  const Slot& slot = slots_[run % slots_.size()];
  const auto [first, last] = parts_of(run);
  for (std::size_t i = first; i < last; ++i) parts_[i].rings->wait_for(slot.commands[i]);
}

}  // namespace steppe::sim
