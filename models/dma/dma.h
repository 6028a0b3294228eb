// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <systemc>
#include <vector>

#include "models/base/param.h"
#include "models/fabric/memory_port.h"
#include "models/queue/execution_unit.h"

namespace steppe {

/// Moves bytes between any two addresses, in bursts of which some are under way together.
///
/// Each burst reserves its read and its write at once (cut-through) and counts as done when both
/// are. With w bursts of b bytes under way and a round trip of t it moves at most w * b / t bytes a
/// second.
class Dma : public sc_core::sc_module, public ExecutionUnit {
 public:
  MemoryPort port;

  /// Which values move: in a timing run the command streams are real all the same, so that the DMA
  /// which brings them in moves all values that there are.
  enum class Values : std::uint8_t { by_mode, where_there_are };

  Dma(sc_core::sc_module_name name, const Scope& scope, Values values = Values::by_mode);

  /// Executes Copy and Notify.
  Fault execute(const Command& command) override;

  /// Copies one run of bytes; for callers that are no queue. Waits like execute.
  Fault copy(std::uint64_t from, std::uint64_t to, Bytes bytes);

 private:
  struct Rows {
    std::uint64_t from, to;
    Bytes bytes, from_pitch, to_pitch, count;
  };
  Fault move(const Rows& rows);
  Fault notify(std::uint64_t address, std::uint32_t value);
  Fault move_values(const Rows& rows);
  Fault burst(const Rows& rows, std::uint64_t first_row, Bytes offset, Bytes bytes);

  bool functional_;
  bool moves_values_;
  Param<Bytes> burst_bytes_;
  Param<std::uint32_t> outstanding_;
  Param<double> issue_latency_;
  std::uint64_t issue_ps_;
  std::vector<std::uint64_t> completions_;  ///< of the last bursts, a ring
  std::vector<std::uint8_t> buffer_;
  Counter bytes_;
  Counter copies_;
  Counter read_bound_;
  Counter write_bound_;
};

}  // namespace steppe
