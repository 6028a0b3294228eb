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

/// Builds one queue's stream: operations in order, each with any number of waits and signals. What
/// an instruction cannot hold of them goes into `sync` instructions beside it.
class Stream {
 public:
  /// Appends an operation; returns its number, from 0 on.
  std::uint32_t add(const isa::Operation& operation, std::uint32_t tag);
  /// An operation starts only after that. Waits of one operation are made in the order given.
  void wait(std::uint32_t number, Tokens tokens) { entries_.at(number).waits.push_back(tokens); }
  /// Given when the operation has ended; may be added when others stand behind it already.
  void signal(std::uint32_t number, Tokens tokens) {
    entries_.at(number).signals.push_back(tokens);
  }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }
  /// The stream as bytes, ended.
  [[nodiscard]] std::vector<std::uint8_t> encode() const;

 private:
  struct Entry {
    isa::Operation operation;
    std::uint32_t tag = 0;
    std::vector<Tokens> waits, signals;
  };
  std::vector<Entry> entries_;
};

}  // namespace steppe::schedule
