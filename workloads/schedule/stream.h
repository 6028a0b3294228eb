// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "models/isa/isa.h"

namespace steppe::schedule {

/// Tokens of one semaphore, to wait for or to give.
struct Tokens {
  std::uint32_t semaphore = 0;
  std::uint32_t count = 1;
};

/// Builds one queue's stream. Waits and signals collect until the operation they belong to; more of
/// them than an instruction holds are put into `sync` instructions beside it.
class Stream {
 public:
  /// The next operation starts only after that.
  void wait(Tokens tokens) { waits_.push_back(tokens); }
  void add(const isa::Operation& operation, std::uint32_t tag);
  /// Given when the last operation added has ended.
  void signal(Tokens tokens);
  /// Ends the stream; every wait still open is waited for.
  void end();

  [[nodiscard]] bool empty() const { return instructions_.empty() && waits_.empty(); }
  [[nodiscard]] std::vector<std::uint8_t> encode() const;

 private:
  void flush_waits();

  std::vector<Tokens> waits_;
  std::vector<isa::Instruction> instructions_;
};

}  // namespace steppe::schedule
