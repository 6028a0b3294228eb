// SPDX-License-Identifier: Apache-2.0
#include "models/queue/queue.h"

#include "models/fabric/transport.h"

namespace steppe {

Queue::Queue(sc_core::sc_module_name name, const Scope& scope, std::uint32_t chip,
             isa::QueueKind kind, SemaphoreFile& semaphores, ExecutionUnit& unit)
    : sc_module(name),
      fetcher(scope),
      context_(scope.context()),
      path_(scope.path()),
      chip_(chip),
      kind_(kind),
      semaphores_(semaphores),
      unit_(unit),
      issue_latency_(scope, "issue_latency", 5e-9, "s", "decode and issue of an instruction",
                     {0, 1e-3}),
      issue_time_(issue_latency_, sc_core::SC_SEC),
      timeline_(scope.timeline()) {
  if (timeline_ != nullptr) track_ = timeline_->add_track(path_);
  scope.stat("instructions", "", "instructions executed", instructions_);
  scope.stat("busy", "ps", "time in instructions", busy_);
  scope.stat("stall_fetch", "ps", "time without the next instruction's bytes", fetch_stall_);
  for (std::size_t i = 0; i < giver_kinds; ++i) {
    scope.stat("stall_" + std::string(giver_names[i]), "ps",
               "time waiting for a semaphore that this kind gave to in the end", stalls_[i]);
  }
  scope.stat("idle", "ps", "time without a stream", [this] {
    return static_cast<double>(idle_.value + (running() ? 0 : now_ps() - accounted_ps_));
  });
  scope.stat("unfinished", "ps", "time in a wait or an instruction that has not ended",
             [this] { return static_cast<double>(running() ? now_ps() - accounted_ps_ : 0); });
  context_.stats.on_reset([this] {
    accounted_ps_ = now_ps();
    idle_.value = 0;  // is part of a formula, so that the registry does not know it
  });
  SC_THREAD(process);
}

bool Queue::start() {
  if (running()) return false;
  account(idle_);
  status_ = QueueStatus::running;
  aborted_ = false;
  fault_ = {};
  start_event_.notify(sc_core::SC_ZERO_TIME);
  return true;
}

void Queue::abort() {
  if (!running()) return;
  aborted_ = true;
  abort_event_.notify(sc_core::SC_ZERO_TIME);
}

/// Books the time since the last call under `counter`.
void Queue::account(Counter& counter) {
  const std::uint64_t now = now_ps();
  counter += now - accounted_ps_;
  accounted_ps_ = now;
}

void Queue::process() {
  for (;;) {
    while (!running()) wait(start_event_);
    const Fault fault = run_stream();
    if (fault) {
      fault_ = {fault.code, static_cast<std::uint32_t>(offset_), tag_, fault.address};
    }
    status_ = fault ? QueueStatus::fault : aborted_ ? QueueStatus::idle : QueueStatus::done;
    if (on_stop) on_stop(*this);
  }
}

Fault Queue::run_stream() {
  fetcher.begin(stream_address, stream_bytes);
  loops_.clear();
  offset_ = 0;
  tag_ = 0;
  for (bool ended = false; !ended && !aborted_;) {
    if (offset_ >= fetcher.total()) return {FaultCode::stream_overrun};
    if (!fetcher.prefetch(offset_)) return {FaultCode::bad_address, fetcher.address() + offset_};
    const isa::Decoded decoded = isa::decode(fetcher.bytes(offset_));
    const isa::Instruction& instruction = decoded.instruction;
    tag_ = instruction.header.tag;
    if (decoded.status == isa::DecodeStatus::truncated) return {FaultCode::stream_overrun};
    if (decoded.status != isa::DecodeStatus::ok ||
        !isa::queue_takes(kind_, *isa::find_instruction(instruction.header.opcode))) {
      return {FaultCode::bad_instruction};
    }
    const std::uint64_t next = offset_ + decoded.bytes;
    if (const std::uint64_t ready = fetcher.ready_at(next); ready > now_ps()) {
      wait(from_ps(ready - now_ps()));
      account(fetch_stall_);
    }
    const std::uint64_t arrived = now_ps();
    if (!wait_for_tokens(instruction.header)) break;  // aborted
    if (timeline_ != nullptr && now_ps() > arrived) {
      timeline_->slice(track_, fmt::format("wait for {}", giver_names[stalled_by_]), arrived,
                       now_ps());
    }
    const std::uint64_t begin = now_ps();
    wait(issue_time_);
    if (const Fault fault = step(instruction, next, ended)) {
      account(busy_);
      return fault;
    }
    account(busy_);
    ++instructions_;
    if (timeline_ != nullptr) trace(begin, instruction);
    const auto giver = static_cast<Giver>(kind_);
    semaphores_.give(instruction.header.signal0, instruction.header.signal0_count, giver);
    semaphores_.give(instruction.header.signal1, instruction.header.signal1_count, giver);
  }
  return {};
}

bool Queue::wait_for_tokens(const isa::Header& header) {
  const bool same = header.wait0 == header.wait1;
  const auto ready = [&] {
    if (same && !semaphores_.holds(header.wait0, header.wait0_count + header.wait1_count)) {
      blocked_on_ = header.wait0;
      blocked_count_ = header.wait0_count + header.wait1_count;
      return false;
    }
    if (!semaphores_.holds(header.wait0, header.wait0_count)) {
      blocked_on_ = header.wait0;
      blocked_count_ = header.wait0_count;
      return false;
    }
    if (!semaphores_.holds(header.wait1, header.wait1_count)) {
      blocked_on_ = header.wait1;
      blocked_count_ = header.wait1_count;
      return false;
    }
    return true;
  };
  bool waited = false;
  while (!ready()) {
    waited = true;
    wait(semaphores_.given(blocked_on_) | abort_event_);
    if (aborted_) {
      blocked_on_ = isa::no_semaphore;
      account(idle_);
      return false;
    }
  }
  semaphores_.take(header.wait0, header.wait0_count);
  semaphores_.take(header.wait1, header.wait1_count);
  if (waited) {
    const Giver giver = semaphores_.last_giver(blocked_on_);
    blocked_on_ = isa::no_semaphore;
    wait(semaphores_.latency());
    stalled_by_ = static_cast<std::size_t>(giver);
    account(stalls_[stalled_by_]);
  }
  return true;
}

/// Executes one instruction and moves `offset_` on; leaves it in place on a fault.
Fault Queue::step(const isa::Instruction& instruction, std::uint64_t next, bool& ended) {
  const isa::Operation& operation = instruction.operation;
  if (std::holds_alternative<isa::End>(operation)) {
    if (!loops_.empty()) return {FaultCode::loop_nesting};
    ended = true;
  } else if (const auto* set = std::get_if<isa::SetBase>(&operation)) {
    base[set->reg] = set->value;
  } else if (const auto* add = std::get_if<isa::AddBase>(&operation)) {
    base[add->reg] += static_cast<std::uint64_t>(add->step);
  } else if (std::holds_alternative<isa::Loop>(operation) ||
             std::holds_alternative<isa::EndLoop>(operation)) {
    return loop_step(instruction, next);
  } else if (!std::holds_alternative<isa::Sync>(operation)) {
    if (const Fault fault = unit_.execute({instruction.header, operation, base})) return fault;
  }
  offset_ = next;
  return {};
}

/// Loop and EndLoop; a fault leaves `offset_` where it is.
Fault Queue::loop_step(const isa::Instruction& instruction, std::uint64_t next) {
  if (const auto* loop = std::get_if<isa::Loop>(&instruction.operation)) {
    if (loop->count == 0) return {FaultCode::bad_operand};
    if (loops_.size() == isa::max_loop_depth) return {FaultCode::loop_nesting};
    loops_.push_back({next, loop->count});
    offset_ = next;
    return {};
  }
  if (loops_.empty()) return {FaultCode::loop_nesting};
  if (--loops_.back().left > 0) {
    offset_ = loops_.back().body;
  } else {
    loops_.pop_back();
    offset_ = next;
  }
  return {};
}

void Queue::trace(std::uint64_t begin_ps, const isa::Instruction& instruction) {
  const std::string_view mnemonic = isa::find_instruction(instruction.header.opcode)->mnemonic;
  const std::string layer = context_.describe_tag && instruction.header.tag != 0
                                ? context_.describe_tag(chip_, instruction.header.tag)
                                : std::string{};
  timeline_->slice(track_,
                   layer.empty() ? std::string(mnemonic) : fmt::format("{} {}", mnemonic, layer),
                   begin_ps, now_ps());
}

std::span<const std::uint8_t> Queue::stream() {
  const std::uint8_t* bytes = fetcher.port.direct(stream_address, stream_bytes);
  return bytes == nullptr ? std::span<const std::uint8_t>{} : std::span(bytes, stream_bytes);
}

std::string Queue::layer(std::uint32_t tag) const {
  if (!context_.describe_tag || tag == 0) return {};
  return fmt::format(" of layer '{}'", context_.describe_tag(chip_, tag));
}

std::string Queue::describe_wait() const {
  if (blocked_on_ == isa::no_semaphore) return {};
  return fmt::format("{} waits at offset {:#x}{} for {} token(s) of semaphore {}, which holds {}",
                     path_, offset_, layer(tag_), blocked_count_, blocked_on_,
                     semaphores_.tokens(blocked_on_));
}

}  // namespace steppe
