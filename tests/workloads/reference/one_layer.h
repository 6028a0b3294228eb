// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "workloads/reference/executor.h"

namespace steppe::test {

using Int8s = std::vector<std::int8_t>;

template <typename T>
net::Constant<T> constant(std::vector<T> values) {
  const std::uint64_t size = values.size();
  return {size, std::make_shared<const std::vector<T>>(std::move(values))};
}

inline net::Weights weights(std::vector<std::int8_t> values) {
  const std::uint64_t size = values.size();
  return {size, std::make_shared<const std::vector<std::int8_t>>(std::move(values)), nullptr};
}

/// One run of a network whose ports are int8.
inline std::vector<Int8s> run_int8(reference::Executor& executor,
                                   const std::vector<Int8s>& inputs) {
  std::vector<reference::Values> values;
  for (const Int8s& input : inputs) values.push_back({.int8 = input});
  std::vector<Int8s> outputs;
  for (reference::Values& output : executor.run_on_card(values)) {
    outputs.push_back(std::move(output.int8));
  }
  return outputs;
}

/// A network of one layer, put together tensor by tensor; inputs are ports in the order they were
/// made.
class OneLayer {
 public:
  net::TensorId input(net::Shape shape, net::Quant quant = {}) {
    const net::TensorId id = tensor(shape, quant);
    network_.inputs.push_back(port(id));
    return id;
  }
  net::TensorId output(net::Shape shape, net::Quant quant = {}) {
    const net::TensorId id = tensor(shape, quant);
    network_.outputs.push_back(port(id));
    return id;
  }
  /// The output's elements.
  template <typename Op>
  Int8s run(Op op, const std::vector<Int8s>& inputs) {
    network_.layers = {{.name = "layer", .nodes = {}, .op = std::move(op)}};
    net::check(network_);
    reference::Executor executor(network_);
    return run_int8(executor, inputs).at(0);
  }

 private:
  net::TensorId tensor(net::Shape shape, net::Quant quant) {
    const auto id = static_cast<net::TensorId>(network_.tensors.size());
    network_.tensors.push_back({.name = fmt::format("t{}", id), .shape = shape, .quant = quant});
    return id;
  }
  [[nodiscard]] net::Port port(net::TensorId id) const {
    const net::Shape& s = network_.tensor(id).shape;
    return {.name = network_.tensor(id).name,
            .tensor = id,
            .dims = {s.n, s.h, s.w, s.c},
            .to_card = {0, 1, 2, 3}};
  }

  net::Net network_{.name = "one"};
};

}  // namespace steppe::test
