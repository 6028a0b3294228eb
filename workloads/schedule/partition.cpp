// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "models/base/error.h"
#include "models/base/units.h"
#include "models/numerics/numerics.h"
#include "workloads/schedule/cost.h"

namespace steppe::schedule {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// To hand over what layers before the cut make and layers behind it read.
double crossing_seconds(const net::Net& network, std::uint32_t cut, const Target& target,
                        const Way& way) {
  std::vector<bool> made(network.tensors.size());
  std::vector<bool> counted(network.tensors.size());
  double seconds = 0;
  for (std::uint32_t i = 0; i < network.layers.size(); ++i) {
    if (i < cut) {
      made[net::output_of(network.layers[i])] = true;
      continue;
    }
    for (const net::TensorId in : net::inputs_of(network.layers[i])) {
      const net::Tensor& tensor = network.tensor(in);
      if (made[in] && !counted[in] && !tensor.resident_in_dram) {
        seconds += transfer_seconds(tensor.shape, tensor.bytes(), target, way);
      }
      counted[in] = true;
    }
  }
  return seconds;
}

/// Cuts that would part layers which have to be on the same chips: those that write and read one
/// DRAM-resident tensor, and the two products of a pair.
std::vector<bool> parts_a_pair(const net::Net& network, const std::vector<Cut>& cuts) {
  std::map<net::TensorId, std::uint32_t> first;
  std::vector<bool> forbidden(network.layers.size() + 1);
  for (std::uint32_t i = 0; i < network.layers.size(); ++i) {
    std::vector<net::TensorId> touched = net::inputs_of(network.layers[i]);
    touched.push_back(net::output_of(network.layers[i]));
    for (const net::TensorId tensor : touched) {
      const auto* conv = std::get_if<net::Conv>(&network.layers[i].op);
      const bool between = (cuts[i] == Cut::first && tensor == conv->out) ||
                           (cuts[i] == Cut::rows && tensor == conv->in);
      if (!network.tensor(tensor).resident_in_dram && !between) continue;
      const std::uint32_t begin = first.try_emplace(tensor, i).first->second;
      std::fill(forbidden.begin() + begin + 1, forbidden.begin() + i + 1, true);
    }
  }
  return forbidden;
}

/// Layers by the tensors they read.
std::vector<std::vector<std::uint32_t>> find_readers(const net::Net& network) {
  std::vector<std::vector<std::uint32_t>> readers(network.tensors.size());
  for (std::uint32_t i = 0; i < network.layers.size(); ++i) {
    for (const net::TensorId in : net::inputs_of(network.layers[i])) readers[in].push_back(i);
  }
  return readers;
}

bool is_output(const net::Net& network, net::TensorId tensor) {
  return std::ranges::any_of(network.outputs,
                             [&](const net::Port& port) { return port.tensor == tensor; });
}

/// Whether a Conv's sums over input channels can be made in parts.
bool sums_in_parts(const net::Conv& conv) {
  return conv.kernel_h == 1 && conv.kernel_w == 1 && conv.stride_h == 1 && conv.stride_w == 1 &&
         conv.groups == 1 && conv.lut.size == 0 && conv.residual != conv.in;
}

/// Costs of a network on groups of `width` chips, and what of each layer a chip does.
class Costs {
 public:
  /// Cuts what is worth it, or `always` what can be cut.
  Costs(const net::Net& network, const Target& target, std::uint32_t width, bool streamed,
        bool always)
      : network_(network),
        target_(target),
        width_(width),
        always_(always),
        streamed_(streamed),
        readers_(find_readers(network)) {
    const auto count = static_cast<std::uint32_t>(network.layers.size());
    cuts.assign(count, Cut::none);
    seconds.resize(count);
    for (std::uint32_t i = 0; i < count; ++i) seconds[i] = whole(i);
    if (width == 1) return;
    for (std::uint32_t i = 0; i < count; ++i) cut(i);
  }

  std::vector<Cut> cuts;        ///< by layer
  std::vector<double> seconds;  ///< by layer, exchanges included

  /// Bytes that a layer keeps in the DRAM of each chip: its weights.
  [[nodiscard]] Bytes dram_bytes(std::uint32_t layer) const {
    const auto* conv = std::get_if<net::Conv>(&network_.layers[layer].op);
    if (conv == nullptr) return 0;
    return weight_bytes(network_, *conv) / (cuts[layer] == Cut::none ? 1 : width_);
  }

 private:
  [[nodiscard]] const net::Conv* conv(std::uint32_t layer) const {
    return std::get_if<net::Conv>(&network_.layers[layer].op);
  }
  [[nodiscard]] double whole(std::uint32_t layer) const {
    return layer_seconds(network_, network_.layers[layer], target_, streamed_);
  }
  [[nodiscard]] double part(std::uint32_t layer) const {
    return layer_seconds(network_, network_.layers[layer], target_, streamed_, 1.0 / width_);
  }
  /// The chips give each other the parts of a result.
  [[nodiscard]] double gathering(const net::Tensor& out) const {
    return exchange(out, out.bytes() / width_) + copying(out.bytes());
  }
  /// The chips give each other fp32 sums and add them up.
  [[nodiscard]] double reducing(const net::Tensor& out) const {
    const double lanes = target_.vector_lanes * target_.clusters * target_.clock_hz;
    return exchange(out, out.shape.elements() * sizeof(float)) +
           3.0 * static_cast<double>(out.shape.elements() * (width_ - 1)) / lanes;
  }
  /// Every chip sends `bytes` of a tensor to every other one. A card's chips share its link to
  /// other cards, a server's its link to other servers.
  [[nodiscard]] double exchange(const net::Tensor& tensor, Bytes bytes) const {
    const auto inside = [&](std::uint32_t chips) {  // of those chips that lie together
      return chips == 0 || chips % width_ == 0 ? width_ : std::min(width_, chips);
    };
    const std::uint32_t of_card = inside(target_.chips_of_card);
    const std::uint32_t of_server = std::max(of_card, inside(target_.chips_of_server));
    const auto send = [&](std::uint32_t chips, const Way& way, std::uint32_t sharing) {
      const Way shared{.bandwidth = std::min(target_.peer.bandwidth, way.bandwidth / sharing),
                       .latency = way.latency};
      return chips == 0 ? 0.0 : chips * transfer_seconds(tensor.shape, bytes, target_, shared);
    };
    return send(of_card - 1, target_.peer, 1) + send(of_server - of_card, target_.across, of_card) +
           send(width_ - of_server, target_.between, of_server);
  }
  [[nodiscard]] double copying(Bytes bytes) const {
    return static_cast<double>(bytes) / (target_.permute_bytes * target_.clock_hz);
  }
  [[nodiscard]] bool fits(const net::Conv& conv) const {
    const std::uint32_t channels = network_.tensor(conv.out).shape.c;
    return conv.groups == 1 && channels >= width_ * numerics::block;
  }

  /// The one Conv that alone reads a Conv's result, and can sum it up in parts.
  [[nodiscard]] std::optional<std::uint32_t> partner(std::uint32_t layer) const {
    const net::TensorId out = conv(layer)->out;
    if (readers_[out].size() != 1 || is_output(network_, out)) return {};
    const std::uint32_t reader = readers_[out].front();
    const net::Conv* next = conv(reader);
    if (next == nullptr || next->in != out || !sums_in_parts(*next)) return {};
    return reader;
  }

  void cut(std::uint32_t layer) {
    if (conv(layer) == nullptr || cuts[layer] != Cut::none || !fits(*conv(layer))) return;
    const double uncut = always_ ? never : whole(layer);
    const double alone = part(layer) + gathering(network_.tensor(conv(layer)->out));
    if (const auto next = partner(layer)) {
      const net::Tensor& out = network_.tensor(conv(*next)->out);
      const double first = part(layer);
      const double then = part(*next) + reducing(out);
      const double other = fits(*conv(*next)) ? part(*next) + gathering(out) : never;
      if (first + then < std::min(alone, uncut) + std::min(other, whole(*next))) {
        cuts[layer] = Cut::first;
        cuts[*next] = Cut::rows;
        seconds[layer] = first;
        seconds[*next] = then;
        return;
      }
    }
    if (alone >= uncut) return;
    cuts[layer] = Cut::columns;
    seconds[layer] = alone;
  }

  const net::Net& network_;
  const Target& target_;
  std::uint32_t width_;
  bool always_;
  bool streamed_;
  std::vector<std::vector<std::uint32_t>> readers_;
};

/// Bytes of states by the layer that touches them first.
std::vector<Bytes> state_bytes(const net::Net& network) {
  std::vector<Bytes> bytes(network.layers.size());
  std::vector<bool> seen(network.tensors.size());
  for (std::uint32_t i = 0; i < network.layers.size(); ++i) {
    std::vector<net::TensorId> touched = net::inputs_of(network.layers[i]);
    touched.push_back(net::output_of(network.layers[i]));
    for (const net::TensorId tensor : touched) {
      if (!network.tensor(tensor).resident_in_dram || seen[tensor]) continue;
      seen[tensor] = true;
      bytes[i] += network.tensor(tensor).bytes();
    }
  }
  return bytes;
}

bool has_states(const net::Net& network) {
  return std::ranges::any_of(network.tensors,
                             [](const net::Tensor& tensor) { return tensor.resident_in_dram; });
}

/// The network cut into stages of `width` chips each, so that the slowest stage is as fast as can
/// be.
class Stages {
 public:
  /// `most` stages and fewer. `streamed`: weights do not stay in SRAM.
  Stages(const net::Net& network, const Target& target, std::uint32_t width, std::uint32_t most,
         bool streamed, bool always)
      : network_(network),
        target_(target),
        width_(width),
        costs_(network, target, width, streamed, always),
        count_(static_cast<std::uint32_t>(network.layers.size())),
        until_(count_ + 1),
        held_(count_ + 1),
        near_(count_ + 1),
        far_(count_ + 1),
        farthest_(count_ + 1) {
    const std::vector<Bytes> states = state_bytes(network);
    for (std::uint32_t i = 0; i < count_; ++i) {
      until_[i + 1] = until_[i] + costs_.seconds[i];
      held_[i + 1] = held_[i] + costs_.dram_bytes(i) + states[i];
      if (most == 1) continue;
      const auto beyond = [&](std::uint32_t chips) { return chips != 0 && chips < target.chips; };
      near_[i] = crossing_seconds(network, i, target, target.peer);
      if (beyond(target.chips_of_card)) {
        far_[i] = crossing_seconds(network, i, target, target.across);
      }
      if (beyond(target.chips_of_server)) {
        farthest_[i] = crossing_seconds(network, i, target, target.between);
      }
    }
    // best_[s][i]: the smallest slowest stage when s stages run the layers before i.
    best_.assign(most + 1, std::vector<double>(count_ + 1, never));
    from_.assign(most + 1, std::vector<std::uint32_t>(count_ + 1));
    best_[0][0] = 0;
    const std::vector<bool> forbidden = parts_a_pair(network, costs_.cuts);
    for (std::uint32_t s = 1; s <= most; ++s) {
      for (std::uint32_t end = s; end <= count_; ++end) {
        if (!forbidden[end]) find_best(s, end);
      }
    }
  }

  /// Empty where the layers cannot be cut so often, or weights and states do not fit the chips'
  /// DRAM.
  [[nodiscard]] std::optional<PartitionPlan> plan(std::uint32_t stages) const {
    if (best_[stages][count_] == never) return {};
    PartitionPlan plan{.width = width_,
                       .clusters = target_.clusters,
                       .stages = std::vector<Stage>(stages),
                       .cuts = costs_.cuts};
    std::uint32_t end = count_;
    for (std::uint32_t s = stages; s > 0; --s) {
      const std::uint32_t begin = from_[s][end];
      plan.stages[s - 1] = {begin, end, (s - 1) * width_, seconds(s, begin, end)};
      end = begin;
    }
    const bool in_turn = has_states(network_);  // a run waits for the one before
    for (const Stage& stage : plan.stages) {
      plan.seconds = in_turn ? plan.seconds + stage.seconds : std::max(plan.seconds, stage.seconds);
    }
    return plan;
  }

 private:
  /// To hand over in front of a layer, which is the first of stage `s`, counted from 0.
  [[nodiscard]] double cut(std::uint32_t s, std::uint32_t layer) const {
    const auto borders = [&](std::uint32_t chips) { return chips != 0 && s * width_ % chips == 0; };
    if (borders(target_.chips_of_server)) return farthest_[layer];
    return (borders(target_.chips_of_card) ? far_ : near_)[layer];
  }
  /// Of the s-th stage, counted from 1.
  [[nodiscard]] double seconds(std::uint32_t s, std::uint32_t begin, std::uint32_t end) const {
    if (held_[end] - held_[begin] > target_.dram_bytes) return never;
    return until_[end] - until_[begin] + cut(s - 1, begin) + cut(s, end);
  }
  void find_best(std::uint32_t s, std::uint32_t end) {
    for (std::uint32_t begin = s - 1; begin < end; ++begin) {
      if (best_[s - 1][begin] >= best_[s][end]) continue;
      const double slowest = std::max(best_[s - 1][begin], seconds(s, begin, end));
      if (slowest >= best_[s][end]) continue;
      best_[s][end] = slowest;
      from_[s][end] = begin;
    }
  }

  const net::Net& network_;
  const Target& target_;
  std::uint32_t width_;
  Costs costs_;
  std::uint32_t count_;
  std::vector<double> until_;  ///< seconds of the layers before i
  std::vector<Bytes> held_;    ///< bytes that the layers before i keep in a chip's DRAM
  /// Seconds to hand over what crosses before i, to the next chip, card, or server.
  std::vector<double> near_, far_, farthest_;
  std::vector<std::vector<double>> best_;
  std::vector<std::vector<std::uint32_t>> from_;
};

Bytes all_weight_bytes(const net::Net& network) {
  Bytes bytes = 0;
  for (const net::Layer& layer : network.layers) {
    if (const auto* conv = std::get_if<net::Conv>(&layer.op)) bytes += weight_bytes(network, *conv);
  }
  return bytes;
}

/// Plans of up to `most` stages, those of the most first.
std::vector<PartitionPlan> plans_of(const net::Net& network, const Target& target,
                                    std::uint32_t width, std::uint32_t most, bool always) {
  // With so many stages all weights stay in SRAM.
  const auto enough = std::max<Bytes>(
      1, ceil_div<Bytes>(all_weight_bytes(network), std::uint64_t{width} * target.sram_bytes));
  std::vector<PartitionPlan> plans;
  const auto add = [&](bool streamed, Bytes first, Bytes last) {
    if (first > last) return;
    const Stages stages(network, target, width, static_cast<std::uint32_t>(last), streamed, always);
    for (Bytes count = last; count >= first; --count) {
      auto plan = stages.plan(static_cast<std::uint32_t>(count));
      if (plan) plans.push_back(std::move(*plan));
    }
  };
  add(false, enough, most);
  add(true, 1, std::min<Bytes>(most, enough - 1));
  return plans;
}

/// 1, 2, 4, … and all clusters, or those asked for.
std::vector<std::uint32_t> cluster_counts(const Target& target, const Partition& wanted) {
  if (wanted.clusters != 0) return {wanted.clusters};
  std::vector<std::uint32_t> counts;
  for (std::uint32_t count = 1; count < target.clusters; count *= 2) counts.push_back(count);
  counts.push_back(target.clusters);
  return counts;
}

/// Chips a stage.
std::vector<std::uint32_t> widths(const Target& target, const Partition& wanted) {
  using Kind = Partition::Kind;
  if (wanted.kind == Kind::tensor) return {target.chips};
  if (wanted.kind == Kind::mixed) return {wanted.width};
  if (wanted.kind != Kind::automatic) return {1};
  std::vector<std::uint32_t> result;
  for (std::uint32_t width = 1; width <= target.chips; ++width) {
    if (target.chips % width == 0) result.push_back(width);
  }
  return result;
}

/// Copies of the program.
std::vector<std::uint32_t> copy_counts(const net::Net& network, const Target& target,
                                       const Partition& wanted) {
  if (wanted.copies != 0) return {wanted.copies};
  if (wanted.kind == Partition::Kind::data) return {target.chips};
  if (wanted.kind != Partition::Kind::automatic || has_states(network)) return {1};
  std::vector<std::uint32_t> counts;
  const std::uint32_t of_card = target.chips_of_card == 0 ? target.chips : target.chips_of_card;
  for (std::uint32_t copies = 1; copies <= target.chips; ++copies) {
    const std::uint32_t each = target.chips / copies;
    // Copies on some chips of a card, or on some cards.
    const bool apart = of_card % each == 0 || each % of_card == 0;
    if (target.chips % copies == 0 && apart) counts.push_back(copies);
  }
  return counts;
}

/// Throws for what no network could be parted into.
void check_wanted(const Target& target, const Partition& wanted) {
  if (wanted.copies > target.chips) {
    throw ConfigError("--copies {}: the target has {} chips", wanted.copies, target.chips);
  }
  const std::uint32_t chips = target.chips / std::max(wanted.copies, 1U);
  if (wanted.kind == Partition::Kind::mixed && (wanted.width == 0 || wanted.width > chips)) {
    throw ConfigError("--partition mixed:{}: there are {} chips{}", wanted.width, chips,
                      wanted.copies > 1 ? " for each copy" : "");
  }
  if (wanted.clusters > target.clusters) {
    throw ConfigError("--clusters {}: a chip has {}", wanted.clusters, target.clusters);
  }
}

}  // namespace

ChannelRange channels_of(std::uint32_t channels, std::uint32_t part, std::uint32_t parts) {
  const std::uint32_t blocks = ceil_div(channels, numerics::block);
  const auto bound = [&](std::uint32_t n) {
    return std::min(channels, ceil_div(blocks * n, parts) * numerics::block);
  };
  return {bound(part), bound(part + 1)};
}

std::vector<PartitionPlan> partition(const net::Net& network, const Target& target,
                                     const Partition& wanted) {
  check_wanted(target, wanted);
  const bool automatic = wanted.kind == Partition::Kind::automatic;
  const auto count = static_cast<std::uint32_t>(network.layers.size());
  if (count == 0) throw ModelError("network '{}' has no layers", network.name);
  std::vector<PartitionPlan> plans;
  const std::vector<std::uint32_t> copies = copy_counts(network, target, wanted);
  for (const std::uint32_t replicas : copies) {
    Target part = target;
    part.chips = wanted.kind == Partition::Kind::data ? 1 : target.chips / replicas;
    for (const std::uint32_t width : widths(part, wanted)) {
      const std::uint32_t most = std::min(part.chips / width, count);
      for (const std::uint32_t clusters : cluster_counts(target, wanted)) {
        part.clusters = clusters;
        for (PartitionPlan& plan : plans_of(network, part, width, most, !automatic)) {
          plan.replicas = replicas;
          plan.seconds /= replicas;
          plans.push_back(std::move(plan));
          if (!automatic) break;  // as many stages as can be
        }
      }
    }
  }
  if (plans.empty()) {
    throw ModelError("weights and states do not fit the DRAM of the chips, {} of {} bytes each",
                     target.chips / copies.back(), target.dram_bytes);
  }
  std::ranges::stable_sort(plans, {}, &PartitionPlan::seconds);
  return plans;
}

Partition parse_partition(const std::string& text) {
  if (text == "auto") return {};
  if (text == "pipeline") return {.kind = Partition::Kind::pipeline};
  if (text == "data") return {.kind = Partition::Kind::data};
  if (text == "tensor") return {.kind = Partition::Kind::tensor};
  for (std::uint32_t width = 1; width <= 64; ++width) {
    if (text == fmt::format("mixed:{}", width)) {
      return {.kind = Partition::Kind::mixed, .width = width};
    }
  }
  throw ConfigError(
      "--partition {}: auto, pipeline, tensor, data, or mixed:N with N chips a stage, up to 64, "
      "are right",
      text);
}

}  // namespace steppe::schedule
