// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/net/net.h"

namespace steppe::reference {

using Values = std::vector<std::int8_t>;

/// All tensors of a network by id.
struct State {
  const net::Net& network;
  std::vector<Values>& tensors;

  [[nodiscard]] const net::Tensor& info(net::TensorId id) const { return network.tensor(id); }
  [[nodiscard]] const Values& in(net::TensorId id) const { return tensors[id]; }
  /// The output's elements, sized.
  [[nodiscard]] Values& out(net::TensorId id) const {
    tensors[id].resize(network.tensor(id).shape.elements());
    return tensors[id];
  }
};

/// "Store" of the number contract.
std::int8_t store(float value, std::int32_t zero, std::int32_t low = -128, std::int32_t high = 127);

void execute(const State& state, const net::Conv& layer);
void execute(const State& state, const net::MatMul& layer);
void execute(const State& state, const net::Eltwise& layer);
void execute(const State& state, const net::Lut& layer);
void execute(const State& state, const net::Pool& layer);
void execute(const State& state, const net::Softmax& layer);
void execute(const State& state, const net::LayerNorm& layer);
void execute(const State& state, const net::Permute& layer);
void execute(const State& state, const net::CacheStore& layer);

}  // namespace steppe::reference
