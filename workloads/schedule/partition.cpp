// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/partition.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "models/numerics/numerics.h"

namespace steppe::schedule {
namespace {

/// Barrier, instruction fetch and start of a layer: about what the small layers of a timed run
/// take.
constexpr double fixed_seconds = 0.4e-6;

double rows_in_parallel(const net::Shape& shape, const Target& target) {
  return static_cast<double>(std::min<std::uint64_t>(shape.rows(), target.clusters));
}

double conv_seconds(const net::Net& network, const net::Conv& conv, const Target& target) {
  const net::Shape& out = network.tensor(conv.out).shape;
  const std::uint64_t k = conv.weights.size / out.c;
  const std::uint64_t positions = std::uint64_t{out.n} * out.h * out.w;
  const std::uint64_t blocks = ceil_div<std::uint64_t>(k, numerics::block);
  const double cycles_per_block = numerics::block * conv.sparsity.stored();
  const std::uint64_t lane_groups =
      conv.groups * ceil_div<std::uint64_t>(out.c / conv.groups, target.lanes);
  const double columns_used =
      static_cast<double>(std::min<std::uint64_t>(positions, target.columns)) / target.columns;
  const double passes = static_cast<double>(ceil_div<std::uint64_t>(positions, target.columns)) *
                        static_cast<double>(lane_groups) * columns_used;
  const double cycles = passes * static_cast<double>(blocks) * cycles_per_block / target.engines;
  return cycles / rows_in_parallel(out, target) / target.clock_hz;
}

/// What a layer asks of the vector unit: operations of its lanes and special lanes, bytes to
/// permute.
struct VectorWork {
  double lanes = 0, special = 0, permuted = 0;
};

/// By models/vector/README.md.
VectorWork vector_work(const net::Net& network, const net::Layer& layer) {
  const net::Tensor& out = network.tensor(net::output_of(layer));
  const auto results = static_cast<double>(out.shape.elements());
  if (const auto* map = std::get_if<net::Map>(&layer.op)) {
    const vector_functions::Row* function = vector_functions::find(map->function);
    return {results * (2 + function->lane_ops), results * function->special_ops, 0};
  }
  if (std::holds_alternative<net::Softmax>(layer.op)) return {5 * results, results, 0};
  if (std::holds_alternative<net::LayerNorm>(layer.op)) return {7 * results, 0, 0};
  if (std::holds_alternative<net::Permute>(layer.op)) {
    return {0, 0, static_cast<double>(out.bytes())};
  }
  if (const auto* pool = std::get_if<net::Pool>(&layer.op)) {
    return {results * pool->kernel_h * pool->kernel_w, pool->average ? results : 0, 0};
  }
  if (const auto* reduce = std::get_if<net::Reduce>(&layer.op)) {
    return {2 * results * network.tensor(reduce->in).shape.c, 0, 0};
  }
  if (std::holds_alternative<net::Resize>(layer.op)) return {10 * results, 0, 0};
  return {results, 0, 0};
}

std::uint64_t crossing_bytes(const net::Net& network, std::uint32_t cut) {
  std::vector<bool> made(network.tensors.size());
  std::vector<bool> counted(network.tensors.size());
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < network.layers.size(); ++i) {
    if (i < cut) {
      made[net::output_of(network.layers[i])] = true;
      continue;
    }
    for (const net::TensorId in : net::inputs_of(network.layers[i])) {
      if (made[in] && !counted[in]) bytes += network.tensor(in).bytes();
      counted[in] = true;
    }
  }
  return bytes;
}

/// Cuts that would part the layers which write and read one DRAM-resident tensor: it lies on one
/// chip.
std::vector<bool> parts_a_cache(const net::Net& network) {
  std::map<net::TensorId, std::uint32_t> first;
  std::vector<bool> forbidden(network.layers.size() + 1);
  for (std::uint32_t i = 0; i < network.layers.size(); ++i) {
    std::vector<net::TensorId> touched = net::inputs_of(network.layers[i]);
    touched.push_back(net::output_of(network.layers[i]));
    for (const net::TensorId tensor : touched) {
      if (!network.tensor(tensor).resident_in_dram) continue;
      const std::uint32_t begin = first.try_emplace(tensor, i).first->second;
      std::fill(forbidden.begin() + begin + 1, forbidden.begin() + i + 1, true);
    }
  }
  return forbidden;
}

}  // namespace

numerics::RecordShape record_shape(const net::Net& network, const net::Conv& conv) {
  const std::uint32_t channels = network.tensor(conv.out).shape.c;
  return {.k = static_cast<std::uint32_t>(conv.weights.size / channels),
          .encoding = conv.sparsity.encoding,
          .kept = conv.sparsity.kept,
          .item_bytes = static_cast<std::uint32_t>(network.tensor(conv.in).item_bytes())};
}

Bytes weight_bytes(const net::Net& network, const net::Conv& conv) {
  const std::uint32_t channels = network.tensor(conv.out).shape.c;
  const numerics::RecordShape record = record_shape(network, conv);
  const double values = record.k * conv.sparsity.stored();
  return channels *
         (record.pitch(static_cast<std::uint64_t>(std::ceil(values))) + isa::scale_pair_bytes);
}

double estimate_seconds(const net::Net& network, const net::Layer& layer, const Target& target,
                        bool streamed) {
  double seconds = 0;
  const net::Tensor& out = network.tensor(net::output_of(layer));
  if (const auto* conv = std::get_if<net::Conv>(&layer.op)) {
    seconds = conv_seconds(network, *conv, target);
    if (streamed) {
      seconds = std::max(seconds,
                         static_cast<double>(weight_bytes(network, *conv)) / target.dram_bandwidth);
    }
  } else if (const auto* matmul = std::get_if<net::MatMul>(&layer.op)) {
    seconds = static_cast<double>(net::dense_macs(network, layer)) /
              (static_cast<double>(target.engines) * target.lanes * target.columns) /
              rows_in_parallel(out.shape, target) / target.clock_hz;
    const net::Tensor& b = network.tensor(matmul->b);
    if (b.resident_in_dram) {
      seconds = std::max(seconds, static_cast<double>(b.bytes()) / target.dram_bandwidth);
    }
  } else if (!out.resident_in_dram) {
    const VectorWork work = vector_work(network, layer);
    seconds = std::max({work.lanes / target.vector_lanes, work.special / target.special_lanes,
                        work.permuted / target.permute_bytes}) /
              rows_in_parallel(out.shape, target) / target.clock_hz;
  }
  return seconds + fixed_seconds;
}

std::vector<Stage> partition(const net::Net& network, const Target& target) {
  const auto count = static_cast<std::uint32_t>(network.layers.size());
  const std::uint32_t stages = std::min(target.chips, count);

  Bytes all_weights = 0;
  for (const net::Layer& layer : network.layers) {
    if (const auto* conv = std::get_if<net::Conv>(&layer.op)) {
      all_weights += weight_bytes(network, *conv);
    }
  }
  const bool streamed = all_weights > std::uint64_t{stages} * target.sram_bytes;

  std::vector<double> until(count + 1);  // seconds of the layers before i
  std::vector<double> cut(count + 1);    // seconds to hand over what crosses before i
  for (std::uint32_t i = 0; i < count; ++i) {
    until[i + 1] = until[i] + estimate_seconds(network, network.layers[i], target, streamed);
    cut[i] = static_cast<double>(crossing_bytes(network, i)) / target.peer_bandwidth;
  }
  const auto stage_seconds = [&](std::uint32_t begin, std::uint32_t end) {
    return until[end] - until[begin] + cut[begin] + cut[end];
  };

  // best[s][i]: the smallest slowest stage when s stages run the layers before i.
  constexpr double never = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> best(stages + 1, std::vector<double>(count + 1, never));
  std::vector<std::vector<std::uint32_t>> from(stages + 1, std::vector<std::uint32_t>(count + 1));
  best[0][0] = 0;
  const std::vector<bool> forbidden = parts_a_cache(network);
  for (std::uint32_t s = 1; s <= stages; ++s) {
    for (std::uint32_t end = s; end <= count; ++end) {
      if (forbidden[end]) continue;
      for (std::uint32_t begin = s - 1; begin < end; ++begin) {
        const double slowest = std::max(best[s - 1][begin], stage_seconds(begin, end));
        if (slowest < best[s][end]) {
          best[s][end] = slowest;
          from[s][end] = begin;
        }
      }
    }
  }
  // Fewer stages where no more can be cut.
  std::uint32_t used = stages;
  while (best[used][count] == never) --used;
  std::vector<Stage> result(used);
  std::uint32_t end = count;
  for (std::uint32_t s = used; s > 0; --s) {
    const std::uint32_t begin = from[s][end];
    result[s - 1] = {begin, end, stage_seconds(begin, end)};
    end = begin;
  }
  return result;
}

}  // namespace steppe::schedule
