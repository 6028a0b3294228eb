// SPDX-License-Identifier: Apache-2.0
#include "sim/simulation.h"

#include <chrono>
#include <deque>

#include "models/base/error.h"
#include "models/fabric/transport.h"

namespace steppe::sim {
namespace {

void fill_inputs(Runtime& runtime, const package::Package& package, const Samples& samples,
                 std::uint64_t run) {
  std::uint8_t* block = runtime.input_block(run);
  if (block == nullptr) return;
  for (std::size_t i = 0; i < package.inputs.size(); ++i) {
    const package::Port& port = package.inputs[i];
    to_card(port, samples.input(i, run, port.elements()), block + port.offset);
  }
}

void take_outputs(Runtime& runtime, const package::Package& package, std::uint64_t run,
                  std::vector<npy::Array>& outputs) {
  const std::uint8_t* block = runtime.output_block(run);
  if (block == nullptr) return;
  for (std::size_t i = 0; i < package.outputs.size(); ++i) {
    const package::Port& port = package.outputs[i];
    const std::uint64_t elements = port.elements();
    from_card(port, block + port.offset,
              std::span(outputs[i].reals).subspan(run * elements, elements));
  }
}

std::vector<npy::Array> make_outputs(const package::Package& package, std::uint64_t runs) {
  std::vector<npy::Array> outputs;
  for (const package::Port& port : package.outputs) {
    npy::Array array{.shape = port.dims, .reals = std::vector<float>(runs * port.elements())};
    if (array.shape.empty()) array.shape.push_back(1);
    array.shape[0] *= runs;
    outputs.push_back(std::move(array));
  }
  return outputs;
}

/// Cuts what only filled the last run up off outputs whose first axis is the batch.
void trim(std::vector<npy::Array>& outputs, const package::Package& package,
          const Samples& samples) {
  for (npy::Array& array : outputs) {
    if (array.shape[0] != samples.runs * package.batch) continue;
    const std::size_t per_sample = array.reals.size() / array.shape[0];
    array.shape[0] = samples.samples;
    array.reals.resize(samples.samples * per_sample);
  }
}

}  // namespace

double SimulationResult::latency_seconds() const {
  return static_cast<double>(ended.front() - submitted.front()) * 1e-12;
}

double SimulationResult::seconds() const {
  return static_cast<double>(ended.back() - submitted.front()) * 1e-12;
}

double SimulationResult::samples_per_second(std::uint32_t batch) const {
  if (submitted.size() < 2) return batch / latency_seconds();
  const double flowing = static_cast<double>(ended.back() - submitted[1]) * 1e-12;
  return static_cast<double>(submitted.size() - 1) * batch / flowing;
}

namespace {

/// Hands each chip's tensor units the weight patterns of its shard, as views.
class Patterns {
 public:
  Patterns(const Card& card, const package::Package& package) {
    for (const package::Shard& shard : package.shards) {
      auto& views = views_.emplace_back();
      for (const package::WeightPattern& pattern : shard.patterns) {
        views.push_back({pattern.channels, pattern.blocks, pattern.counts, pattern.density});
      }
      for (const auto& cluster : card.chips().at(shard.chip)->clusters) {
        cluster->tensor.use_patterns(views);
      }
    }
  }

 private:
  std::deque<std::vector<numerics::WeightPattern>> views_;  // stay where they are
};

}  // namespace

SimulationResult simulate(Machine& machine, const package::Package& package,
                          const Samples& samples) {
  const bool functional = machine.context().mode == Mode::functional;
  machine.context().describe_tag = [&package](std::uint32_t, std::uint32_t tag) {
    return tag <= package.debug.size() ? package.debug[tag - 1].layer : std::string{};
  };
  const Patterns patterns(machine.card(), package);
  Runtime runtime(machine.host(), machine.runtime_params(), package,
                  machine.card().description().dram_bytes, functional);
  SimulationResult result;
  if (functional) result.outputs = make_outputs(package, samples.runs);
  std::chrono::steady_clock::time_point start;
  machine.run([&] {
    runtime.load();
    result.load_ps = now_ps();
    machine.context().stats.reset();
    start = std::chrono::steady_clock::now();
    const auto finish = [&](std::uint64_t run) {
      runtime.finish(run);
      result.ended.push_back(now_ps());
      take_outputs(runtime, package, run, result.outputs);
    };
    for (std::uint64_t run = 0; run < samples.runs; ++run) {
      // The run before the second ends first; after that only the oldest has to, for its slot.
      // A step of a sequence needs the step before.
      const std::uint64_t together = package.stateful ? 1 : runtime.runs_in_flight();
      while (result.ended.size() < run && (run == 1 || run - result.ended.size() >= together)) {
        finish(result.ended.size());
      }
      fill_inputs(runtime, package, samples, run);
      result.submitted.push_back(now_ps());
      runtime.submit(run);
    }
    while (result.ended.size() < samples.runs) finish(result.ended.size());
  });
  result.run_wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  trim(result.outputs, package, samples);
  return result;
}

void check_target(const package::Package& package, const CardDescription& card) {
  const package::Target& target = package.target;
  const auto need = [&](bool fits, const char* what, std::uint64_t wanted, std::uint64_t there) {
    if (fits) return;
    throw ConfigError(
        "the package was compiled for '{}' with {} {}, the platform has {}; compile it for this "
        "platform",
        target.platform, wanted, what, there);
  };
  std::uint32_t chips = 0;
  for (const package::Shard& shard : package.shards) chips = std::max(chips, shard.chip + 1);
  need(chips <= card.chips, "chips", chips, card.chips);
  need(target.clusters == card.clusters, "clusters a chip", target.clusters, card.clusters);
  need(target.sram_bytes <= card.sram_bytes, "bytes of SRAM a cluster", target.sram_bytes,
       card.sram_bytes);
  need(target.dram_bytes <= card.dram_bytes, "bytes of DRAM a chip", target.dram_bytes,
       card.dram_bytes);
}

}  // namespace steppe::sim
