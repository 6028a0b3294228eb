// SPDX-License-Identifier: Apache-2.0
#include "platform/server.h"

#include <algorithm>

#include "models/base/error.h"
#include "platform/deadlock.h"

namespace steppe {

Server::Server(sc_core::sc_module_name name, const Scope& scope)
    : sc_module(name),
      server_count_(scope.child("network"), "servers", 1, "", "servers on the network", {1, 16}),
      card_count_(scope.child("server"), "cards", 1, "", "cards in a server", {1, 16}) {
  add_cards(scope);
  if (cards_.size() == 1) return;
  const auto each = static_cast<std::uint32_t>(cards_.front()->chips().size());
  for (std::uint32_t i = 0; i < server_count_; ++i) {
    const bool several = server_count_ > 1;
    const Scope place = several ? scope.child("server", i) : scope.child("server");
    const std::string root = several ? "root" + std::to_string(i) : "root";
    roots_.push_back(std::make_unique<PcieSwitch>(root.c_str(), place.child("root"),
                                                  i * card_count_ * each, each));
    if (!several) return;
    // 100 Gb/s, and some microseconds there and back.
    constexpr ChipLinkDefaults nic{.bandwidth = 12.5e9, .latency = 1e-6};
    nics_.push_back(
        std::make_unique<ChipLink>(("nic" + std::to_string(i)).c_str(), place.child("nic"), nic));
  }
  network_ = std::make_unique<PcieSwitch>("network", scope.child("network"), 0, card_count_ * each);
}

void Server::add_cards(const Scope& scope) {
  const std::uint32_t count = server_count_ * card_count_;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Scope place = count > 1 ? scope.child("card", i) : scope.child("card");
    const auto first = static_cast<std::uint32_t>(chips_.size());
    cards_.push_back(std::make_unique<Card>(place.path().c_str(), place, first));
    for (const auto& chip : cards_.back()->chips()) chips_.push_back(chip.get());
    if (chips_.size() != (i + 1) * cards_.front()->chips().size() ||
        chips_.back()->clusters.size() != chips_.front()->clusters.size()) {
      throw ConfigError("{0}: it has other chips or clusters than card0; all cards have the same",
                        place.path());
    }
    // Chips are named by 8 bits, of which 0 is the own one.
    if (chips_.size() > 254) {
      throw ConfigError("{} cards of {} chips: at most 254 chips are right", count,
                        cards_.front()->chips().size());
    }
  }
}

void Server::bind_servers() {
  for (std::size_t server = 0; server < roots_.size(); ++server) {
    PcieSwitch& root = *roots_[server];
    if (network_) {  // end a of a link is the network
      ChipLink& nic = *nics_[server];
      network_->to.bind(nic.a_in);
      nic.a_out.bind(network_->from);
      root.to.bind(nic.b_in);
      nic.b_out.bind(root.from);
    }
    for (std::size_t i = 0; i < card_count_; ++i) {
      Card& card = *cards_[server * card_count_ + i];
      root.to.bind(card.from_host);
      card.to_host.bind(root.from);
    }
  }
}

ServerDescription Server::description() const {
  ServerDescription is{cards_.front()->description()};
  is.servers = server_count_;
  is.cards = static_cast<std::uint32_t>(cards_.size());
  is.chips_of_card = is.chips;
  for (const auto& card : cards_) {
    const CardDescription other = card->description();
    is.host_bandwidth = std::min(is.host_bandwidth, other.host_bandwidth);
    is.chip_link_bandwidth = std::min(is.chip_link_bandwidth, other.chip_link_bandwidth);
    is.chip_link_latency = std::max(is.chip_link_latency, other.chip_link_latency);
    for (std::uint32_t chip = 0; chip < other.chips; ++chip) {
      is.chip_paths.push_back(std::string(card->basename()) + ".chip" + std::to_string(chip));
    }
  }
  for (const Chip* chip : chips_) is.include(*chip);
  is.chips = static_cast<std::uint32_t>(chips_.size());
  is.card_link_bandwidth = std::min(is.pcie_bandwidth, is.host_bandwidth);
  if (!roots_.empty()) {
    const double way_out = cards_.front()->way_out() + roots_.front()->latency();
    is.card_link_latency = 2 * way_out - roots_.front()->latency();
    if (network_) {
      is.server_link_bandwidth =
          std::min(is.card_link_bandwidth, nics_.front()->payload_bandwidth());
      is.server_link_latency = 2 * (way_out + nics_.front()->latency()) + network_->latency();
    }
  }
  return is;
}

std::string Server::deadlock_report() const {
  std::vector<Queue*> queues;
  for (const Chip* chip : chips_) {
    queues.insert(queues.end(), chip->queues().begin(), chip->queues().end());
  }
  return steppe::deadlock_report(queues);
}

}  // namespace steppe
