// SPDX-License-Identifier: Apache-2.0
#include "sim/simulation.h"

#include <chrono>
#include <deque>

#include "models/base/error.h"
#include "models/fabric/transport.h"

namespace steppe::sim {
namespace {

/// What the host does around the card: arrays into its blocks and out of them, host shards.
class HostWork {
 public:
  HostWork(Machine& machine, const package::Package& package, HostProgram& program,
           const Samples& samples)
      : functional_(machine.context().mode == Mode::functional),
        package_(package),
        program_(program),
        samples_(samples) {
    const std::vector<HostPart> parts = program.parts(machine.processors());
    if (parts.empty()) return;
    before_ = sc_core::sc_time(parts[0].seconds(), sc_core::SC_SEC);
    after_ = sc_core::sc_time(parts[1].seconds(), sc_core::SC_SEC);
  }

  /// Fills the input block of a run; null where nothing is computed.
  void before(std::uint64_t run, std::uint8_t* block) {
    if (before_ != sc_core::SC_ZERO_TIME) sc_core::wait(before_);
    if (!functional_) return;
    std::vector<graph::Tensor> user;
    for (std::size_t i = 0; i < program_.inputs().size(); ++i) {
      user.push_back(samples_.input(i, run));
    }
    HostProgram::Frame frame = program_.before(std::move(user));
    for (std::size_t i = 0; i < package_.inputs.size(); ++i) {
      to_card(package_.inputs[i], frame.card[i], block + package_.inputs[i].offset);
    }
    frame.card.clear();
    frames_.push_back(std::move(frame));
  }

  /// Takes the output block of the oldest run, and appends what comes of it.
  void after(const std::uint8_t* block, std::vector<npy::Array>& outputs) {
    if (after_ != sc_core::SC_ZERO_TIME) sc_core::wait(after_);
    if (!functional_) return;
    std::vector<graph::Tensor> card;
    for (const package::Port& port : package_.outputs) {
      card.push_back(from_card(port, block + port.offset));
    }
    const auto results = program_.after(std::move(frames_.front()), std::move(card));
    frames_.pop_front();
    for (std::size_t i = 0; i < results.size(); ++i) append_run(array_of(results[i]), outputs[i]);
  }

 private:
  bool functional_;
  const package::Package& package_;
  HostProgram& program_;
  const Samples& samples_;
  sc_core::sc_time before_, after_;
  std::deque<HostProgram::Frame> frames_;  ///< of runs in flight, oldest first
};

/// Cuts what only filled the last run up off outputs whose first axis is the batch.
void trim(std::vector<npy::Array>& outputs, const package::Package& package,
          const Samples& samples) {
  for (npy::Array& array : outputs) {
    if (array.shape.empty() || array.shape[0] != samples.runs * package.batch) continue;
    const std::size_t rows = array.shape[0];
    array.shape[0] = samples.samples;
    array.reals.resize(array.reals.size() / rows * samples.samples);
    array.integers.resize(array.integers.size() / rows * samples.samples);
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
  Patterns(const Server& server, const package::Package& package) {
    for (const package::Shard& shard : package.shards) {
      auto& views = views_.emplace_back();
      for (const package::WeightPattern& pattern : shard.patterns) {
        views.push_back({pattern.channels, pattern.blocks, pattern.counts, pattern.density});
      }
      for (std::size_t copy = 0; copy < package.replicas; ++copy) {
        const std::size_t chip = shard.chip + copy * package.shards.size();
        for (const auto& cluster : server.chips().at(chip)->clusters) {
          cluster->tensor.use_patterns(views);
        }
      }
    }
  }

 private:
  std::deque<std::vector<numerics::WeightPattern>> views_;  // stay where they are
};

}  // namespace

SimulationResult simulate(Machine& machine, const package::Package& package, HostProgram& host,
                          const Samples& samples) {
  const bool functional = machine.context().mode == Mode::functional;
  machine.context().describe_tag = [&package](std::uint32_t, std::uint32_t tag) {
    return tag <= package.debug.size() ? package.debug[tag - 1].layer : std::string{};
  };
  const Patterns patterns(machine.server(), package);
  Runtime runtime(machine.host(), machine.runtime_params(), package,
                  machine.server().description().dram_bytes, functional);
  HostWork work(machine, package, host, samples);
  SimulationResult result;
  if (functional) result.outputs.resize(host.outputs().size());
  std::chrono::steady_clock::time_point start;
  machine.run([&] {
    runtime.load();
    result.load_ps = now_ps();
    machine.context().stats.reset();
    start = std::chrono::steady_clock::now();
    const auto finish = [&](std::uint64_t run) {
      runtime.finish(run);
      work.after(runtime.output_block(run), result.outputs);
      result.ended.push_back(now_ps());
    };
    for (std::uint64_t run = 0; run < samples.runs; ++run) {
      // The run before the second ends first; after that only the oldest has to, for its slot.
      // A step of a sequence needs the step before; each copy has a sequence of its own.
      const std::uint64_t together = package.stateful ? package.replicas : runtime.runs_in_flight();
      while (result.ended.size() < run && (run == 1 || run - result.ended.size() >= together)) {
        finish(result.ended.size());
      }
      result.submitted.push_back(now_ps());
      work.before(run, runtime.input_block(run));
      runtime.submit(run);
    }
    while (result.ended.size() < samples.runs) finish(result.ended.size());
  });
  result.run_wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  trim(result.outputs, package, samples);
  return result;
}

void check_target(const package::Package& package, const ServerDescription& card) {
  const package::Target& target = package.target;
  const auto need = [&](bool fits, const char* what, std::uint64_t wanted, std::uint64_t there) {
    if (fits) return;
    throw ConfigError(
        "the package was compiled for '{}' with {} {}, the platform has {}; compile it for this "
        "platform",
        target.platform, wanted, what, there);
  };
  std::uint64_t chips = 0;
  for (const package::Shard& shard : package.shards) {
    chips = std::max(chips, shard.chip + 1 + (package.replicas - 1) * package.shards.size());
  }
  need(chips <= card.chips, "chips", chips, card.chips);
  need(target.clusters == card.clusters, "clusters a chip", target.clusters, card.clusters);
  need(target.sram_bytes <= card.sram_bytes, "bytes of SRAM a cluster", target.sram_bytes,
       card.sram_bytes);
  need(target.dram_bytes <= card.dram_bytes, "bytes of DRAM a chip", target.dram_bytes,
       card.dram_bytes);
}

}  // namespace steppe::sim
