// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/cost.h"

#include <algorithm>
#include <cmath>

#include "models/isa/isa.h"
#include "models/numerics/numerics.h"

namespace steppe::schedule {
namespace {

/// Barrier, instruction fetch and start of a layer: about what the small layers of timed runs take
/// (the shipped model on one chip of antoum with 1, 4 and 64 clusters: 10.1, 12.3 and 43 us for 22
/// layers).
constexpr double layer_start_seconds = 0.3e-6;
constexpr double cluster_seconds = 0.023e-6;  ///< of it, for each cluster
/// A link's copy beside the latency of the way: queues at both ends, about what timed runs take.
constexpr double copy_seconds = 0.08e-6;

double rows_in_parallel(const net::Shape& shape, const Target& target) {
  return static_cast<double>(std::min<std::uint64_t>(shape.rows(), target.clusters));
}

/// Of a lane for one weight.
double weight_cycles(const net::Tensor& in, const Target& target) {
  return in.type == net::Type::bf16 ? target.bf16_cycles : 1.0;
}

double conv_seconds(const net::Net& network, const net::Conv& conv, const Target& target) {
  const net::Shape& out = network.tensor(conv.out).shape;
  const std::uint64_t k = conv.weights.size / out.c;
  const std::uint64_t positions = std::uint64_t{out.n} * out.h * out.w;
  const std::uint64_t blocks = ceil_div<std::uint64_t>(k, numerics::block);
  const double cycles_per_block =
      numerics::block * conv.sparsity.stored() * weight_cycles(network.tensor(conv.in), target);
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

double layer_seconds(const net::Net& network, const net::Layer& layer, const Target& target,
                     bool streamed, double share) {
  double seconds = 0;
  const net::Tensor& out = network.tensor(net::output_of(layer));
  if (const auto* conv = std::get_if<net::Conv>(&layer.op)) {
    seconds = share * conv_seconds(network, *conv, target);
    if (streamed) {
      seconds = std::max(seconds, share * static_cast<double>(weight_bytes(network, *conv)) /
                                      target.dram_bandwidth);
    }
  } else if (const auto* matmul = std::get_if<net::MatMul>(&layer.op)) {
    seconds = static_cast<double>(net::dense_macs(network, layer)) *
              weight_cycles(network.tensor(matmul->a), target) /
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
  return seconds + layer_start_seconds + cluster_seconds * target.clusters;
}

LayerBound layer_bound(const net::Net& network, const net::Layer& layer, const Target& target,
                       Bytes dram_bytes) {
  LayerBound bound{.dram = static_cast<double>(dram_bytes) / target.dram_bandwidth};
  const double clusters = target.clusters * target.clock_hz;
  const auto macs = static_cast<double>(net::dense_macs(network, layer));
  if (macs > 0) {
    const auto* conv = std::get_if<net::Conv>(&layer.op);
    const double stored = conv != nullptr ? conv->sparsity.stored() : 1.0;
    const net::Tensor& in = network.tensor(net::inputs_of(layer).front());
    bound.tensor = macs * stored * weight_cycles(in, target) /
                   (static_cast<double>(target.engines) * target.lanes * target.columns * clusters);
  } else if (!network.tensor(net::output_of(layer)).resident_in_dram) {
    const VectorWork work = vector_work(network, layer);
    bound.vector = std::max({work.lanes / target.vector_lanes, work.special / target.special_lanes,
                             work.permuted / target.permute_bytes}) /
                   clusters;
  }
  return bound;
}

double transfer_seconds(const net::Shape& shape, Bytes bytes, const Target& target,
                        const Way& way) {
  const double copies = rows_in_parallel(shape, target);
  return (copies + 2) * (way.latency + copy_seconds) + static_cast<double>(bytes) / way.bandwidth;
}

}  // namespace steppe::schedule
