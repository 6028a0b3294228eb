// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/net/net.h"
#include "workloads/reference/executor.h"

namespace steppe::reference {

/// All tensors of a network by id.
struct State {
  const net::Net& network;
  std::vector<Values>& tensors;

  [[nodiscard]] const net::Tensor& info(net::TensorId id) const { return network.tensor(id); }
  [[nodiscard]] const Values& in(net::TensorId id) const { return tensors[id]; }
  /// Gives a tensor its elements, zeros; returns them.
  Values& out(net::TensorId id) const;

  /// The number that an element stands for.
  [[nodiscard]] float number(net::TensorId id, std::size_t element) const;
  /// Stores a number as the output's type says.
  void put(net::TensorId id, std::size_t element, float number, const net::Clamp& clamp = {}) const;
};

/// Zeros of a tensor.
Values zeros(const net::Tensor& tensor);

/// "Store" of the number contract.
std::int8_t store(float value, std::int32_t zero, std::int32_t low = -128, std::int32_t high = 127);
/// The nearest bf16 to a number; NaN has one form.
float to_bf16(float value);
/// A function of `map`.
float apply(vector_functions::Function function, float a, float b, float c);

void execute(const State& state, const net::Conv& layer);
void execute(const State& state, const net::MatMul& layer);
void execute(const State& state, const net::Map& layer);
void execute(const State& state, const net::Lut& layer);
void execute(const State& state, const net::Pool& layer);
void execute(const State& state, const net::Softmax& layer);
void execute(const State& state, const net::LayerNorm& layer);
void execute(const State& state, const net::Reduce& layer);
void execute(const State& state, const net::Resize& layer);
void execute(const State& state, const net::Permute& layer);
void execute(const State& state, const net::CacheStore& layer);

}  // namespace steppe::reference
