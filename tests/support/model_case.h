// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "models/base/error.h"
#include "workloads/graph/import.h"
#include "workloads/graph/raw_model.h"

/// The public ONNX model tests: a folder with model.onnx and arrays in test_data_set_0.
namespace steppe::test {

struct ModelCase {
  graph::RawModel model;
  std::map<std::string, graph::Tensor> inputs;
  std::vector<graph::Tensor> outputs;
};

/// The tests store bf16 as the bits of uint16.
inline graph::Tensor as_type(const graph::Tensor& tensor, graph::DataType type) {
  if (type != graph::DataType::bf16 || tensor.type != graph::DataType::uint16) return tensor;
  std::vector<double> elements;
  elements.reserve(tensor.int64.size());
  for (const std::int64_t bits : tensor.int64) {
    elements.push_back(double{std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U)});
  }
  return graph::make_tensor(type, tensor.shape, elements);
}

/// KIND_0.pb, KIND_1.pb and so on.
inline std::vector<graph::Tensor> read_arrays(const std::filesystem::path& folder,
                                              const std::string& kind) {
  std::vector<graph::Tensor> result;
  for (int i = 0; std::filesystem::exists(folder / fmt::format("{}_{}.pb", kind, i)); ++i) {
    result.push_back(graph::read_tensor(folder / fmt::format("{}_{}.pb", kind, i)));
  }
  return result;
}

/// Throws ModelError for a model or an array that cannot be read.
inline ModelCase read_case(const std::filesystem::path& test) {
  ModelCase c;
  c.model = graph::read_onnx(test / "model.onnx", false);
  const std::vector<graph::Tensor> inputs = read_arrays(test / "test_data_set_0", "input");
  if (inputs.size() > c.model.inputs.size()) throw ModelError("an input is an initialiser as well");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    c.inputs[c.model.inputs[i].name] = as_type(inputs[i], c.model.inputs[i].type);
  }
  c.outputs = read_arrays(test / "test_data_set_0", "output");
  return c;
}

/// Inputs that are constants of the imported model: none, lists of integers (a shape, axes), all.
enum class Fixing : std::uint8_t { none, integers, all };
inline bool is_fixed(const graph::Tensor& tensor, Fixing fixing) {
  const bool list = !graph::is_real(tensor.type) && tensor.shape.size() < 2;
  return fixing == Fixing::all || (fixing == Fixing::integers && list);
}

}  // namespace steppe::test
