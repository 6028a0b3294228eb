// SPDX-License-Identifier: Apache-2.0
#include "models/dma/dma.h"

#include <algorithm>
#include <cstring>

#include "models/base/address.h"
#include "models/fabric/transport.h"

namespace steppe {
namespace {

/// A run that is copied through a buffer of ours, where a side has no direct memory, is cut to
/// this.
constexpr Bytes largest_real_transfer = 65536;

}  // namespace

Dma::Dma(sc_core::sc_module_name name, const Scope& scope, Values values)
    : sc_module(name),
      port("port"),
      functional_(scope.functional()),
      moves_values_(functional_ || values == Values::where_there_are),
      burst_bytes_(scope, "burst_bytes", 4096, "B", "bytes of a burst", {64, 1 << 20}),
      outstanding_(scope, "outstanding", 8, "", "bursts under way together", {1, 1024}),
      issue_latency_(scope, "issue_latency", 20e-9, "s", "from instruction to first burst",
                     {0, 1e-3}),
      issue_ps_(seconds_to_ps(issue_latency_)) {
  scope.stat("bytes", "B", "bytes moved", bytes_);
  scope.stat("copies", "", "copies executed", copies_);
  scope.stat("read_bound", "ps", "time by which reads held up bursts beyond their writes",
             read_bound_);
  scope.stat("write_bound", "ps", "time by which writes held up bursts beyond their reads",
             write_bound_);
}

Fault Dma::execute(const Command& command) {
  if (const auto* copy = std::get_if<isa::Copy>(&command.operation)) {
    if (copy->rows == 0 || copy->row_bytes == 0) return {FaultCode::bad_operand};
    return move({command.address(copy->src_base, copy->src_offset),
                 command.address(copy->dst_base, copy->dst_offset), copy->row_bytes,
                 copy->src_pitch, copy->dst_pitch, copy->rows});
  }
  if (const auto* notify_op = std::get_if<isa::Notify>(&command.operation)) {
    return notify(command.address(notify_op->dst_base, notify_op->dst_offset), notify_op->value);
  }
  return {FaultCode::bad_instruction};
}

Fault Dma::copy(std::uint64_t from, std::uint64_t to, Bytes bytes) {
  if (bytes == 0) return {};
  return move({from, to, bytes, bytes, bytes, 1});
}

Fault Dma::notify(std::uint64_t address, std::uint32_t value) {
  // Targets apply a value when they are called, whatever the delay: the way is taken first, so that
  // nobody sees the value before it could have arrived.
  sc_core::sc_time delay = from_ps(issue_ps_);
  if (!port.reserve(tlm::TLM_WRITE_COMMAND, address, sizeof value, delay)) {
    return {FaultCode::bad_address, address};
  }
  sc_core::wait(delay);
  sc_core::sc_time ignored;
  if (!port.write(address, &value, sizeof value, ignored)) return {FaultCode::bad_address, address};
  return {};
}

/// One burst: whole rows from `first_row` on, or a piece of one row.
Fault Dma::burst(const Rows& rows, std::uint64_t first_row, Bytes offset, Bytes bytes) {
  const std::uint64_t from = rows.from + first_row * rows.from_pitch + offset;
  const std::uint64_t to = rows.to + first_row * rows.to_pitch + offset;
  sc_core::sc_time read = sc_core::SC_ZERO_TIME;
  sc_core::sc_time write = sc_core::SC_ZERO_TIME;
  if (!port.reserve(tlm::TLM_READ_COMMAND, from, bytes, read))
    return {FaultCode::bad_address, from};
  if (!port.reserve(tlm::TLM_WRITE_COMMAND, to, bytes, write)) return {FaultCode::bad_address, to};
  if (read > write) read_bound_ += to_ps(read - write);
  if (write > read) write_bound_ += to_ps(write - read);
  completions_.push_back(now_ps() + to_ps(std::max(read, write)));
  return {};
}

Fault Dma::move(const Rows& given) {
  Rows rows = given;
  const bool contiguous = rows.from_pitch == rows.bytes && rows.to_pitch == rows.bytes;
  if (contiguous || rows.count == 1) {
    rows.bytes *= rows.count;
    rows.from_pitch = rows.to_pitch = rows.bytes;
    rows.count = 1;
  }
  // Both ends of both sides, so that a copy that leaves its target faults before it moves anything.
  const std::uint64_t last_from = rows.from + (rows.count - 1) * rows.from_pitch + rows.bytes - 1;
  const std::uint64_t last_to = rows.to + (rows.count - 1) * rows.to_pitch + rows.bytes - 1;
  for (const auto& [command, address] :
       {std::pair{tlm::TLM_READ_COMMAND, last_from}, std::pair{tlm::TLM_WRITE_COMMAND, last_to}}) {
    sc_core::sc_time ignored;
    if (!port.reserve(command, address, 0, ignored)) return {FaultCode::bad_address, address};
  }
  ++copies_;
  sc_core::wait(from_ps(issue_ps_));

  completions_.clear();
  // Rows that overlap are not gathered: together they are longer than the range they lie in.
  const bool apart = rows.from_pitch >= rows.bytes && rows.to_pitch >= rows.bytes;
  const Bytes rows_a_burst = apart ? std::max<Bytes>(1, burst_bytes_ / rows.bytes) : 1;
  for (Bytes row = 0; row < rows.count; row += rows_a_burst) {
    const Bytes some = std::min(rows_a_burst, rows.count - row);
    const Bytes whole = some * rows.bytes;
    for (Bytes offset = 0; offset < whole; offset += burst_bytes_) {
      if (completions_.size() >= outstanding_) {
        const std::uint64_t free_at = completions_[completions_.size() - outstanding_];
        if (free_at > now_ps()) sc_core::wait(from_ps(free_at - now_ps()));
      }
      const Bytes bytes = std::min<Bytes>(burst_bytes_, whole - offset);
      if (const Fault fault = burst(rows, row, some == 1 ? offset : 0, bytes)) return fault;
      bytes_ += bytes;
    }
  }
  if (const Fault fault = move_values(rows)) return fault;
  const std::uint64_t end = std::ranges::max(completions_);
  if (end > now_ps()) sc_core::wait(from_ps(end - now_ps()));
  return {};
}

/// The bytes themselves: by direct pointers where both sides have them, else through a buffer.
Fault Dma::move_values(const Rows& rows) {
  if (!moves_values_) return {};
  for (Bytes row = 0; row < rows.count; ++row) {
    const std::uint64_t from = rows.from + row * rows.from_pitch;
    const std::uint64_t to = rows.to + row * rows.to_pitch;
    const std::uint8_t* source = port.direct(from, rows.bytes);
    if (const std::uint32_t clusters = address::group_size(to);
        clusters != 0 && source != nullptr) {
      for (std::uint32_t cluster = 0; cluster < clusters; ++cluster) {
        std::uint8_t* sink =
            port.direct(address::group_member(to, cluster), rows.bytes, tlm::TLM_WRITE_COMMAND);
        if (sink != nullptr) std::memmove(sink, source, rows.bytes);
      }
      continue;
    }
    std::uint8_t* sink = port.direct(to, rows.bytes, tlm::TLM_WRITE_COMMAND);
    if (source != nullptr && sink != nullptr) {
      std::memmove(sink, source, rows.bytes);
      continue;
    }
    if (!functional_) continue;  // what has no direct memory in a timing run has no contents
    buffer_.resize(std::min(rows.bytes, largest_real_transfer));
    for (Bytes at = 0; at < rows.bytes; at += buffer_.size()) {
      const Bytes bytes = std::min<Bytes>(buffer_.size(), rows.bytes - at);
      sc_core::sc_time ignored;  // the bursts have taken the time already
      if (!port.read(from + at, buffer_.data(), bytes, ignored))
        return {FaultCode::bad_address, from};
      if (!port.write(to + at, buffer_.data(), bytes, ignored)) return {FaultCode::bad_address, to};
    }
  }
  return {};
}

}  // namespace steppe
