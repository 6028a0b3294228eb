// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/base/units.h"
#include "workloads/net/net.h"
#include "workloads/package/package.h"

/// From a quantised network to the streams of a card.
namespace steppe::schedule {

/// From one chip to another.
struct Way {
  double bandwidth = 0;  ///< bytes per second
  double latency = 0;    ///< seconds one way
};

/// The machine to compile for, as far as a schedule depends on it.
struct Target {
  std::string platform;
  std::uint32_t chips = 1;
  std::uint32_t clusters = 4;
  Bytes sram_bytes = 0;  ///< of one cluster
  Bytes dram_bytes = 0;  ///< of one chip
  std::uint32_t engines = 8;
  std::uint32_t lanes = 16;
  std::uint32_t columns = 32;
  double clock_hz = 900e6;
  double bf16_cycles = 2;        ///< of a lane for one bf16 weight; an int8 one takes 1
  double vector_lanes = 448;     ///< of one cluster
  double special_lanes = 32;     ///< special functions a cycle
  double permute_bytes = 64;     ///< a cycle
  double dram_bandwidth = 82e9;  ///< bytes per second, of one chip
  Way peer{.bandwidth = 12e9, .latency = 600e-9};    ///< from chip to chip of a card
  std::uint32_t chips_of_card = 0;                   ///< 0: one card has all
  Way across{.bandwidth = 12e9, .latency = 1.3e-6};  ///< from chip to chip of another card
  std::uint32_t chips_of_server = 0;                 ///< 0: one server has all
  Way between{.bandwidth = 12e9, .latency = 5e-6};   ///< from chip to chip of another server
};

/// How the chips share the work.
struct Partition {
  enum class Kind : std::uint8_t {
    automatic,  ///< the best of all by the cost model
    pipeline,   ///< layers in a row on each chip
    tensor,     ///< all chips take part in each layer
    mixed,      ///< stages of `width` chips, which take part in each layer of theirs
    data,       ///< a copy of it all on each chip
  };
  Kind kind = Kind::automatic;
  std::uint32_t width = 1;
  std::uint32_t clusters = 0;  ///< of each chip, that take part; 0: by the cost model
  /// Copies of the program that take the runs in turn, each with its own states; 0: by the cost
  /// model, 1 where there are states.
  std::uint32_t copies = 0;
};
/// "auto", "pipeline", "tensor", "data" or "mixed:N"; throws ConfigError for anything else.
Partition parse_partition(const std::string& text);

struct Options {
  std::uint32_t batch = 1;   ///< samples that one run of the network stands for
  bool timing_only = false;  ///< leave the bytes of weights out of the package
  Partition partition;
};

/// What was decided, for people.
struct ShardReport {
  std::uint32_t chip = 0;
  std::string first_layer;
  std::string last_layer;
  std::uint32_t layers = 0;
  Bytes weight_bytes = 0;    ///< in DRAM
  Bytes resident_bytes = 0;  ///< of them, kept in every cluster's SRAM
  Bytes peak_sram_bytes = 0;
};
/// What a layer of the card's network asks for at least; see LayerBound in cost.h.
struct LayerReport {
  std::uint32_t chip = 0;
  double tensor_seconds = 0;
  double vector_seconds = 0;
  double dram_seconds = 0;
};
struct Report {
  std::size_t stages = 0;
  std::uint32_t chips_a_stage = 1;
  std::uint32_t replicas = 1;  ///< copies of the program
  std::uint32_t clusters = 1;  ///< of each chip, that take part
  std::vector<ShardReport> shards;
  std::vector<LayerReport> layers;  ///< of `network`
  net::Net network;                 ///< what the card computes: that compiled, cut for the chips
};

/// A package that says what it was made for and has no shards: the card does nothing of the model.
package::Package empty_package(const std::string& model, const Target& target);

/// Compiles a network: layers and parts of them over the chips, rows over the clusters of each.
/// Throws ModelError where it does not fit the target.
package::Package compile(const net::Net& network, const Target& target, const Options& options,
                         Report* report = nullptr);

}  // namespace steppe::schedule
