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

/// A card's description, of all cards: `chips` are those of all servers, numbered card by card;
/// where cards differ, sizes and rates are the smallest.
struct ServerDescription : CardDescription {
  std::uint32_t servers = 1;
  std::uint32_t cards = 1;  ///< of all servers
  std::uint32_t chips_of_card = 0;
  double card_link_bandwidth = 0;       ///< from a card to another, through the root complex
  double card_link_latency = 0;         ///< from chip to chip that way, seconds
  double server_link_bandwidth = 0;     ///< from a server to another, through the network
  double server_link_latency = 0;       ///< from chip to chip that way, seconds
  std::vector<std::string> chip_paths;  ///< of statistics, by chip: "card.chip0", "card1.chip2"
};

/// Cards on the root complex of a host, or of several servers on a network.
///
/// One card is bound to the host as it is, at the path `card`. Several are `card0`, `card1`, …
/// behind the router of their server, and reach each other through it. Of several servers each has
/// a link to the network's router, on which the host is, too: one program drives all of them.
class Server : public sc_core::sc_module {
 public:
  Server(sc_core::sc_module_name name, const Scope& scope);

  /// Binds the host's sockets: its memory, for what the cards read and write, and its way to them.
  template <typename Memory, typename Mmio>
  void bind(Memory& memory, Mmio& mmio) {
    if (roots_.empty()) {
      cards_.front()->to_host.bind(memory);
      mmio.bind(cards_.front()->from_host);
      return;
    }
    PcieSwitch& top = network_ ? *network_ : *roots_.front();
    top.to.bind(memory);
    mmio.bind(top.from);
    bind_servers();
  }

  /// Of all cards, by number.
  [[nodiscard]] const std::vector<Chip*>& chips() const { return chips_; }
  [[nodiscard]] ServerDescription description() const;
  /// See platform/deadlock.h.
  [[nodiscard]] std::string deadlock_report() const;

 private:
  void add_cards(const Scope& scope);
  void bind_servers();

  Param<std::uint32_t> server_count_;
  Param<std::uint32_t> card_count_;  ///< of a server
  std::vector<std::unique_ptr<Card>> cards_;
  std::vector<std::unique_ptr<PcieSwitch>> roots_;  ///< by server, where there are several cards
  std::vector<std::unique_ptr<ChipLink>> nics_;     ///< by server, where there are several
  std::unique_ptr<PcieSwitch> network_;
  std::vector<Chip*> chips_;
};

}  // namespace steppe
