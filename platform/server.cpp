// SPDX-License-Identifier: Apache-2.0
#include "platform/server.h"

#include <algorithm>

#include "models/base/error.h"
#include "platform/deadlock.h"

namespace steppe {

Server::Server(sc_core::sc_module_name name, const Scope& scope)
    : sc_module(name),
      card_count_(scope.child("server"), "cards", 1, "", "cards in the server", {1, 16}) {
  const bool several = card_count_ > 1;
  for (std::uint32_t i = 0; i < card_count_; ++i) {
    const Scope place = several ? scope.child("card", i) : scope.child("card");
    const auto first = static_cast<std::uint32_t>(chips_.size());
    cards_.push_back(std::make_unique<Card>(place.path().c_str(), place, first));
    for (const auto& chip : cards_.back()->chips()) chips_.push_back(chip.get());
    if (chips_.size() != (i + 1) * cards_.front()->chips().size() ||
        chips_.back()->clusters.size() != chips_.front()->clusters.size()) {
      throw ConfigError("{0}: it has other chips or clusters than card0; all cards have the same",
                        place.path());
    }
  }
  if (!several) return;
  const auto each = static_cast<std::uint32_t>(cards_.front()->chips().size());
  root_ = std::make_unique<PcieSwitch>("root", scope.child("server").child("root"), 0, each);
}

ServerDescription Server::description() const {
  ServerDescription is{cards_.front()->description()};
  is.cards = card_count_;
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
  if (root_) is.card_link_latency = 2 * cards_.front()->way_out() + root_->latency();
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
