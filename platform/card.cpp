// SPDX-License-Identifier: Apache-2.0
#include "platform/card.h"

#include "platform/deadlock.h"

namespace steppe {

Card::Card(sc_core::sc_module_name name, const Scope& scope)
    : sc_module(name),
      to_host("to_host"),
      from_host("from_host"),
      chip_count_(scope, "chips", 1, "", "chips on the card", {1, 4}),
      direct_links_(scope, "direct_links", false,
                    "a link between every two chips, beside the switch"),
      pcie_("pcie", scope.child("pcie")),
      switch_("switch", scope.child("switch")) {
  from_host.bind(pcie_.a_in);
  pcie_.a_out.bind(to_host);
  // Port 0 of the switch is the host.
  pcie_.b_out.bind(switch_.from);
  switch_.to.bind(pcie_.b_in);
  for (std::uint32_t i = 0; i < chip_count_; ++i) {
    chips_.push_back(
        std::make_unique<Chip>(("chip" + std::to_string(i)).c_str(), scope.child("chip", i), i));
    chips_.back()->pcie.a_out.bind(switch_.from);
    switch_.to.bind(chips_.back()->pcie.a_in);
  }
  if (direct_links_) add_direct_links(scope);
}

void Card::add_direct_links(const Scope& scope) {
  for (std::uint32_t a = 0; a < chip_count_; ++a) {
    for (std::uint32_t b = a + 1; b < chip_count_; ++b) {
      const std::string name = "link" + std::to_string(a) + std::to_string(b);
      links_.push_back(std::make_unique<ChipLink>(name.c_str(), scope.child(name)));
      chips_[a]->attach_link(b, links_.back()->a_in, links_.back()->a_out);
      chips_[b]->attach_link(a, links_.back()->b_in, links_.back()->b_out);
    }
  }
}

CardDescription Card::description() const {
  const Chip& chip = *chips_.front();
  const Cluster& cluster = *chip.clusters.front();
  const EngineShape& shape = cluster.tensor.shape();
  CardDescription is;
  is.chips = chip_count_;
  is.clusters = static_cast<std::uint32_t>(chip.clusters.size());
  is.sram_bytes = cluster.sram.size();
  is.dram_bytes = chip.dram.size();
  is.engines = shape.engines;
  is.lanes = shape.lanes;
  is.columns = shape.columns;
  is.clock_hz = cluster.tensor.clock();
  is.vector_lanes = cluster.vector.lanes();
  is.dram_bandwidth = chip.dram.peak_bandwidth();
  is.noc_port_bandwidth = chip.noc.port_bandwidth();
  is.host_bandwidth = pcie_.payload_bandwidth();
  is.pcie_bandwidth = chip.pcie.payload_bandwidth();
  is.direct_links = direct_links_;
  is.chip_link_bandwidth = links_.empty() ? is.pcie_bandwidth : links_.front()->payload_bandwidth();
  return is;
}

std::string Card::deadlock_report() const {
  std::vector<Queue*> queues;
  for (const auto& chip : chips_)
    queues.insert(queues.end(), chip->queues().begin(), chip->queues().end());
  return steppe::deadlock_report(queues);
}

}  // namespace steppe
