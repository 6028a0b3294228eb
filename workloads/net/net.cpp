// SPDX-License-Identifier: Apache-2.0
#include "workloads/net/net.h"

#include <algorithm>

namespace steppe::net {
namespace {

std::vector<TensorId> read_by(const Conv& op) { return {op.in, op.residual}; }
std::vector<TensorId> read_by(const MatMul& op) { return {op.a, op.b}; }
std::vector<TensorId> read_by(const Map& op) {
  std::vector<TensorId> result;
  for (const Operand& operand : op.operands) result.push_back(operand.tensor);
  return result;
}
std::vector<TensorId> read_by(const Permute& op) {
  std::vector<TensorId> result;
  for (const PermutePart& part : op.parts) result.push_back(part.in);
  return result;
}
template <typename Op>
std::vector<TensorId> read_by(const Op& op) {
  return {op.in};
}

template <typename Op>
TensorId written_by(const Op& op) {
  return op.out;
}
TensorId written_by(const CacheStore& op) { return op.cache; }

}  // namespace

std::string_view name_of(Type type) {
  constexpr std::array<std::string_view, 4> names{"int8", "fp32", "bf16", "int32"};
  return names.at(static_cast<std::size_t>(type));
}

std::vector<TensorId> inputs_of(const Layer& layer) {
  std::vector<TensorId> result;
  for (const TensorId id : std::visit([](const auto& op) { return read_by(op); }, layer.op)) {
    if (id != no_tensor && std::find(result.begin(), result.end(), id) == result.end()) {
      result.push_back(id);
    }
  }
  return result;
}

TensorId output_of(const Layer& layer) {
  return std::visit([](const auto& op) { return written_by(op); }, layer.op);
}

std::uint64_t dense_macs(const Net& net, const Layer& layer) {
  if (const auto* conv = std::get_if<Conv>(&layer.op)) {
    const std::uint64_t k = std::uint64_t{conv->kernel_h} * conv->kernel_w *
                            (net.tensor(conv->in).shape.c / conv->groups);
    return net.tensor(conv->out).shape.elements() * k;
  }
  if (const auto* product = std::get_if<MatMul>(&layer.op)) {
    return net.tensor(product->out).shape.elements() * net.tensor(product->a).shape.c;
  }
  return 0;
}

}  // namespace steppe::net
