// SPDX-License-Identifier: Apache-2.0
#include "sim/report/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace steppe::sim {
namespace {

struct Span {
  std::uint64_t begin = ~std::uint64_t{0};
  std::uint64_t end = 0;
  std::map<Timeline::Track, std::uint64_t> busy;  ///< by queue

  [[nodiscard]] std::uint64_t busiest() const {
    std::uint64_t most = 0;
    for (const auto& queue : busy) most = std::max(most, queue.second);
    return most;
  }
};

std::string format_row(const LayerTime& layer) {
  return fmt::format("{:<48} {:>4} {:>10.0f} {:>10.0f} {:>10.0f} {:<6} {:>6.1f}% {:>6.1f}%\n",
                     layer.name, layer.chip, layer.cycles, layer.exposed, layer.bound(),
                     layer.resource(), 100 * layer.utilisation(), 100 * layer.reached());
}

LayerTime total(const std::vector<LayerTime>& layers, std::uint32_t chip) {
  LayerTime sum{.name = "all layers", .chip = chip};
  for (const LayerTime& layer : layers) {
    if (layer.chip != chip) continue;
    sum.exposed += layer.exposed;
    sum.tensor += layer.tensor;
    sum.vector += layer.vector;
    sum.dram += layer.dram;
  }
  sum.cycles = sum.exposed;
  return sum;
}

std::vector<std::uint32_t> chips_of(const std::vector<LayerTime>& layers) {
  std::vector<std::uint32_t> chips;
  for (const LayerTime& layer : layers) {
    if (chips.empty() || chips.back() != layer.chip) chips.push_back(layer.chip);
  }
  return chips;
}

}  // namespace

const char* LayerTime::resource() const {
  if (bound() == 0) return "-";
  return bound() == tensor ? "tensor" : bound() == vector ? "vector" : "DRAM";
}

Timeline::Track LayerTimeline::add_track(const std::string&) { return ++tracks_; }

void LayerTimeline::slice(Track track, std::string_view name, std::uint64_t begin_ps,
                          std::uint64_t end_ps) {
  const std::size_t mnemonic = name.find(' ');  // "conv LAYER"
  if (mnemonic == std::string_view::npos) return;
  slices_.push_back({std::string(name.substr(mnemonic + 1)), track, begin_ps, end_ps});
}

std::vector<LayerTime> layer_times(const schedule::Report& report, const LayerTimeline& timeline,
                                   std::uint64_t from_ps, double clock_hz) {
  std::map<std::string, Span> spans;
  for (const LayerTimeline::Slice& slice : timeline.slices()) {
    if (slice.begin_ps < from_ps) continue;
    Span& span = spans[slice.layer];
    span.begin = std::min(span.begin, slice.begin_ps);
    span.end = std::max(span.end, slice.end_ps);
    span.busy[slice.queue] += slice.end_ps - slice.begin_ps;
  }
  std::map<std::uint32_t, std::vector<std::pair<Span, std::uint32_t>>> by_chip;
  for (std::uint32_t i = 0; i < report.layers.size(); ++i) {
    const auto found = spans.find(report.network.layers[i].name);
    if (found != spans.end()) by_chip[report.layers[i].chip].emplace_back(found->second, i);
  }
  std::vector<LayerTime> result;
  for (auto& [chip, layers] : by_chip) {
    std::ranges::stable_sort(layers, {}, [](const auto& layer) { return layer.first.end; });
    std::uint64_t reached = ~std::uint64_t{0};
    for (const auto& layer : layers) reached = std::min(reached, layer.first.begin);
    for (const auto& [span, number] : layers) {
      LayerTime& time = result.emplace_back();
      time.name = report.network.layers[number].name;
      time.chip = chip;
      time.cycles = static_cast<double>(span.busiest()) * 1e-12 * clock_hz;
      time.exposed = static_cast<double>(span.end - reached) * 1e-12 * clock_hz;
      reached = span.end;
      time.tensor = report.layers[number].tensor_seconds * clock_hz;
      time.vector = report.layers[number].vector_seconds * clock_hz;
      time.dram = report.layers[number].dram_seconds * clock_hz;
    }
  }
  return result;
}

std::string format_table(const std::vector<LayerTime>& layers) {
  std::string text =
      fmt::format("{:<48} {:>4} {:>10} {:>10} {:>10} {:<6} {:>7} {:>7}\n", "layer", "chip",
                  "cycles", "exposed", "at least", "of", "engines", "reached");
  for (const LayerTime& layer : layers) {
    text += format_row(layer);
  }
  for (const std::uint32_t chip : chips_of(layers)) {
    text += format_row(total(layers, chip));
  }
  return text;
}

}  // namespace steppe::sim
