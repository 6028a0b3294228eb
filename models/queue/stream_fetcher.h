// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <systemc>
#include <vector>

#include "models/base/param.h"
#include "models/fabric/memory_port.h"

namespace steppe {

/// Brings a stream's bytes in ahead of their use. They are read for real in both modes. What has
/// been fetched stays until the stream ends, so that loops run from the buffer.
class StreamFetcher {
 public:
  MemoryPort port;

  explicit StreamFetcher(const Scope& scope);

  void begin(std::uint64_t address, Bytes bytes);
  /// Asks for what lies up to a prefetch distance behind `offset`; false on an address error.
  [[nodiscard]] bool prefetch(std::uint64_t offset);
  /// When the bytes before `end` are there, in picoseconds; they have been asked for.
  [[nodiscard]] std::uint64_t ready_at(std::uint64_t end) const;
  /// What has been asked for from `offset` on.
  [[nodiscard]] std::span<const std::uint8_t> bytes(std::uint64_t offset) const;
  [[nodiscard]] Bytes total() const { return total_; }
  [[nodiscard]] std::uint64_t address() const { return address_; }

 private:
  struct Chunk {
    std::uint64_t end;
    std::uint64_t ready_ps;
  };
  Param<Bytes> chunk_bytes_;
  Param<Bytes> prefetch_bytes_;
  std::uint64_t address_ = 0;
  Bytes total_ = 0;
  std::vector<std::uint8_t> buffer_;
  std::deque<Chunk> chunks_;
};

}  // namespace steppe
