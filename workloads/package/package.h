// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/base/units.h"
#include "models/isa/isa.h"

/// A compiled model: a FlatBuffers manifest and 4 KiB-aligned segments in one file.
namespace steppe::package {

/// Of a port's elements on the card; the codes are those of the instructions.
enum class ElementType : std::uint8_t { int8, fp32, bf16, int32 };
constexpr Bytes item_bytes(ElementType type) {
  return type == ElementType::int8 ? 1 : type == ElementType::bf16 ? 2 : 4;
}

/// Of the user's array behind a port.
enum class UserType : std::uint8_t { fp32, boolean, int32, int64 };

/// An input or output: the user's array, elements of `type` on the card. Booleans are 0 and 1
/// there.
struct Port {
  std::string name;
  std::vector<std::uint64_t> dims;     ///< the user's array
  std::vector<std::uint32_t> to_card;  ///< card axis i is user axis to_card[i]
  ElementType type = ElementType::int8;
  float scale = 1.0F;  ///< of int8 and int32
  std::int32_t zero = 0;
  UserType user = UserType::fp32;
  Bytes offset = 0;  ///< in the input or output block of one run
  Bytes bytes = 0;

  [[nodiscard]] std::uint64_t elements() const { return bytes / item_bytes(type); }
};

enum class SegmentKind : std::uint8_t { weights, stream };
/// Bytes that the runtime copies to the chip's DRAM before the first run.
struct Segment {
  SegmentKind kind = SegmentKind::weights;
  std::string name;
  std::uint64_t dram_offset = 0;  ///< from the start of the chip's DRAM
  Bytes bytes = 0;
  /// The bytes themselves; empty where the package carries sizes only (timing). On reading, a view
  /// into the mapped file.
  std::span<const std::uint8_t> data;
};

/// One queue's stream within a stream segment, as offsets from the start of the chip's DRAM.
struct Stream {
  isa::QueueKind queue = isa::QueueKind::load;
  std::uint32_t cluster = 0;  ///< 0 for link queues
  std::uint64_t dram_offset = 0;
  Bytes bytes = 0;
};

/// Streams that start and end together. `init` runs once after loading, `run` at each inference.
struct Program {
  std::vector<Stream> streams;
};

/// How many weights each block of one Conv's bitmap records holds; see numerics::WeightPattern.
struct WeightPattern {
  std::uint32_t channels = 0;
  std::uint32_t blocks = 0;  ///< of one channel
  std::vector<std::uint8_t> counts;
  double density = 1.0;
};

/// What runs on one chip.
struct Shard {
  std::uint32_t chip = 0;
  std::vector<Segment> segments;
  std::vector<WeightPattern> patterns;  ///< that Conv instructions name, number 1 first
  Program init;                         ///< may be empty
  Program run;
};

enum class HostPhase : std::uint8_t { before, after };
/// What the host's CPU does at each run before the card's program, or after it: a graph as
/// graph::serialise writes it. `before` takes the model's inputs and makes, by name, the card's
/// inputs and what `after` needs; `after` takes the card's outputs and that, and makes the model's.
struct HostShard {
  HostPhase phase = HostPhase::before;
  std::span<const std::uint8_t> graph;
};

/// Bytes that one shard sends to another at each run.
struct Channel {
  std::string tensor;
  std::uint32_t from_chip = 0;
  std::uint32_t to_chip = 0;
  Bytes bytes = 0;
};

/// What an instruction's tag stands for; tag t is entry t - 1.
struct DebugEntry {
  std::string layer;
  std::vector<std::string> nodes;
};

/// The machine the streams were made for.
struct Target {
  std::string platform;  ///< preset name
  std::uint32_t isa_version = isa::version;
  std::uint32_t chips = 1;
  std::uint32_t clusters = 4;
  Bytes sram_bytes = 0;  ///< of one cluster
  Bytes dram_bytes = 0;  ///< of one chip that the package uses
};

struct Package {
  std::string model;
  std::string compiler;
  Target target;
  bool timing_only = false;  ///< weights and constants are absent
  std::uint32_t batch = 1;   ///< samples in one run
  /// A run needs what the run before it, on the same copy, left in DRAM: one step of a sequence
  /// after another.
  bool stateful = false;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  Bytes input_block_bytes = 0;
  Bytes output_block_bytes = 0;
  std::uint64_t dense_macs = 0;      ///< of one run
  std::uint64_t effective_macs = 0;  ///< that sparsity leaves
  /// So many copies of the program, each on as many chips as there are shards, side by side from
  /// the first shard's chip on; they take the runs in turn, and each has states of its own. Only
  /// SetBase names other chips in a program of which there are several copies: its value is moved.
  std::uint32_t replicas = 1;
  std::vector<Shard> shards;    ///< none where the host does everything
  std::vector<HostShard> host;  ///< none, or one of each phase
  std::vector<Channel> channels;
  std::vector<DebugEntry> debug;

  /// Keeps the mapped file (reading) or the buffers behind segment data (writing) alive.
  std::shared_ptr<const void> storage;
};

/// Writes the package so that the file appears whole or not at all. Throws ConfigError where it
/// cannot.
void write(const Package& package, const std::filesystem::path& path);

/// Maps and verifies a package: manifest, ranges, alignment, checksums.
/// Throws PackageError naming the field; ConfigError where the file cannot be opened.
Package read(const std::filesystem::path& path);

}  // namespace steppe::package
