// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <systemc>
#include <utility>
#include <vector>

#include "models/base/param.h"
#include "sim/host/host.h"
#include "workloads/package/package.h"

namespace steppe::sim {

/// One command to a chip, as its firmware reads it from the ring.
struct Submission {
  std::uint32_t opcode = 0;
  std::uint32_t command_id = 0;
  std::array<std::uint64_t, 5> argument{};
  std::array<std::uint64_t, 2> zero{};
};

/// What firmware writes back.
struct Completion {
  std::uint32_t command_id = 0;
  std::uint32_t status = 0;
  std::uint32_t sequence = 0;
  std::uint32_t fault_queue = 0;
  std::uint32_t fault_code = 0;
  std::uint32_t fault_tag = 0;
  std::uint64_t fault_address = 0;
};

/// The rings of one chip: submits commands and hands completions on as they come.
class ChipRings {
 public:
  ChipRings(Host& host, std::uint32_t chip, std::uint32_t entries);

  /// Waits for the firmware and tells it where its rings are. In a SystemC process.
  void start();
  /// Puts a command into the ring, waiting for room, and rings the doorbell. Returns its id.
  std::uint32_t submit(std::uint32_t opcode, const std::array<std::uint64_t, 5>& arguments);
  /// Waits until the command of that id, and so all before it, has completed. Throws MachineError
  /// with `explain`'s words where one failed.
  void wait_for(std::uint32_t command_id);

  /// Makes a failure's text from the chip's number and its completion.
  std::function<std::string(std::uint32_t chip, const Completion&)> explain;

 private:
  std::uint32_t read(std::uint32_t reg);
  void write(std::uint32_t reg, std::uint32_t value);
  void take_completions();

  Host& host_;
  std::uint32_t chip_;
  std::uint32_t entries_;
  std::uint64_t submissions_at_;
  std::uint64_t completions_at_;
  std::uint64_t vector_;
  std::uint32_t submitted_ = 0;
  std::uint32_t completed_ = 0;
  sc_core::sc_event message_;
};

struct RuntimeParams {
  explicit RuntimeParams(const Scope& scope);
  Param<std::uint32_t> ring_entries;
  Param<std::uint32_t> runs_in_flight;
};

/// Loads a package into a card and runs it: what the vendor's runtime library does.
///
/// All functions wait and are to be called in one SystemC process. Failures of the card are
/// MachineErrors.
class Runtime {
 public:
  /// `dram_bytes`: of a chip. Where it has room behind what the package uses, inputs are copied
  /// there ahead of their run.
  Runtime(Host& host, const RuntimeParams& params, const package::Package& package,
          Bytes dram_bytes, bool functional);

  /// Boots, copies the segments, loads the programs, runs the init program.
  void load();

  /// Where the input block of the next run is to be filled in, and where the output block of a run
  /// can be read once it has ended; null in timing mode.
  std::uint8_t* input_block(std::uint64_t run);
  const std::uint8_t* output_block(std::uint64_t run);

  /// Submits a run to the chips of the next copy.
  void submit(std::uint64_t run);
  /// Waits until it has ended.
  void finish(std::uint64_t run);
  [[nodiscard]] std::uint64_t runs_in_flight() const { return slots_.size(); }

 private:
  struct Slot {
    std::uint64_t input = 0;
    std::uint64_t output = 0;
    std::vector<std::uint32_t> commands;  ///< by part
  };
  /// One chip's part of one copy of the program.
  struct Part {
    const package::Shard* shard = nullptr;
    std::uint32_t moved = 0;  ///< chips from where the shard says
    bool reads_input = false;
    std::unique_ptr<ChipRings> rings;
  };
  void load_part(Part& part);
  std::uint32_t load_program(Part& part, const package::Program& program, std::uint32_t slot);
  /// The parts that do a run: [first, last).
  [[nodiscard]] std::pair<std::size_t, std::size_t> parts_of(std::uint64_t run) const;
  std::string explain(std::uint32_t chip, const Completion& completion) const;

  Host& host_;
  const package::Package& package_;
  bool functional_;
  Bytes staged_bytes_ = 0;                  ///< of input copied ahead
  std::array<std::uint64_t, 2> staging_{};  ///< where to, in DRAM, for runs in turn
  std::vector<Part> parts_;                 ///< copy by copy
  std::vector<Slot> slots_;
};

}  // namespace steppe::sim
