// SPDX-License-Identifier: Apache-2.0
#include "platform/card.h"

#include <algorithm>
#include <limits>

#include "models/base/error.h"

namespace steppe {

Card::Card(sc_core::sc_module_name name, const Scope& scope, std::uint32_t first_chip)
    : sc_module(name),
      to_host("to_host"),
      from_host("from_host"),
      chip_count_(scope, "chips", 1, "", "chips on the card", {1, 4}),
      direct_links_(scope, "direct_links", false,
                    "a link between every two chips, beside the switch"),
      pcie_("pcie", scope.child("pcie")),
      switch_("switch", scope.child("switch"), first_chip) {
  from_host.bind(pcie_.a_in);
  pcie_.a_out.bind(to_host);
  // Port 0 of the switch is the host.
  pcie_.b_out.bind(switch_.from);
  switch_.to.bind(pcie_.b_in);
  for (std::uint32_t i = 0; i < chip_count_; ++i) {
    chips_.push_back(std::make_unique<Chip>(("chip" + std::to_string(i)).c_str(),
                                            scope.child("chip", i), first_chip + i));
    chips_.back()->pcie.a_out.bind(switch_.from);
    switch_.to.bind(chips_.back()->pcie.a_in);
  }
  for (std::size_t i = 0; i < chips_.size(); ++i) {
    if (chips_[i]->clusters.size() == chips_.front()->clusters.size()) continue;
    throw ConfigError(
        "{0}.chip{1}.clusters is {2}, {0}.chip0.clusters {3}; clusters may differ from each other, "
        "but all chips have the same number",
        scope.path(), i, chips_[i]->clusters.size(), chips_.front()->clusters.size());
  }
  if (direct_links_) add_direct_links(scope, first_chip);
}

void Card::add_direct_links(const Scope& scope, std::uint32_t first_chip) {
  for (std::uint32_t a = 0; a < chip_count_; ++a) {
    for (std::uint32_t b = a + 1; b < chip_count_; ++b) {
      const std::string name = "link" + std::to_string(a) + std::to_string(b);
      links_.push_back(std::make_unique<ChipLink>(name.c_str(), scope.child(name)));
      chips_[a]->attach_link(first_chip + b, links_.back()->a_in, links_.back()->a_out);
      chips_[b]->attach_link(first_chip + a, links_.back()->b_in, links_.back()->b_out);
    }
  }
}

void CardDescription::include(const Chip& chip) {
  dram_bytes = std::min(dram_bytes, chip.dram.size());
  dram_bandwidth = std::min(dram_bandwidth, chip.dram.peak_bandwidth());
  for (const auto& cluster : chip.clusters) {
    sram_bytes = std::min(sram_bytes, cluster->sram.size());
    vector_lanes = std::min(vector_lanes, cluster->vector.lanes());
    special_lanes = std::min(special_lanes, cluster->vector.special_lanes());
    permute_bytes = std::min(permute_bytes, cluster->vector.permute_bytes());
    const EngineShape& shape = cluster->tensor.shape();
    const double rate = cluster->tensor.clock() * shape.engines * shape.lanes * shape.columns;
    if (rate >= clock_hz * engines * lanes * columns && engines != 0) continue;
    engines = shape.engines;
    lanes = shape.lanes;
    columns = shape.columns;
    clock_hz = cluster->tensor.clock();
    bf16_cycles = shape.bf16_cycles;
  }
}

CardDescription Card::description() const {
  const Chip& chip = *chips_.front();
  CardDescription is;
  is.chips = chip_count_;
  is.clusters = static_cast<std::uint32_t>(chip.clusters.size());
  is.sram_bytes = is.dram_bytes = ~Bytes{0};
  is.vector_lanes = is.special_lanes = is.permute_bytes = is.dram_bandwidth =
      std::numeric_limits<double>::infinity();
  for (const auto& each : chips_) is.include(*each);
  is.noc_port_bandwidth = chip.noc.port_bandwidth();
  is.host_bandwidth = pcie_.payload_bandwidth();
  is.pcie_bandwidth = chip.pcie.payload_bandwidth();
  is.direct_links = direct_links_;
  is.chip_link_bandwidth = links_.empty() ? is.pcie_bandwidth : links_.front()->payload_bandwidth();
  is.chip_link_latency =
      links_.empty() ? 2 * chip.pcie.latency() + switch_.latency() : links_.front()->latency();
  return is;
}

double Card::way_out() const {
  return chips_.front()->pcie.latency() + switch_.latency() + pcie_.latency();
}

}  // namespace steppe
