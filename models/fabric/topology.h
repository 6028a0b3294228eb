// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace steppe {

/// Nodes, the directed links between neighbours, and the way from each node to each.
///
/// crossbar: every node a hop from every other, no links. ring: neighbours both ways round; the
/// shorter way, clockwise between equals. mesh: rows of `columns` nodes, the last may be shorter;
/// along the row first, then along the column (XY), which cannot deadlock; where the row of the
/// source has no such column, along the column first.
class Topology {
 public:
  struct Link {
    std::uint32_t from;
    std::uint32_t to;
  };

  /// `columns` 0: as square as can be.
  Topology(const std::string& kind, std::uint32_t nodes, std::uint32_t columns);

  [[nodiscard]] const std::vector<Link>& links() const { return links_; }
  /// Indices of the links on the way; empty in a crossbar and from a node to itself.
  [[nodiscard]] const std::vector<std::uint32_t>& route(std::uint32_t from,
                                                        std::uint32_t to) const {
    return routes_[from * nodes_ + to];
  }
  /// Hops on the way, at least one: a node's own router is passed too.
  [[nodiscard]] std::uint32_t hops(std::uint32_t from, std::uint32_t to) const {
    const auto links = static_cast<std::uint32_t>(route(from, to).size());
    return links == 0 ? 1 : links;
  }

 private:
  [[nodiscard]] std::uint32_t next_in_ring(std::uint32_t at, std::uint32_t to) const;
  [[nodiscard]] std::uint32_t next_in_mesh(std::uint32_t at, std::uint32_t to) const;
  std::uint32_t link(std::uint32_t from, std::uint32_t to);

  std::uint32_t nodes_;
  std::uint32_t columns_;
  std::vector<Link> links_;  ///< those that some route uses
  std::vector<std::vector<std::uint32_t>> routes_;
};

}  // namespace steppe
