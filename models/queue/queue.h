// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <systemc>
#include <vector>

#include "models/base/param.h"
#include "models/isa/isa.h"
#include "models/queue/execution_unit.h"
#include "models/queue/semaphore_file.h"
#include "models/queue/stream_fetcher.h"

namespace steppe {

enum class QueueStatus : std::uint32_t { idle = 0, running = 1, done = 2, fault = 3 };

/// Where and why a queue stopped.
struct FaultRecord {
  FaultCode code = FaultCode::none;
  std::uint32_t offset = 0;  ///< of the instruction in its stream
  std::uint32_t tag = 0;
  std::uint64_t address = 0;
};

/// An in-order instruction queue: fetches a stream, waits and signals semaphores, and has its unit
/// execute what it does not execute itself (end, sync, loops, base registers).
///
/// Its time adds up: busy + stalls by cause + idle + unfinished = time since the start of the
/// simulation, or since the statistics were reset.
class Queue : public sc_core::sc_module {
 public:
  StreamFetcher fetcher;

  SC_HAS_PROCESS(Queue);
  Queue(sc_core::sc_module_name name, const Scope& scope, std::uint32_t chip, isa::QueueKind kind,
        SemaphoreFile& semaphores, ExecutionUnit& unit);

  // The registers that models/control maps.
  std::uint64_t stream_address = 0;
  std::uint32_t stream_bytes = 0;
  std::array<std::uint64_t, isa::base_registers> base{};
  [[nodiscard]] QueueStatus status() const { return status_; }
  [[nodiscard]] const FaultRecord& fault() const { return fault_; }
  /// Starts the stream; false while one is running.
  bool start();
  /// Stops at the next instruction, or at once while waiting for a semaphore.
  void abort();
  /// Called in the queue's process when a stream has ended, faulted or was aborted.
  std::function<void(Queue&)> on_stop;

  [[nodiscard]] std::uint32_t chip() const { return chip_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t busy_ps() const { return busy_.value; }
  /// The bytes of the stream; empty where they lie in no direct memory.
  [[nodiscard]] std::span<const std::uint8_t> stream();
  /// From where on the stream is still to run: the instruction at hand, or the outermost open loop.
  [[nodiscard]] std::uint64_t left_from() const {
    return loops_.empty() ? offset_ : loops_.front().body;
  }
  /// The semaphore it waits for; isa::no_semaphore where for none.
  [[nodiscard]] std::uint32_t waits_for() const { return blocked_on_; }
  /// " of layer '…'" for the layer of a debug tag; empty where it is not known.
  [[nodiscard]] std::string layer(std::uint32_t tag) const;
  /// What it waits for, for people; empty unless it waits for a semaphore.
  [[nodiscard]] std::string describe_wait() const;

 private:
  [[nodiscard]] bool running() const { return status_ == QueueStatus::running; }
  void process();
  Fault run_stream();
  bool wait_for_tokens(const isa::Header& header);
  Fault step(const isa::Instruction& instruction, std::uint64_t next, bool& ended);
  Fault loop_step(const isa::Instruction& instruction, std::uint64_t next);
  void account(Counter& counter);
  void trace(std::uint64_t begin_ps, const isa::Instruction& instruction);

  struct LoopLevel {
    std::uint64_t body;
    std::uint32_t left;
  };

  SimContext& context_;
  std::string path_;
  std::uint32_t chip_;
  isa::QueueKind kind_;
  SemaphoreFile& semaphores_;
  ExecutionUnit& unit_;
  Param<double> issue_latency_;
  sc_core::sc_time issue_time_;
  Timeline* timeline_;
  Timeline::Track track_ = 0;

  QueueStatus status_ = QueueStatus::idle;
  FaultRecord fault_;
  sc_core::sc_event start_event_;
  sc_core::sc_event abort_event_;
  bool aborted_ = false;
  std::uint64_t offset_ = 0;  ///< of the instruction at hand
  std::uint32_t tag_ = 0;
  std::uint32_t blocked_on_ = isa::no_semaphore;
  std::uint32_t blocked_count_ = 0;
  std::size_t stalled_by_ = 0;  ///< giver of the last wait
  std::vector<LoopLevel> loops_;

  std::uint64_t accounted_ps_ = 0;
  Counter busy_;
  Counter idle_;
  Counter fetch_stall_;
  std::array<Counter, giver_kinds> stalls_;
  Counter instructions_;
};

}  // namespace steppe
