// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <systemc>
#include <vector>

#include "models/base/param.h"
#include "models/isa/isa.h"

namespace steppe {

/// Who gave tokens to a semaphore: a queue of the chip by its kind, or a register write from
/// elsewhere.
enum class Giver : std::uint8_t { load, store, tensor, vector, link_send, link_receive, remote };
inline constexpr std::size_t giver_kinds = 7;
inline constexpr std::array<std::string_view, giver_kinds> giver_names{
    "load", "store", "tensor", "vector", "link_send", "link_receive", "remote"};

/// The counting semaphores of a chip.
class SemaphoreFile : public sc_core::sc_module {
 public:
  static constexpr std::uint32_t count = isa::no_semaphore;

  SemaphoreFile(sc_core::sc_module_name name, const Scope& scope);

  /// Takes `tokens` if that many are there.
  [[nodiscard]] bool holds(std::uint32_t id, std::uint32_t tokens) const {
    return id == isa::no_semaphore || tokens_[id] >= tokens;
  }
  void take(std::uint32_t id, std::uint32_t tokens);
  void give(std::uint32_t id, std::uint32_t tokens, Giver giver);
  /// Empties all.
  void reset();

  [[nodiscard]] std::uint64_t tokens(std::uint32_t id) const { return tokens_[id]; }
  [[nodiscard]] Giver last_giver(std::uint32_t id) const { return last_giver_[id]; }
  /// Notified whenever the semaphore gets tokens.
  sc_core::sc_event& given(std::uint32_t id) { return events_[id]; }
  /// From a signal to the start of who waited for it.
  [[nodiscard]] const sc_core::sc_time& latency() const { return latency_; }

 private:
  Param<double> latency_param_;
  sc_core::sc_time latency_;
  std::vector<std::uint64_t> tokens_;
  std::vector<Giver> last_giver_;
  std::vector<sc_core::sc_event> events_;
  Counter gives_;
};

}  // namespace steppe
