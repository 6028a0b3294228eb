// SPDX-License-Identifier: Apache-2.0
#include "workloads/reference/executor.h"

#include <algorithm>

#include "models/base/error.h"
#include "workloads/reference/layers.h"

namespace steppe::reference {
namespace {

/// For each element in card order, its index in the user's array.
std::vector<std::size_t> user_index(const net::Port& port) {
  std::size_t total = 1;
  for (const std::uint64_t extent : port.dims) total *= extent;
  std::vector<std::size_t> stride(port.dims.size(), 1);
  for (std::size_t axis = port.dims.size(); axis-- > 1;) {
    stride[axis - 1] = stride[axis] * port.dims[axis];
  }
  std::vector<std::size_t> index(total);
  for (std::size_t card = 0; card < total; ++card) {
    std::size_t rest = card;
    for (std::size_t axis = port.to_card.size(); axis-- > 0;) {
      const std::size_t user_axis = port.to_card[axis];
      index[card] += rest % port.dims[user_axis] * stride[user_axis];
      rest /= port.dims[user_axis];
    }
  }
  return index;
}

bool complete(const net::Conv& layer) {
  return layer.weights.has_data() && (layer.bias.has_data() || layer.bias_fp32.has_data()) &&
         layer.multiplier.has_data() && (layer.lut.size == 0 || layer.lut.has_data());
}
bool complete(const net::Map& layer) {
  return std::ranges::all_of(layer.operands, [](const net::Operand& operand) {
    return operand.tensor != net::no_tensor || operand.constant.has_data();
  });
}
bool complete(const net::Lut& layer) { return layer.table.has_data(); }
bool complete(const net::LayerNorm& layer) {
  return layer.gain.has_data() && layer.shift.has_data();
}
bool complete(const auto& /*layer without constants*/) { return true; }

}  // namespace

Executor::Executor(const net::Net& network) : network_(network), tensors_(network.tensors.size()) {
  for (const net::Layer& layer : network.layers) {
    if (!std::visit([](const auto& op) { return complete(op); }, layer.op)) {
      throw ModelError("layer '{}' lacks constants: the network holds shapes only", layer.name);
    }
  }
  for (std::size_t id = 0; id < tensors_.size(); ++id) {
    const net::Tensor& tensor = network.tensors[id];
    if (tensor.resident_in_dram) tensors_[id] = zeros(tensor);
  }
}

std::vector<Values> Executor::run_on_card(const std::vector<Values>& inputs) {
  STEPPE_CHECK(inputs.size() == network_.inputs.size(), "{} inputs", inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const net::Tensor& tensor = network_.tensor(network_.inputs[i].tensor);
    const Values& given = inputs[i];
    STEPPE_CHECK(
        given.int8.size() + given.real.size() + given.int32.size() == tensor.shape.elements(),
        "input {}", i);
    tensors_[network_.inputs[i].tensor] = given;
  }
  const State state{network_, tensors_};
  for (const net::Layer& layer : network_.layers) {
    std::visit([&](const auto& op) { execute(state, op); }, layer.op);
  }
  std::vector<Values> outputs;
  for (const net::Port& port : network_.outputs) outputs.push_back(tensors_[port.tensor]);
  return outputs;
}

std::vector<std::vector<float>> Executor::run(const std::vector<std::vector<float>>& inputs) {
  STEPPE_CHECK(inputs.size() == network_.inputs.size(), "{} inputs", inputs.size());
  const State state{network_, tensors_};
  std::vector<Values> card_inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const net::Port& port = network_.inputs[i];
    const std::vector<std::size_t> index = user_index(port);
    STEPPE_CHECK(inputs[i].size() == index.size(), "input '{}': {} elements, {} are right",
                 port.name, inputs[i].size(), index.size());
    Values& values = state.out(port.tensor);
    for (std::size_t card = 0; card < index.size(); ++card) {
      state.put(port.tensor, card, inputs[i][index[card]]);
    }
    card_inputs.push_back(values);
  }
  run_on_card(card_inputs);
  std::vector<std::vector<float>> outputs;
  for (const net::Port& port : network_.outputs) {
    const std::vector<std::size_t> index = user_index(port);
    std::vector<float> values(index.size());
    for (std::size_t card = 0; card < index.size(); ++card) {
      values[index[card]] = state.number(port.tensor, card);
    }
    outputs.push_back(std::move(values));
  }
  return outputs;
}

}  // namespace steppe::reference
