// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

#include "platform/card.h"

namespace steppe {

/// A card's description, of all cards: `chips` are those of the server, numbered card by card;
/// where cards differ, sizes and rates are the smallest.
struct ServerDescription : CardDescription {
  std::uint32_t cards = 1;
  std::uint32_t chips_of_card = 0;
  double card_link_bandwidth = 0;       ///< from a card to another, through the root complex
  double card_link_latency = 0;         ///< from chip to chip that way, seconds
  std::vector<std::string> chip_paths;  ///< of statistics, by chip: "card.chip0", "card1.chip2"
};

/// Cards on the root complex of one host.
///
/// One card is bound to the host as it is, at the path `card`. Several are `card0`, `card1`, …
/// behind a router, and reach each other through it.
class Server : public sc_core::sc_module {
 public:
  Server(sc_core::sc_module_name name, const Scope& scope);

  /// Binds the host's sockets: its memory, for what the cards read and write, and its way to them.
  template <typename Memory, typename Mmio>
  void bind(Memory& memory, Mmio& mmio) {
    if (!root_) {
      cards_.front()->to_host.bind(memory);
      mmio.bind(cards_.front()->from_host);
      return;
    }
    root_->to.bind(memory);
    mmio.bind(root_->from);
    for (const auto& card : cards_) {
      root_->to.bind(card->from_host);
      card->to_host.bind(root_->from);
    }
  }

  /// Of all cards, by number.
  [[nodiscard]] const std::vector<Chip*>& chips() const { return chips_; }
  [[nodiscard]] ServerDescription description() const;
  /// See platform/deadlock.h.
  [[nodiscard]] std::string deadlock_report() const;

 private:
  Param<std::uint32_t> card_count_;
  std::vector<std::unique_ptr<Card>> cards_;
  std::unique_ptr<PcieSwitch> root_;  ///< where there are several cards
  std::vector<Chip*> chips_;
};

}  // namespace steppe
