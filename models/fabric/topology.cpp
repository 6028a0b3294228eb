// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/topology.h"

#include <algorithm>
#include <cmath>

namespace steppe {

Topology::Topology(const std::string& kind, std::uint32_t nodes, std::uint32_t columns)
    : nodes_(nodes),
      columns_(columns != 0 ? columns
                            : static_cast<std::uint32_t>(std::ceil(std::sqrt(double(nodes))))),
      routes_(std::size_t{nodes} * nodes) {
  if (kind == "crossbar") return;
  for (std::uint32_t from = 0; from < nodes; ++from) {
    for (std::uint32_t to = 0; to < nodes; ++to) {
      for (std::uint32_t at = from; at != to;) {
        const std::uint32_t next = kind == "ring" ? next_in_ring(at, to) : next_in_mesh(at, to);
        routes_[from * nodes + to].push_back(link(at, next));
        at = next;
      }
    }
  }
}

std::uint32_t Topology::next_in_ring(std::uint32_t at, std::uint32_t to) const {
  const std::uint32_t clockwise = (to + nodes_ - at) % nodes_;
  return 2 * clockwise <= nodes_ ? (at + 1) % nodes_ : (at + nodes_ - 1) % nodes_;
}

std::uint32_t Topology::next_in_mesh(std::uint32_t at, std::uint32_t to) const {
  const std::uint32_t column = at % columns_;
  const std::uint32_t wanted = to % columns_;
  if (column < wanted && at + 1 < nodes_) return at + 1;
  if (column > wanted) return at - 1;
  return to > at ? at + columns_ : at - columns_;
}

std::uint32_t Topology::link(std::uint32_t from, std::uint32_t to) {
  const auto found =
      std::ranges::find_if(links_, [&](const Link& is) { return is.from == from && is.to == to; });
  if (found != links_.end()) return static_cast<std::uint32_t>(found - links_.begin());
  links_.push_back({from, to});
  return static_cast<std::uint32_t>(links_.size() - 1);
}

}  // namespace steppe
