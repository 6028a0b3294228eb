// SPDX-License-Identifier: Apache-2.0
#include "workloads/reference/executor.h"

#include <numeric>

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
  return layer.weights.has_data() && layer.bias.has_data() && layer.multiplier.has_data() &&
         (layer.lut.size == 0 || layer.lut.has_data());
}
bool complete(const net::Eltwise& layer) {
  return layer.b != net::no_tensor || layer.b_constant.has_data();
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
    if (tensor.resident_in_dram) tensors_[id].assign(tensor.shape.elements(), 0);
  }
}

std::vector<std::vector<std::int8_t>> Executor::run_int8(
    const std::vector<std::vector<std::int8_t>>& inputs) {
  STEPPE_CHECK(inputs.size() == network_.inputs.size(), "{} inputs", inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const net::TensorId id = network_.inputs[i].tensor;
    STEPPE_CHECK(inputs[i].size() == network_.tensor(id).shape.elements(), "input {}", i);
    tensors_[id] = inputs[i];
  }
  const State state{network_, tensors_};
  for (const net::Layer& layer : network_.layers) {
    std::visit([&](const auto& op) { execute(state, op); }, layer.op);
  }
  std::vector<std::vector<std::int8_t>> outputs;
  for (const net::Port& port : network_.outputs) outputs.push_back(tensors_[port.tensor]);
  return outputs;
}

std::vector<std::vector<float>> Executor::run(const std::vector<std::vector<float>>& inputs) {
  STEPPE_CHECK(inputs.size() == network_.inputs.size(), "{} inputs", inputs.size());
  std::vector<std::vector<std::int8_t>> card_inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const net::Port& port = network_.inputs[i];
    const net::Quant& quant = network_.tensor(port.tensor).quant;
    const float inverse = 1.0F / quant.scale;
    const std::vector<std::size_t> index = user_index(port);
    STEPPE_CHECK(inputs[i].size() == index.size(), "input '{}': {} elements, {} are right",
                 port.name, inputs[i].size(), index.size());
    std::vector<std::int8_t> values;
    values.reserve(index.size());
    for (const std::size_t from : index) {
      values.push_back(store(inputs[i][from] * inverse, quant.zero));
    }
    card_inputs.push_back(std::move(values));
  }
  const auto card_outputs = run_int8(card_inputs);
  std::vector<std::vector<float>> outputs;
  for (std::size_t i = 0; i < card_outputs.size(); ++i) {
    const net::Port& port = network_.outputs[i];
    const net::Quant& quant = network_.tensor(port.tensor).quant;
    const std::vector<std::size_t> index = user_index(port);
    std::vector<float> values(index.size());
    for (std::size_t card = 0; card < index.size(); ++card) {
      values[index[card]] = static_cast<float>(card_outputs[i][card] - quant.zero) * quant.scale;
    }
    outputs.push_back(std::move(values));
  }
  return outputs;
}

const std::vector<std::int8_t>& Executor::tensor(net::TensorId id) const { return tensors_.at(id); }

}  // namespace steppe::reference
