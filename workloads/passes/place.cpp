// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/place.h"

#include <algorithm>
#include <optional>

#include "workloads/graph/cost.h"
#include "workloads/operators/host.h"
#include "workloads/passes/fuse.h"
#include "workloads/passes/layout.h"

namespace steppe::passes {
namespace {

using graph::Graph;
using graph::Node;
using graph::Value;
using graph::ValueId;

enum class Part : std::uint8_t { before, card, after };

/// The nodes of one part with the values they touch, renumbered; nodes keep their order.
class Extraction {
 public:
  explicit Extraction(const Graph& from) : from_(from), renumbered_(from.values.size()) {
    to_.name = from.name;
  }

  void add_node(std::size_t index) {
    Node node = from_.nodes[index];
    for (ValueId& id : node.inputs) id = id == graph::no_value ? id : take(id);
    for (ValueId& id : node.outputs) id = take(id);
    to_.nodes.push_back(std::move(node));
  }
  void add_input(ValueId id) { to_.inputs.push_back(take(id)); }
  void add_output(ValueId id) { to_.outputs.push_back(take(id)); }
  Graph result() { return std::move(to_); }

 private:
  ValueId take(ValueId id) {
    if (!renumbered_[id]) {
      renumbered_[id] = static_cast<ValueId>(to_.values.size());
      to_.values.push_back(from_.value(id));
    }
    return *renumbered_[id];
  }

  const Graph& from_;
  Graph to_;
  std::vector<std::optional<ValueId>> renumbered_;
};

class Placer {
 public:
  Placer(const Graph& graph, const LowerOptions& options)
      : graph_(graph), options_(options), uses_(graph), reasons_(graph.nodes.size()) {
    const std::vector<net::Type> types = node_types(graph, options);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      reasons_[i] = refusal(graph.nodes[i], types[i]);
    }
  }

  Placement run() {
    for (;;) {
      choose_parts();
      Placement placement = split();
      const std::optional<std::size_t> refused = try_card(placement.card);
      if (!refused) {
        for (std::size_t i = 0; i < reasons_.size(); ++i) {
          if (!reasons_[i].empty()) {
            placement.reasons[graph_.nodes[i].name] = reasons_[i];
          } else if (parts_[i] != Part::card) {
            placement.stranded.push_back(graph_.nodes[i].name);
          }
        }
        return placement;
      }
    }
  }

 private:
  /// Why the card cannot run a node, as far as its types and sizes say; empty where they do not.
  [[nodiscard]] std::string refusal(const Node& node, net::Type type) const {
    if (node.op.starts_with(graph::host_prefix)) {
      return node.refusal.empty() ? "the card has no such operator" : node.refusal;
    }
    if (node.op == "Equal" && type == net::Type::int8) return "int8 seldom keeps what is equal";
    for (const std::vector<ValueId>* list : {&node.inputs, &node.outputs}) {
      for (const ValueId id : *list) {
        if (id == graph::no_value) continue;
        const Value& value = graph_.value(id);
        if (std::ranges::find(value.shape, 0) != value.shape.end()) {
          return fmt::format("'{}' has no elements", value.name);
        }
      }
    }
    return {};
  }

  /// Level 0 is what the host can do with the inputs, level 1 what the card can do then, and so on,
  /// by turns. The card gets the level with the most work.
  void choose_parts() {
    std::vector<std::size_t> level(graph_.nodes.size(), 0);
    std::vector<double> work;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const ValueId id : graph_.nodes[i].inputs) {
        if (id == graph::no_value || uses_.producer[id] == no_node) continue;
        level[i] = std::max(level[i], level[uses_.producer[id]]);
      }
      const bool card = reasons_[i].empty();
      if (level[i] % 2 != (card ? 1 : 0)) ++level[i];
      if (!card) continue;
      work.resize(std::max(work.size(), level[i] + 1));
      work[level[i]] += graph::cost_of(graph_, graph_.nodes[i]).operations;
    }
    const auto most = std::ranges::max_element(work);
    const std::size_t chosen =
        work.empty() ? level.size() + 1 : static_cast<std::size_t>(most - work.begin());
    parts_.clear();
    for (const std::size_t l : level) {
      parts_.push_back(l < chosen ? Part::before : l == chosen ? Part::card : Part::after);
    }
  }

  /// Where a value is made; inputs are there before all.
  [[nodiscard]] Part part_of(ValueId id) const {
    return uses_.producer[id] == no_node ? Part::before : parts_[uses_.producer[id]];
  }
  [[nodiscard]] bool is_read_in(ValueId id, Part part) const {
    return std::ranges::any_of(uses_.consumers[id],
                               [&](std::size_t node) { return parts_[node] == part; });
  }

  Placement split() {
    const bool all_on_card =
        std::ranges::all_of(parts_, [](Part part) { return part == Part::card; }) &&
        std::ranges::all_of(graph_.outputs,
                            [&](ValueId id) { return uses_.producer[id] != no_node; });
    if (all_on_card) return {.before = {}, .card = graph_, .after = {}, .reasons = {}};
    Extraction before(graph_);
    Extraction card(graph_);
    Extraction after(graph_);
    card_nodes_.clear();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (parts_[i] == Part::before) before.add_node(i);
      if (parts_[i] == Part::after) after.add_node(i);
      if (parts_[i] != Part::card) continue;
      card.add_node(i);
      card_nodes_.push_back(i);
    }
    for (const ValueId id : graph_.inputs) before.add_input(id);
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
      if (graph_.value(id).constant) continue;
      const bool left = is_read_in(id, Part::after) || uses_.output[id];
      switch (part_of(id)) {
        case Part::before:
          if (is_read_in(id, Part::card)) card.add_input(id);
          if (left) after.add_input(id);
          if (left || is_read_in(id, Part::card)) before.add_output(id);
          break;
        case Part::card:
          if (left) card.add_output(id);
          if (left) after.add_input(id);
          break;
        case Part::after:
          break;
      }
    }
    for (const ValueId id : graph_.outputs) after.add_output(id);
    return {before.result(), card.result(), after.result(), {}};
  }

  /// Whether the card takes its part; otherwise notes which node it does not take, and why.
  std::optional<std::size_t> try_card(const Graph& card) {
    if (card.nodes.empty()) return {};
    try {
      const Layout layout =
          lay_out(card, fuse(card, node_types(card, options_)), options_.precision);
      const bool works = std::ranges::any_of(layout.net.layers, [](const net::Layer& layer) {
        return !layer.nodes.empty() || std::holds_alternative<net::Permute>(layer.op);
      });
      if (works || card.nodes.size() == graph_.nodes.size()) return {};
      // Views alone, beside a host that could do them.
      for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (parts_[i] == Part::card) reasons_[i] = "it moves nothing; the card would have no work";
      }
      return 0;
    } catch (const UnsupportedNode& error) {
      const bool states =
          std::ranges::any_of(graph_.values, [](const Value& value) { return value.state; });
      if (states) throw;
      const bool whole = card.nodes.size() == graph_.nodes.size();
      const std::size_t node = whole ? error.node() : card_nodes_.at(error.node());
      reasons_[node] = error.reason();
      return node;
    }
  }

  const Graph& graph_;
  const LowerOptions& options_;
  const Uses uses_;
  std::vector<std::string> reasons_;  ///< by node; empty: the card may run it
  std::vector<Part> parts_;
  std::vector<std::size_t> card_nodes_;
};

}  // namespace

Placement place(const Graph& graph, const LowerOptions& options) {
  return Placer(graph, options).run();
}

}  // namespace steppe::passes
